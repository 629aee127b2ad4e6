"""Trajectories and sweeps as files, trajectories as tables.

A file is a NumPy archive with a JSON text in which each array is replaced by
its shape. Arrays from the same place in the text, such as the states of all
runs of a sweep, are concatenated. A file contains numbers and names, no code.
"""
from __future__ import annotations

import json
import math
import os
import shutil
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import numpy as np

from .names import label

__all__ = ['save_trajectory', 'load_trajectory', 'save_sweep', 'load_sweep',
           'table_of']

FORMAT = 'sympy_constrained {} 2'
SHAPE = '__shape__'
ARRAYS = ('t', 'x', 'rates', 'residuals', 'multipliers', 'constraint_forces',
          'rank', 'condition')
OPTIONAL = ('energy', 'work', 'power', 'energy_rate')
PARTS = 'F_x', 'F_y', 'F_z', 'M_x', 'M_y', 'M_z'
NAMES = ('states', 'speeds', 'multiplier_names', 'residual_names')


# -- trajectories -----------------------------------------------------------

def by_name(pairs):
    """A dictionary; names that occur again get an underscore each time."""
    named = {}
    for name, value in pairs:
        while name in named:
            name += '_'
        named[name] = value
    return named


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
    columns += [(f'{part} {name}', values)
                for name, array in trajectory.reactions.items()
                for part, values in zip(PARTS, array.T)]
    columns += [(name, getattr(trajectory, name)) for name in OPTIONAL
                if getattr(trajectory, name) is not None]
    return by_name(columns)


def save_trajectory(trajectory, path):
    """Write the file that ``path`` names by its ending."""
    path = as_path(path)
    if path.suffix == '.npz':
        write_archive(path, 'trajectory', tree_of(trajectory))
    elif path.suffix == '.csv':
        written(path, lambda file: write_csv(trajectory, file))
    else:
        raise ValueError(
            f"`path` is {str(path)!r}; its ending says what to write: .npz "
            "for everything, .csv for a table.")


def load_trajectory(path, make):
    """The trajectory that ``make`` builds from the fields in a file."""
    return read_archive(
        path, 'trajectory', lambda tree: checked(make(tree)),
        "Files of `Trajectory.save` with the ending .npz can be loaded; a "
        ".csv file is a table for other programs.")


def tree_of(trajectory):
    """The fields of a trajectory, with names instead of SymPy objects."""
    tree = {**vars(trajectory),
            **{name: list(map(label, getattr(trajectory, name)))
               for name in NAMES},
            'constants': by_name((label(x), value) for x, value in
                                 trajectory.constants.items()),
            'reason': trajectory.reason.name,
            'events': list(map(vars, trajectory.events)),
            'rank_changes': list(map(vars, trajectory.rank_changes))}
    return {name: value for name, value in tree.items()
            if name != 'dense' and not name.startswith('_')}


def write_csv(trajectory, file):
    """A header and one row for each output time, all digits."""
    columns = table_of(trajectory)
    quoted = ['"{}"'.format(name.replace('"', '""')) if any(
        sign in name for sign in ',"\n\r') else name for name in columns]
    np.savetxt(file, np.array(list(columns.values())).T, fmt='%.17g',
               delimiter=',', header=','.join(quoted), comments='',
               encoding='utf-8')


# -- sweeps -----------------------------------------------------------------

def save_sweep(result, path):
    path = as_path(path)
    if path.suffix != '.npz':
        raise ValueError(
            f"`path` is {str(path)!r}; a sweep is saved in a file with the "
            "ending .npz.")
    write_archive(path, 'sweep', {
        'states': result.states, 'runs': [{
            **vars(run),
            'value': None if run.value is None else np.asarray(run.value),
            'trajectory': None if run.trajectory is None else tree_of(
                run.trajectory)} for run in result.runs]})


def load_sweep(path, make, make_trajectory):
    """The states and runs in a file, built from their fields."""
    def unpacked(tree):
        states = texts('states', tree['states'])
        for index, run in enumerate(tree['runs']):
            expect(run['index'] == index, 'the runs are not in order')
            if run['value'] is not None:
                run['value'] = run['value'][()]
            if run['trajectory'] is not None:
                run['trajectory'] = checked(make_trajectory(run['trajectory']))
        return states, tuple(checked_run(make(**run), len(states))
                             for run in tree['runs'])

    return read_archive(path, 'sweep', unpacked,
                        "Files of `SweepResult.save` can be loaded.")


# -- checks of what was read ------------------------------------------------

def expect(holds, text):
    if not holds:
        raise ValueError(text)


def texts(what, values):
    expect(all(isinstance(value, str) for value in values),
           f'{what} are not names')
    return tuple(values)


def numbers(what, values):
    expect(all(isinstance(value, (int, float)) and math.isfinite(value)
               for value in values), f'{what} are not finite numbers')


def check_array(name, array, shape, kinds='f'):
    expect(array.shape == shape and array.dtype.kind in kinds,
           f'{name} has the shape {array.shape} and the type {array.dtype}, '
           f'where {shape} and numbers are needed')
    expect(not np.isnan(array).any(), f'{name} contains nan')


