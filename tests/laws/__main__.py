"""``python -m laws``: every law, every method, every model.

Prints the number of checks; ``--table`` also writes the tables of the
documentation, in which other models stay as they are.
"""
import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor

from laws import table
from laws.models import NAMES


def quietly(model):
    warnings.simplefilter('ignore')
    return table.rows(model)


def main():
    parser = argparse.ArgumentParser(prog='laws', description=__doc__)
    parser.add_argument('models', nargs='*', default=NAMES,
                        help='names in the table; all of them by default')
    parser.add_argument('--table', action='store_true')
    parser.add_argument('--workers', type=int)
    given = parser.parse_args()
    began, found = time.monotonic(), {}
    with ProcessPoolExecutor(given.workers) as pool:
        for model, rows in zip(given.models, pool.map(quietly, given.models)):
            found |= rows
            print(f'{time.monotonic() - began:6.0f} s  {model}: '
                  + table.tally(x for row in rows.values()
                                for x in row.values()), flush=True)
    if given.table:
        table.write(table.recorded() | found)
    cells = [x for row in found.values() for x in row.values()]
    print(f'{table.tally(cells)} checks / refusals, {len(given.models)} '
          f'models, {time.monotonic() - began:.0f} s')


if __name__ == '__main__':
    main()
