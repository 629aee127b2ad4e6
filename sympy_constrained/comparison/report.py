"""A comparison as text that fits a terminal, or as Markdown."""
from __future__ import annotations

import textwrap

from .result import Verdict

__all__ = ['as_table', 'brief', 'notes_of', 'wrapped']

WIDTH = 99
HEAD = ('formulation', 'CPU s', 'ops', 'size', 'call us', 'accel.',
        'forces', 'verdict')
LEGEND = (
    'CPU s: derivation. ops: operations in the equations. size: states, '
    'accelerations + multipliers solved for. call us: one evaluation of the '
    'rates. accel., forces: largest relative difference from the reference.')
SHORT = {Verdict.MUST_DIFFER: 'must differ', Verdict.NO_VALUE: 'no value'}


def as_table(formulations, format='text'):
    """The formulations as a table with notes below.

    Parameters
    ==========

    formulations : iterable of Formulation
    format : 'text' or 'markdown'

    """
    if format not in ('text', 'markdown'):
        raise ValueError(
            f"`format` is {format!r}. Choose 'text' or 'markdown'.")
    reasons = notes_of(formulations)
    rows = [cells(f, reasons) for f in formulations]
    notes = [LEGEND, *(f'[{k}] {x}' for k, x in enumerate(reasons, 1))]
    return markdown(rows, notes) if format == 'markdown' else text(rows, notes)


def notes_of(formulations):
    """The different reasons, in order."""
    return list(dict.fromkeys(f.reason for f in formulations if f.reason))


def brief(formulation, notes):
    """The verdict in one or two words, with the number of its note."""
    number = (f' [{notes.index(formulation.reason) + 1}]'
              if formulation.reason else '')
    return SHORT.get(formulation.verdict, formulation.verdict.value) + number


def cells(f, notes):
    """The cells of one row."""
    def shown(value, form):
        return '' if value is None else format(value, form)

    size = '' if f.states is None else (
        f'{f.states}, {f.accelerations_count}+{f.multipliers}')
    return [f.name, shown(f.seconds, '.3f'), shown(f.operations, 'd'), size,
            shown(f.microseconds, '.1f'), shown(f.error, '.0e'),
            shown(f.force_error, '.0e'), brief(f, notes)]


def text(rows, notes):
    """Columns of the width that they need."""
    widths = [max(map(len, column)) for column in zip(HEAD, *rows)]
    last = len(HEAD) - 1

    def line(row):
        return '  '.join(
            cell.ljust(width) if i in (0, last) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))).rstrip()

    rule = '-'*min(sum(widths) + 2*last, WIDTH)
    lines = [line(HEAD), rule, *map(line, rows), rule]
    for note in notes:
        indent = ' '*(note.index(']') + 2) if note.startswith('[') else ''
        lines += textwrap.wrap(note, WIDTH, subsequent_indent=indent)
    return '\n'.join(lines)


def markdown(rows, notes):
    """A table of Markdown, numbers to the right."""
    def line(row):
        return '| ' + ' | '.join(
            cell.strip().replace('|', r'\|') for cell in row) + ' |'

    rules = ['---' if i in (0, len(HEAD) - 1) else '---:'
             for i in range(len(HEAD))]
    return '\n'.join([line(HEAD), line(rules), *map(line, rows), '',
                      *(f'{note}  ' for note in notes)])


def wrapped(lines):
    """Lines that fit, what is carried over indented."""
    return [part for line in lines
            for part in textwrap.wrap(line, WIDTH, subsequent_indent='    ')]
