"""Trajectories as files and tables."""
from __future__ import annotations

import json
import math
import os
import shutil
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import numpy as np

from .names import label

__all__ = ['save_trajectory', 'load_trajectory', 'table_of', 'written',
           'about_of', 'arrays_of', 'fields_of', 'from_file', 'as_path',
           'checked', 'check_array', 'expect', 'is_number']

FORMAT = 'sympy_constrained trajectory 1'
ARRAYS = ('t', 'x', 'rates', 'residuals', 'multipliers', 'constraint_forces',
          'rank', 'condition')
OPTIONAL = ('energy', 'work', 'power', 'energy_rate')
NAMES = ('states', 'speeds', 'multiplier_names', 'residual_names')


def by_name(pairs):
    """A dictionary; of objects of the same name one gets another."""
    found = {}
    for name, value in pairs:
        while name in found:
            name += '_'
        found[name] = value
    return found


def table_of(trajectory):
    """Name of a column -> array."""
    columns = [('t', trajectory.t)]
    for names, array, prefix in (
            (trajectory.states, trajectory.x, ''),
            (trajectory.multiplier_names, trajectory.multipliers, ''),
            (trajectory.speeds, trajectory.constraint_forces, 'Q_c '),
            (trajectory.residual_names, trajectory.residuals, 'residual of ')):
        columns += [(prefix + label(name), values)
                    for name, values in zip(names, array.T)]
    columns += [(name, getattr(trajectory, name)) for name in OPTIONAL
                if getattr(trajectory, name) is not None]
    return by_name(columns)


def save_trajectory(trajectory, path):
    """Write the file that ``path`` names by its ending."""
    path = as_path(path)
    writers = {'.npz': write_npz, '.csv': write_csv}
    if path.suffix not in writers:
        raise ValueError(
            f"`path` is {str(path)!r}; its ending says what to write: .npz "
            "for everything, .csv for a table.")
    written(path, lambda file: writers[path.suffix](trajectory, file))


def as_path(path):
    """A ``Path``; a number would be the descriptor of an open file."""
    try:
        return Path(os.fsdecode(path))
    except TypeError:
        raise TypeError(
            f"`path` is {path!r}, which is no path. Give the name of a file "
            "as text or as a `pathlib.Path`.") from None


def written(path, write):
    """Write a file that appears when it is complete.

    A file that is replaced keeps its permissions.

    Parameters
    ==========

    path : Path
    write : callable
        Called with the open file.

    """
    if os.path.islink(path):            # it stays one
        path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{str(path)!r} cannot be written, because there is no folder "
            f"{str(path.parent)!r}. Make it, or choose another `path`.")
    temporary = path.with_name(f'.{uuid4().hex}')
    try:
        with open(temporary, 'xb') as file:
            if path.is_file():
                shutil.copymode(path, temporary)
            write(file)
        os.replace(temporary, path)
    except OSError as error:
        raise type(error)(
            f"{str(path)!r} cannot be written: {error.strerror or error}. "
            "Choose another `path`.") from error
    finally:
        with suppress(OSError):         # gone if all went well
            os.unlink(temporary)


def arrays_of(trajectory):
    """Name -> array, of all that are known."""
    arrays = {name: getattr(trajectory, name) for name in (*ARRAYS, *OPTIONAL)
              if getattr(trajectory, name) is not None}
    if trajectory.events:
        arrays['event_states'] = np.array([
            event.x for event in trajectory.events])
    return arrays


def about_of(trajectory):
    """All that is no array, as numbers, texts, lists and dictionaries."""
    return {
        **{name: [label(x) for x in getattr(trajectory, name)]
           for name in NAMES},
        'constants': by_name((label(x), value) for x, value in
                             trajectory.constants.items()),
        'reason': trajectory.reason.name, 'message': trajectory.message,
        'events': [[event.index, event.t] for event in trajectory.events],
        'rank_changes': [[change.t, change.before, change.after]
                         for change in trajectory.rank_changes],
        'passages': list(trajectory.passages),
        'statistics': trajectory.statistics, 'units': trajectory.units}


def fields_of(about, arrays):
    """The fields of a trajectory, from :func:`about_of` and the arrays."""
    arrays = dict(arrays)
    states = arrays.pop('event_states', ())
    return {**dict.fromkeys(OPTIONAL), **arrays, **about,
            **{name: tuple(about[name]) for name in NAMES},
            'events': [(*event, x) for event, x in zip(
                about['events'], states, strict=True)]}


