"""Trajectories as files.

An archive of NumPy contains all arrays, and a JSON text that names them:
numbers and names, no code.
"""
import csv
import json
import os
import shutil
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from uuid import uuid4

import numpy as np


FORMAT = 'sympy_constrained trajectory 4'
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
    arrays = {}

    def represented(value):
        if not isinstance(value, np.ndarray):
            return float(value)         # a number of NumPy
        name = f'array {len(arrays)}'
        arrays[name] = value
        return {ARRAY: name}

    about = json.dumps({'format': FORMAT, 'content': content},
                       default=represented)
    written(path, lambda file: np.savez_compressed(
        file, about=np.array(about), **arrays))


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
    with open(path, 'rb') as stream:
        try:
            with np.load(stream, allow_pickle=False) as file:
                tree = json.loads(
                    file['about'].item(), object_hook=lambda value: (
                        file[value[ARRAY]] if ARRAY in value else value))
            if tree['format'] != FORMAT:
                raise ValueError('another format')
            return make(tree['content'])
        except Exception as error:
            raise ValueError(
                f"{str(path)!r} is no trajectory, or it is damaged ({error}). "
                "Files of `save` with the ending .npz can be loaded."
            ) from error


def written(path, write):
    """Let ``write`` write a file that appears when it is complete.

    A file that is replaced keeps its permissions, a link stays a link.
    """
    if os.path.islink(path):
        path = Path(os.path.realpath(path))
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
