"""Sweeps as files.

Arrays of all runs lie behind each other in one array for each kind; the rest
is one text. Nothing in a file is code.
"""
from __future__ import annotations

import json
from collections import defaultdict
from math import prod

import numpy as np

from ..storage import (
    about_of, arrays_of, as_path, check_array, checked, expect, fields_of,
    from_file, is_number, written)
from ..trajectory import Trajectory

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
    path = as_path(path)
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

def load_sweep(path, made):
    """The states, and each run, made of its place and its fields."""
    def unpacked(about, arrays):
        reader, states = Reader(arrays), tuple(about['states'])
        expect(all(isinstance(name, str) for name in states),
               'states are not names')
        return states, tuple(
            checked_run(made(i, **unpacked_run(run, reader)), states)
            for i, run in enumerate(about['runs']))

    return from_file(path, FORMAT, unpacked, 'sweep',
                     "Files of `SweepResult.save` can be loaded.")


def checked_run(run, states):
    """A run whose fields fit together."""
    expect(isinstance(run.parameters, dict) and all(
        map(is_number, run.parameters.values())),
        'parameters are no numbers')
    expect(isinstance(run.reason, str) and isinstance(
        run.error, (str, type(None))) and is_number(run.seconds),
        'it is not said how a run ended')
    if run.start is not None:
        check_array('start', run.start, (len(states),), 'f')
    return run


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
    return checked(Trajectory.restored(fields_of(packed, {
        name: reader.take(f'trajectory_{name}', shape).copy()
        for name, shape in shapes.items()})))
