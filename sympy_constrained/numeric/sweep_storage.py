"""Sweeps as files.

Arrays of all runs lie behind each other in one array for each kind; the rest
is one text. Nothing in a file is code.
"""
from __future__ import annotations

import json
from collections import defaultdict
from math import prod
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from .storage import about_of, archive, arrays_of, fields_of, written
from .trajectory import Trajectory

__all__ = ['save_sweep', 'load_sweep']

FORMAT = 'sympy_constrained sweep 1'


class Writer:
    """Collects arrays by name."""

    def __init__(self):
        self._parts = defaultdict(list)

    def put(self, name, array):
        """Keep an array; its shape."""
        array = np.asarray(array)
        if array.dtype.kind not in 'biuf':
            raise ValueError(
                f"A {name} is of type {array.dtype}, and only numbers and "
                "arrays of numbers can be saved. Let `quantity` return such.")
        self._parts[name].append(array.ravel())
        return list(array.shape)

    def arrays(self):
        return {name: np.concatenate(parts)
                for name, parts in self._parts.items()}


class Reader:
    """Gives them back in the same order."""

    def __init__(self, arrays):
        self._arrays, self._at = arrays, defaultdict(int)

    def take(self, name, shape):
        start = self._at[name]
        self._at[name] = end = start + prod(shape)
        if end > len(self._arrays[name]):
            raise ValueError(f'{name} is too short')
        return self._arrays[name][start:end].reshape(shape)


# -- writing -----------------------------------------------------------------

def save_sweep(result, path):
    path = Path(path)
    if path.suffix != '.npz':
        raise ValueError(
            f"`path` is {str(path)!r}; a sweep is saved in a file with the "
            "ending .npz.")
    writer = Writer()
    runs = [packed_run(run, writer) for run in result.runs]
    about = json.dumps({'format': FORMAT, 'states': result.states,
                        'runs': runs}, default=float)
    written(path, lambda file: np.savez_compressed(
        file, about=np.array(about), **writer.arrays()))


def packed_run(run, writer):
    return {
        'parameters': run.parameters, 'error': run.error,
        'reason': run.reason, 'seconds': run.seconds,
        'start': None if run.start is None else writer.put(
            'start', run.start),
        'value': None if run.value is None else writer.put(
            'value', run.value),
        'trajectory': None if run.trajectory is None else packed_trajectory(
            run.trajectory, writer)}


def packed_trajectory(trajectory, writer):
    """What is no array, and the shapes of what is."""
    return {**about_of(trajectory), 'shapes': {
        name: writer.put(f'trajectory_{name}', array)
        for name, array in arrays_of(trajectory).items()}}


# -- reading -----------------------------------------------------------------

def load_sweep(path):
    """The states, and the fields of each run."""
    try:
        with open(path, 'rb') as stream, np.load(
                archive(stream), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(arrays.pop('about').item())
        if about['format'] != FORMAT:
            raise ValueError('another format')
        reader = Reader(arrays)
        return tuple(about['states']), [
            unpacked_run(run, reader) for run in about['runs']]
    except (KeyError, ValueError, TypeError, AttributeError, EOFError,
            BadZipFile) as error:
        raise ValueError(
            f"{str(path)!r} is no sweep, or it is damaged ({error}). Files "
            "of `SweepResult.save` can be loaded.") from error


def unpacked_run(run, reader):
    for name in ('start', 'value'):
        if run[name] is not None:
            run[name] = reader.take(name, run[name])[()]
    if run['trajectory'] is not None:
        run['trajectory'] = unpacked_trajectory(run['trajectory'], reader)
    return run


def unpacked_trajectory(packed, reader):
    """A trajectory whose symbols are names."""
    shapes = packed.pop('shapes')
    return Trajectory.restored(fields_of(packed, {
        name: reader.take(f'trajectory_{name}', shape).copy()
        for name, shape in shapes.items()}))
