"""Sweeps as files.

Arrays of all runs lie behind each other in one array for each kind; the rest
is one text. Nothing in a file is code.
"""
from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import MISSING, fields
from math import prod
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from .names import label
from .trajectory import Event, RankChange, Reason, Trajectory

__all__ = ['save_sweep', 'load_sweep']

FORMAT = 'sympy_constrained sweep 1'
NAMES = ('states', 'speeds', 'multiplier_names', 'residual_names')


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
    np.savez_compressed(path, about=np.array(about), **writer.arrays())


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
    shapes, rest = {}, {}
    for field in fields(Trajectory):
        name, value = field.name, getattr(trajectory, field.name)
        if isinstance(value, np.ndarray):
            shapes[name] = writer.put(f'trajectory_{name}', value)
        elif name in NAMES:
            rest[name] = [label(item) for item in value]
        elif name == 'constants':
            rest[name] = [[label(key), x] for key, x in value.items()]
        elif name == 'reason':
            rest[name] = value.name
        elif name == 'events':
            rest[name] = [[event.index, event.t, event.x.tolist()]
                          for event in value]
        elif name == 'rank_changes':
            rest[name] = [[change.t, change.before, change.after]
                          for change in value]
        elif value is None or isinstance(value, (str, dict)):
            rest[name] = value
        elif field.default is MISSING and field.default_factory is MISSING:
            raise TypeError(f"`{name}` of a trajectory cannot be saved.")
    return {'shapes': shapes, **rest}


# -- reading -----------------------------------------------------------------

def load_sweep(path):
    """The states, and the fields of each run."""
    try:
        with np.load(path, allow_pickle=False) as file:
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
    for name, shape in packed.pop('shapes').items():
        packed[name] = reader.take(f'trajectory_{name}', shape).copy()
    for name in NAMES:
        packed[name] = tuple(packed[name])
    return Trajectory(**{
        **packed, 'constants': dict(packed['constants']),
        'reason': Reason[packed['reason']],
        'events': tuple(Event(i, t, np.array(x))
                        for i, t, x in packed['events']),
        'rank_changes': tuple(RankChange(*change)
                              for change in packed['rank_changes'])})
