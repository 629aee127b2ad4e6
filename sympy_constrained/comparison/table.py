"""Formulations as a table that fits a terminal."""
import textwrap


WIDTH = 99
HEAD = ('formulation', 'CPU s', 'ops', 'size', 'call us', 'accel.',
        'forces', 'verdict')
LEGEND = (
    'CPU s: derivation. ops: operations in the equations. size: states, '
    'accelerations + multipliers solved for. call us: one evaluation of the '
    'rates. accel., forces: largest relative difference from the reference.')
SHORT = {'differs as it must': 'must differ', 'has no value': 'no value'}


def as_text(formulations):
    """Columns of the width that they need, with notes below."""
    reasons = notes_of(formulations)
    rows = [HEAD, *(cells(f, reasons) for f in formulations)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ['  '.join([
        row[0].ljust(widths[0]), *map(str.rjust, row[1:-1], widths[1:-1]),
        row[-1]]) for row in rows]
    rule = '-'*min(sum(widths) + 2*len(widths) - 2, WIDTH)
    lines = [lines[0], rule, *lines[1:], rule, *textwrap.wrap(LEGEND, WIDTH)]
    for k, reason in enumerate(reasons, 1):
        mark = f'[{k}] '
        lines += textwrap.wrap(mark + reason, WIDTH,
                               subsequent_indent=' '*len(mark))
    return '\n'.join(lines)


def notes_of(formulations):
    return list(dict.fromkeys(f.reason for f in formulations if f.reason))


def brief(formulation, notes):
    """The verdict in one or two words, with the number of its note."""
    number = (f' [{notes.index(formulation.reason) + 1}]'
              if formulation.reason else '')
    verdict = formulation.verdict.value
    return SHORT.get(verdict, verdict) + number


def cells(f, notes):
    def shown(value, form):
        return '' if value is None else format(value, form)

    size = '' if f.states is None else (
        f'{f.states}, {f.accelerations_count}+{f.multipliers}')
    return [f.name, shown(f.seconds, '.3f'), shown(f.operations, 'd'), size,
            shown(f.microseconds, '.1f'), shown(f.error, '.0e'),
            shown(f.force_error, '.0e'), brief(f, notes)]


def wrapped(lines):
    """Lines that fit, continuations indented."""
    return [part for line in lines
            for part in textwrap.wrap(line, WIDTH, subsequent_indent='    ')]
