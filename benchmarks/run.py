"""The benchmarks: one run, one table.

Every job runs in a separate process, one after the other, ours and those of
each peer; times are medians of processor time, children included. Missing
peers are named. ``make bench`` runs all of it; a part of it
goes to the screen, or replaces its lines in a folder with an earlier run::

    python benchmarks/run.py --only derivation size
    python benchmarks/run.py --only simulation --output doc/benchmarks
    python benchmarks/run.py --patience 10

A peer that needs more than ``--patience`` seconds is given up and shown as
``>``. ``--sympy-dev PATH`` also times ``LagrangesMethod`` and ``KanesMethod``
of a checkout of SymPy's development version.
"""
import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import clock
import report

SMALL = ('rolling_disc', 'rolling_disc_minimal', 'four_bar',
         'andrews_squeezer')
LARGE = ('closed_chain:8', 'closed_chain_absolute:16', 'closed_chain_3d:6',
         'bicycle', 'bicycle_whole')
DERIVED = ('closed_chain:4', *LARGE, *SMALL)
WRITTEN = ('four_bar', 'rolling_disc', 'bicycle')
CALLED = ('closed_chain:8', 'bicycle', 'bicycle_whole', 'andrews_squeezer',
          'closed_chain_3d:6')
MECHANISMS = ('closed_chain:8', 'closed_chain_3d:6')
LONG = ('ours', 'loop', 'pointer', 'lambdified', 'pinocchio',
        'pinocchio_compiled')
PRECISE = ('cartesian_pendulum', 'rolling_disc', 'four_bar',
           'closed_chain:4', 'closed_chain:8')
INTEGRATORS = ('ours', 'ours_rk45', 'ours_taylor', 'scipy', 'lambdified',
               'cyrk', 'heyoka', 'diffrax', 'mujoco', 'exudyn')
# The pendulum has no bodies; a disc that rolls is not a row of bars.
NOT_THERE = {('cartesian_pendulum', 'lambdified'),
             ('rolling_disc', 'mujoco'), ('rolling_disc', 'exudyn')}
PROGRAMS = ('pinocchio', 'drake', 'exudyn', 'mujoco')
BATCHES = ('closed_chain:8', 'bicycle', 'bicycle_whole')
GROWN = {'closed_chain': (4, 8, 16, 32),
         'closed_chain_absolute': (8, 16, 32, 64),
         'closed_chain_3d': (4, 8, 16)}
UPSTREAM_GROWN = {'closed_chain': {'kane': (4, 6, 8, 10, 12),
                                   'lagrange': (4, 6, 8)},
                  'closed_chain_absolute': {'kane': (4, 8, 16, 24),
                                            'lagrange': (4, 8, 12)},
                  'closed_chain_3d': {'kane': (4, 6, 8),
                                      'lagrange': (4, 5)}}


def each(specs, *jobs):
    """Jobs, as texts ``'name argument ...'``, for each of the models."""
    return [(name, spec, *arguments) for spec in specs
            for name, *arguments in map(str.split, jobs)]


def growth():
    for name, sizes in GROWN.items():
        yield from each([f'{name}:{n}' for n in sizes], 'grow')
        for method, sizes in UPSTREAM_GROWN[name].items():
            yield from each([f'{name}:{n}' for n in sizes],
                            f'upstream_derive {method}')


GROUPS = {
    'derivation': each(DERIVED, 'derive', 'upstream_derive kane') + each(
        ('closed_chain:4', 'closed_chain:8', 'bicycle_whole'),
        'upstream_derive lagrange'),
    'size': each(DERIVED, 'derive', 'size') + each(
        WRITTEN, 'written ours', 'written kane'),
    'call': each(CALLED, 'numbers', 'function llvm', 'function numpy',
                 'cython'),
    'native': each(CALLED, 'numbers', 'function llvm', 'casadi blocks',
                   'casadi result') + each(
        MECHANISMS, *(f'program {name}' for name in PROGRAMS)),
    'derivatives': each(CALLED, 'numbers', 'jacobian ours', 'jacobian casadi',
                        'jacobian jax') + each(
        MECHANISMS, 'jacobian pinocchio') + each(
        ('closed_chain:8', 'bicycle'), 'gradient'),
    'batch': each(BATCHES, 'numbers', 'batch auto', 'batch numpy',
                  'batch lambdify'),
    'simulation': each(
        ['closed_chain:8'], 'simulation auto', 'simulation cython') + each(
        ('four_bar', 'rolling_disc', 'cartesian_pendulum'), 'motion') + each(
        ['closed_chain:8'], *(f'long_run {by}' for by in LONG)) + each(
        ['four_bar'], 'sweeps processes', 'sweeps dask'),
    'precision': [job for job in each(
        PRECISE, *(f'precision {by}' for by in INTEGRATORS))
        if job[1:] not in NOT_THERE],
    'memory': each(('closed_chain:16', 'closed_chain:32'), 'memory'),
    'growth': [*growth()],
    'solvers': each(('bicycle', 'bicycle_whole'), 'numbers', 'solvers LU',
                    'solvers CRAMER'),
    'methods': each(('closed_chain:8', 'four_bar', 'rolling_disc',
                     'snakeboard', 'bicycle_whole'), 'methods')}