def write_npz(trajectory, file):
    """All arrays, and the rest as one text."""
    text = json.dumps({'format': FORMAT, **about_of(trajectory)},
                      default=float)
    np.savez(file, about=np.array(text), **arrays_of(trajectory))


def write_csv(trajectory, file):
    """A header and one row for each output time, all digits."""
    columns = table_of(trajectory)
    quoted = ['"{}"'.format(name.replace('"', '""')) if any(
        sign in name for sign in ',"\n\r') else name for name in columns]
    np.savetxt(file, np.array(list(columns.values())).T, fmt='%.17g',
               delimiter=',', header=','.join(quoted), comments='',
               encoding='utf-8')


# -- reading -----------------------------------------------------------------

def archive(stream):
    """The stream, if it is one of a zip file; NumPy asks for pickles else."""
    if stream.read(2) != b'PK':
        raise ValueError('it is no archive of NumPy')
    stream.seek(0)
    return stream


def from_file(path, expected, made, name, remedy):
    """What ``made`` makes of the texts and the arrays of a file.

    A file that cannot be opened raises OSError. Every failure after that is
    due to the content and raises ValueError; damage of an archive can raise
    any exception, also OSError.
    """
    with open(as_path(path), 'rb') as stream:
        try:
            with np.load(archive(stream), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about = json.loads(arrays.pop('about').item())
            expect(about.pop('format') == expected, 'another format')
            return made(about, arrays)
        except Exception as error:
            raise ValueError(
                f"{str(path)!r} is no {name}, or it is damaged ({error}). "
                f"{remedy}") from error


def expect(holds, text):
    if not holds:
        raise ValueError(text)


def load_trajectory(path, made):
    """A trajectory from a file, made of its fields; names are texts."""
    return from_file(
        path, FORMAT, lambda about, arrays: checked(
            made(fields_of(about, arrays))), 'trajectory',
        "Files of `Trajectory.save` with the ending .npz can be loaded; a "
        ".csv file is a table for other programs.")


def checked(trajectory):
    """A trajectory whose fields fit together."""
    count = len(trajectory.t)
    columns = {'x': trajectory.states, 'rates': trajectory.states,
               'residuals': trajectory.residual_names,
               'multipliers': trajectory.multiplier_names,
               'constraint_forces': trajectory.speeds}
    for name in (*ARRAYS, *OPTIONAL):
        array = getattr(trajectory, name)
        if array is None and name in OPTIONAL:
            continue
        shape = (count, len(columns[name])) if name in columns else (count,)
        check_array(name, array, shape, 'iu' if name == 'rank' else 'f')
    for name in ('t', 'x'):
        expect(np.isfinite(getattr(trajectory, name)).all(),
               f'{name} is not finite')
    steps = np.diff(trajectory.t)
    expect((steps > 0).all() or (steps < 0).all(),
           't neither increases nor decreases')
    for event in trajectory.events:
        expect(is_number(event.index) and is_number(event.t),
               'an event is not at a time')
        check_array('the state of an event', event.x,
                    (len(trajectory.states),), 'f')
    for change in trajectory.rank_changes:
        expect(all(map(is_number, vars(change).values())),
               'a change of rank is no number')
    expect(all(map(is_number, trajectory.passages)),
           'a passage is no time')
    for name in NAMES:
        expect(all(isinstance(item, str) for item in getattr(
            trajectory, name)), f'{name} are not names')
    for name, kind in (('message', str), ('constants', dict),
                       ('statistics', dict), ('units', dict)):
        expect(isinstance(getattr(trajectory, name), kind),
               f'{name} is no {kind.__name__}')
    expect(all(map(is_number, trajectory.constants.values())),
           'constants are no numbers')
    return trajectory


def check_array(name, array, shape, kinds):
    expect(array.shape == shape and array.dtype.kind in kinds,
           f'{name} has the shape {array.shape} and the type {array.dtype}, '
           f'where {shape} and numbers are needed')
    expect(not np.isnan(array).any(), f'{name} contains nan')


def is_number(value):
    return isinstance(value, (int, float)) and math.isfinite(value)
