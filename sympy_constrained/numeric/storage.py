"""Trajectories as files.

An archive of NumPy contains a JSON text, in which types and shapes represent
arrays, and the entries of all arrays: numbers and names, no code.
"""
from __future__ import annotations

import csv
import json
import math
import os
import shutil
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from uuid import uuid4

import numpy as np


FORMAT = 'sympy_constrained trajectory 3'
ARRAY = '__array__'


def write_csv(path, columns):
    """A header and one row for each entry of the columns, all digits."""
    def write(file):
        with TextIOWrapper(file, encoding='utf-8', newline='') as text:
            rows = csv.writer(text, lineterminator='\n')
            rows.writerow(columns)
            rows.writerows(np.transpose(list(columns.values())).tolist())

    written(path, write)


def write_archive(path, content):
    """Write nested dictionaries and lists that contain arrays."""
    entries = []

    def represented(value):
        if not isinstance(value, np.ndarray):
            return float(value)         # a number of NumPy
        entries.append(value.tobytes())
        return {ARRAY: [value.dtype.str, value.shape]}

    about = json.dumps({'format': FORMAT, 'content': content},
                       default=represented)
    written(path, lambda file: np.savez_compressed(
        file, about=np.array(about),
        entries=np.frombuffer(b''.join(entries), np.uint8)))


def frame(columns, instead):
    """A table of pandas, or an error with what to use ``instead``."""
    try:
        from pandas import DataFrame
    except ImportError as error:
        raise ImportError(
            "`to_frame` needs pandas, which is not installed. Install it, or "
            f"use {instead}.") from error
    return DataFrame(columns)


def read_archive(path, make):
    """What ``make`` builds from the content of an archive.

    ValueError if it is damaged, with whatever exception, OSError if it cannot
    be opened.
    """
    used = 0

    def restored(value):
        nonlocal used
        if ARRAY not in value:
            return value
        dtype, shape = value[ARRAY]
        array = np.frombuffer(
            entries, dtype, math.prod(shape), used).reshape(shape)
        used += array.nbytes
        return array.copy()

    with open(as_path(path), 'rb') as stream:
        try:
            with np.load(stream, allow_pickle=False) as file:
                about, entries = file['about'].item(), file['entries']
            tree = json.loads(about, object_hook=restored)
            if tree['format'] != FORMAT:
                raise ValueError('another format')
            return make(tree['content'])
        except Exception as error:
            raise ValueError(
                f"{str(path)!r} is no trajectory, or it is damaged ({error}). "
                "Files of `save` with the ending .npz can be loaded."
            ) from error


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