def chosen(names):
    """The jobs of groups, each once."""
    return list(dict.fromkeys(job for name in names for job in GROUPS[name]))


def measured(jobs, patience, development=None):
    """Result of each job: ``'name model ...'`` -> dictionary."""
    results, given_up = {}, {}
    for name, *arguments in jobs:
        for suffix, path in (('', ()), (' development', (development,))):
            if suffix and not (development and name == 'upstream_derive'):
                continue
            key = ' '.join((name, *arguments)) + suffix
            family, size = sized(arguments)
            family = name, family, suffix
            if size > given_up.get(family, size):
                results[key] = {'over': patience}
                continue
            result = clock.isolated(name, arguments, patience, path)
            if 'over' in result:        # neither try what is larger
                given_up[family] = size
            results[key] = result
            print(f'{key}: {shortly(result)}', file=sys.stderr, flush=True)
    return results


def sized(arguments):
    """A key shared by jobs that differ in the size only, and the size."""
    name, _, size = arguments[0].partition(':')
    return (name, *arguments[1:]), int(size or 0)


def shortly(result):
    return ', '.join(f'{key} {value:.3g}' if isinstance(value, float)
                     else f'{key} {value}' for key, value in result.items()
                     if not isinstance(value, dict))


def versions():
    """Versions of all that took part, and the machine."""
    found = {'Python': platform.python_version()}
    for name, package in (
            ('SymPy', 'sympy'), ('NumPy', 'numpy'), ('SciPy', 'scipy'),
            ('llvmlite', 'llvmlite'), ('PyDy', 'pydy'), ('Cython', 'cython'),
            ('casadi', 'casadi'), ('Pinocchio', 'pin'), ('Drake', 'drake'),
            ('Exudyn', 'exudyn'), ('MuJoCo', 'mujoco'), ('CyRK', 'CyRK'),
            ('heyoka', 'heyoka'), ('JAX', 'jax'), ('diffrax', 'diffrax'),
            ('Dask', 'distributed')):
        try:
            found[name] = version(package)
        except PackageNotFoundError:
            found[name] = 'missing'
    found['compiler'] = compiler()
    found['processor'] = processor()
    return found


def compiler():
    try:
        output = subprocess.run(['gcc', '--version'], capture_output=True,
                                text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 'missing'
    return f'gcc {output.splitlines()[0].split()[-1]}'


def processor():
    info = Path('/proc/cpuinfo')
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith('model name'):
                return line.partition(':')[2].strip()
    return platform.processor() or platform.machine()


def main():
    parser = argparse.ArgumentParser(
        description='Benchmarks against peers in one run.')
    parser.add_argument('--only', nargs='+', choices=GROUPS, metavar='GROUP',
                        help=f'some of {", ".join(GROUPS)}; other results '
                             'of --output are kept')
    parser.add_argument('--patience', type=float, default=60.,
                        help='seconds for a job before it is given up')
    parser.add_argument('--sympy-dev', metavar='PATH',
                        help='a checkout of the development version of SymPy')
    parser.add_argument('--output', type=Path,
                        help='folder for the table, the numbers and the plot')
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as store:
        os.environ['BENCH_STORE'] = store
        results = measured(chosen(given.only or GROUPS), given.patience,
                           given.sympy_dev)
    record = {'date': date.today().isoformat(), 'patience': given.patience,
              'versions': versions(), 'results': results}
    print(report.markdown(record))
    if given.output:
        given.output.mkdir(parents=True, exist_ok=True)
        earlier = given.output/'results.json'
        if given.only and earlier.exists():     # a part of it anew
            old = json.loads(earlier.read_text())
            record['results'] = old['results'] | results
            record['versions'] = old['versions'] | {
                name: found for name, found in record['versions'].items()
                if found != 'missing'}
        (given.output/'results.json').write_text(
            json.dumps(record, indent=1) + '\n')
        report.write(record, given.output)


if __name__ == '__main__':
    main()