def checked(trajectory):
    """A trajectory whose fields have consistent types and shapes."""
    count, size = trajectory.x.shape
    widths = {'x': size, 'rates': size,
              'residuals': len(trajectory.residual_names),
              'multipliers': len(trajectory.multiplier_names),
              'constraint_forces': len(trajectory.speeds)}
    for name in (*ARRAYS, *OPTIONAL):
        array = getattr(trajectory, name)
        if name in ARRAYS or array is not None:
            shape = (count, widths[name]) if name in widths else (count,)
            check_array(name, array, shape, 'iu' if name == 'rank' else 'f')
    for name, array in trajectory.reactions.items():
        check_array(name, array, (count, 6))
    expect(len(trajectory.states) == size, 'states and their values differ')
    for name in ('t', 'x'):
        expect(np.isfinite(getattr(trajectory, name)).all(),
               f'{name} is not finite')
    steps = np.diff(trajectory.t)
    expect((steps > 0).all() or (steps < 0).all(),
           't neither increases nor decreases')
    for event in trajectory.events:
        numbers('events', (event.index, event.t))
        check_array('the state of an event', event.x, (size,))
    for change in trajectory.rank_changes:
        numbers('changes of the rank', vars(change).values())
    numbers('passages', trajectory.passages)
    numbers('constants', trajectory.constants.values())
    for name in NAMES:
        texts(name, getattr(trajectory, name))
    texts('message', [trajectory.message])
    for name in ('statistics', 'units'):
        expect(isinstance(getattr(trajectory, name), dict),
               f'{name} are no dictionary')
    return trajectory


def checked_run(run, size):
    """A run of a sweep whose fields have consistent types and shapes."""
    numbers('parameters', run.parameters.values())
    numbers('seconds', [run.seconds])
    texts('reason and error', [run.reason, run.error or ''])
    if run.start is not None:
        check_array('start', run.start, (size,))
    return run


# -- archives ---------------------------------------------------------------

def write_archive(path, kind, tree):
    """Write nested dictionaries and lists that contain arrays."""
    parts = defaultdict(list)
    text = json.dumps({'format': FORMAT.format(kind),
                       'content': packed(tree, '', parts)}, default=float)
    arrays = {place: found[0] if len(found) == 1 else np.concatenate(
        [array.ravel() for array in found]) for place, found in parts.items()}
    written(path, lambda file: np.savez_compressed(
        file, about=np.array(text), **arrays))


def packed(value, place, parts):
    """The value with shapes instead of arrays, which go to ``parts``."""
    if isinstance(value, dict):
        return {key: packed(entry, f'{place}.{key}'.lstrip('.'), parts)
                for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [packed(entry, place, parts) for entry in value]
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind not in 'biuf':
        raise ValueError(
            f"A {place} is of type {value.dtype}; only numbers and arrays of "
            "numbers can be saved. Return these from `quantity`.")
    parts[place].append(value)
    return {SHAPE: value.shape}


def unpacked(value, place, arrays, used):
    """The inverse of :func:`packed`; ``used`` counts entries of arrays."""
    if isinstance(value, list):
        return [unpacked(entry, place, arrays, used) for entry in value]
    if not isinstance(value, dict):
        return value
    if list(value) != [SHAPE]:
        return {key: unpacked(entry, f'{place}.{key}'.lstrip('.'), arrays,
                              used) for key, entry in value.items()}
    begin, shape = used[place], tuple(value[SHAPE])
    used[place] += math.prod(shape)
    expect(arrays[place].size >= used[place], f'{place} is too short')
    return arrays[place].ravel()[begin:used[place]].reshape(shape).copy()


def read_archive(path, kind, make, remedy):
    """What ``make`` builds from an archive; ValueError if it is damaged, with
    whatever exception, OSError if it cannot be opened.
    """
    with open(as_path(path), 'rb') as stream:
        try:
            expect(stream.read(2) == b'PK', 'it is no archive of NumPy')
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about = json.loads(arrays.pop('about').item())
            expect(about['format'] == FORMAT.format(kind), 'another format')
            used = defaultdict(int)
            tree = unpacked(about['content'], '', arrays, used)
            expect(used == {name: array.size for name, array in
                            arrays.items()}, 'arrays are left over')
            return make(tree)
        except Exception as error:
            raise ValueError(
                f"{str(path)!r} is no {kind}, or it is damaged ({error}). "
                f"{remedy}") from error


def as_path(path):
    """A ``Path``; a number would be the descriptor of an open file."""
    try:
        return Path(os.fsdecode(path))
    except TypeError:
        raise TypeError(
            f"`path` is {path!r}, which is no path. Give the name of a file "
            "as text or as a `pathlib.Path`.") from None


def written(path, write):
    """Let ``write`` write a file that appears when it is complete.

    A file that is replaced keeps its permissions, a link stays a link.
    """
    if os.path.islink(path):
        path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{str(path)!r} cannot be written: the folder "
            f"{str(path.parent)!r} does not exist. Make it, or choose another "
            "`path`.")
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
        with suppress(OSError):         # it is gone if all went well
            os.unlink(temporary)
