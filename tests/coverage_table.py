"""``python -m coverage_table FILE.json``: the table of ``doc/trust``.

The file is what ``coverage json`` writes. The table has one row for each
module that something is left of, and one for all of them.
"""
import csv
import json
import sys
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / 'doc' / 'trust' / 'coverage.csv'
HEAD = ['module', 'statements', 'branches', 'lines %', 'branches %', 'left']


def rows(report):
    """The table of a report; modules without a statement are left out."""
    found = sorted((module(path), about) for path, about in
                   report['files'].items() if about['summary'][
                       'num_statements'])
    full = [about for _, about in found if not left(about)]
    return [
        *(row(name, about['summary'], left(about))
          for name, about in found if left(about)),
        row(f'{len(full)} modules more', total(full), ''),
        row('all', report['totals'], '')]


def module(path):
    """``sympy_constrained/graph/graph.py`` -> ``graph.graph``."""
    _, *parts = Path(path).with_suffix('').parts
    return '.'.join(parts)


def row(name, summary, text):
    lines, branches = summary['num_statements'], summary['num_branches']
    return [name, lines, branches,
            share(summary['covered_lines'], lines),
            share(summary['covered_branches'], branches), text]


def share(part, whole):
    """Per cent, never rounded up to all of it."""
    return '100' if part == whole else f'{int(1000*part/whole)/10:.1f}'


def total(abouts):
    return {name: sum(about['summary'][name] for about in abouts)
            for name in ('num_statements', 'num_branches', 'covered_lines',
                         'covered_branches')}


def left(about):
    """Lines that were not run, and branches that were not taken."""
    lines = about['missing_lines']
    # a branch to a line that was not run is told by that line
    ways = [f'{start} to {"its end" if end < 0 else end}'
            for start, end in about['missing_branches']
            if start not in lines and end not in lines]
    return '; '.join([*spans(lines), *ways])


def spans(lines):
    """Lines behind each other as one: ``4-7``."""
    found = []
    for line in lines:
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return [f'{a}' if a == b else f'{a}-{b}' for a, b in found]


def main(path):
    report = json.loads(Path(path).read_text(encoding='utf-8'))
    with TABLE.open('w', newline='', encoding='utf-8') as file:
        csv.writer(file, lineterminator='\n').writerows([HEAD, *rows(report)])


if __name__ == '__main__':
    main(*sys.argv[1:])
