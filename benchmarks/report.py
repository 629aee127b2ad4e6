"""From numbers to the table, ratios, and the plots."""
import csv
import json
import math
import sys
from pathlib import Path

import numpy as np
from results import NAMES, PEERS, Results, Value, named, ratio, seconds

PROGRAMS = ('pinocchio', 'drake', 'exudyn', 'mujoco')


# -- the table ---------------------------------------------------------------

HEAD = ('work', 'model', 'ours', 'error', 'peer', 'theirs', 'error',
        'ratio')
BACKENDS = 'llvm', 'numpy'
CASADI = {'blocks': 'casadi C, Kane\'s blocks by LDL',
          'result': 'casadi C, matrices of KanesMethod'}
JACOBIANS = {'casadi': CASADI['blocks'], 'pinocchio': 'Pinocchio, from Python',
             'jax': 'JAX of our equations, from Python'}
LONG = {'ours': 'simulate, DOP853 with projection',
        'loop': 'SciPy\'s DOP853 without projection',
        'pointer': 'compiled DOP853, our pointer'}
LONG_PEERS = {'lambdified': 'KanesMethod, lambdify, SciPy\'s DOP853',
              'pinocchio': 'Pinocchio, SciPy\'s DOP853',
              'pinocchio_compiled': 'Pinocchio, compiled DOP853'}
DERIVED = {'graph': 'derivation to the graph',
           'assignments': 'derivation to assignments',
           'matrices': 'derivation to SymPy matrices'}
VERSIONS = {'': '', ' development': ', development version of SymPy'}


def at(job, key='seconds', error='error'):
    """A number of a job and the name of its error; ``{}`` is the model."""
    return job, key, error


#: A job, and rows for each of its models: work, ours, peer, theirs.
ROWS = (
    ('derive', [
        (work, at('derive {}', key), PEERS[method] + label,
         at(f'upstream_derive {{}} {method}{version}'))
        for method in ('kane', 'lagrange')
        for version, label in VERSIONS.items()
        for key, work in DERIVED.items()
        if method == 'kane' or key == 'graph']),
    ('size', [
        ('operations of M, Q, A, b', at('derive {}', 'operations'),
         'cse of Kane\'s blocks', at('size {}', 'operations'))]),
    ('written', [
        (f'{what} of mass_matrix and forcing', at('written {} ours', key),
         'KanesMethod', at('written {} kane', key))
        for key, what in (('nodes', 'tree nodes'), ('lambdify', 'lambdify'))]),
    ('cython', [
        (f'model to right-hand side, {by}', at(f'function {{}} {by}', 'make'),
         'KanesMethod and PyDy Cython', at('cython {}', 'make'))
        for by in BACKENDS]),
    ('cython', [
        (f'one call from Python{what}, {by}',
         at(f'function {{}} {by}', key, error), 'PyDy Cython',
         at('cython {}', 'call'))
        for by in BACKENDS for what, key, error in (
            ('', 'call', 'error'),
            (', rank decided', 'bound', 'bound_error'))]),
    ('casadi', [
        ('one native call, llvm',
         at('function {} llvm', 'native', 'native_error'), label,
         at(f'casadi {{}} {form}', 'native'))
        for form, label in CASADI.items()]),
    ('program', [
        ('one native call, llvm',
         at('function {} llvm', 'native', 'native_error'), PEERS[name],
         at(f'program {{}} {name}', 'net')) for name in PROGRAMS]),
    ('jacobian', [
        ('Jacobian of accelerations, native', at('jacobian {} ours', 'native'),
         label, at(f'jacobian {{}} {by}', 'native'))
        for by, label in JACOBIANS.items()]),
    ('gradient', [
        ('1 s, simulate, and gradient by all constants', at('gradient {}'),
         'the motion alone', at('gradient {}', 'alone', '')),
        ('1 s, simulate, and derivatives by three constants',
         at('gradient {}', 'forward'), 'the motion alone',
         at('gradient {}', 'alone', ''))]),
    ('batch', [
        ('batch of 10 000, for each state, {backend}',
         at(f'batch {{}} {by}', 'state'), 'lambdify and numpy.linalg.solve',
         at('batch {} lambdify', 'state')) for by in ('auto', 'numpy')]),
    ('simulation', [
        (work, at('simulation {} auto', key), 'PyDy Cython, DOP853',
         at('simulation {} cython'))
        for key, work in (('seconds', 'simulation by DOP853'),
                          ('projected', 'simulation with projection'))]),
    ('long_run', [
        (f'60 s, {work}', at(f'long_run {{}} {by}', error='drift'), label,
         at(f'long_run {{}} {peer}', error='drift'))
        for by, work in LONG.items() for peer, label in LONG_PEERS.items()]),
    ('motion', [
        ('10 s, simulate, 501 outputs', at('motion {}'), label,
         at('motion {}', key)) for key, label in (
            ('native', 'native calls alone'),
            ('scipy', "SciPy's DOP853 on `rhs`"))]),
    ('sweeps', [
        (f'1000 runs, two processes{of}, {what}', at(f'sweeps {{}} {by}', two),
         'one process', at(f'sweeps {{}} {by}', one))
        for by, of, one, two, what in (
            ('processes', '', 'seconds', 'two', 'the busier one'),
            ('processes', '', 'wall', 'wall_two', 'on the clock'),
            ('dask', ' of Dask', 'wall', 'wall_two', 'on the clock'))]))


def table(record):
    found = Results(record)
    for job, rows in ROWS:
        for spec in found.specs(job):
            for work, ours, peer, theirs in rows:
                shown = row(found, spec, work, ours, peer, theirs)
                if found.has(theirs[0].format(spec)) and shown[2] != '–':
                    yield shown
    for rows in (precisions, memories, solvers):
        yield from rows(found)


def row(found, spec, work, ours, peer, theirs):
    """One row; ours and theirs are those of :func:`at`."""
    (job, key, error), (other, its, its_error) = (
        (given[0].format(spec), *given[1:]) for given in (ours, theirs))
    numbers = found.value(job, key), found.value(other, its)
    backend = found.results.get(job, {}).get('backend', '')
    return (work.format(backend=backend), named(spec), str(numbers[0]),
            found.error(job, error), peer, str(numbers[1]),
            found.error(other, its_error), str(ratio(*reversed(numbers))))


INTEGRATORS = {
    'ours': 'simulate, DOP853', 'ours_rk45': 'simulate, RK45',
    'ours_taylor': 'simulate, taylor',
    'scipy': "SciPy's DOP853, our rhs",
    'lambdified': "SciPy's DOP853, KanesMethod, lambdify",
    'cyrk': "CyRK's DOP853, our machine code",
    'heyoka': 'heyoka, our equations',
    'diffrax': "diffrax's Dopri8, our equations",
    'mujoco': "MuJoCo's RK4", 'exudyn': 'Exudyn'}


def precisions(found):
    """Times at equal errors."""
    for spec in found.specs('precision'):
        for error in (1e-6, 1e-10):
            for by, label in list(INTEGRATORS.items())[2:]:
                ours, theirs = (time_at(points(found, spec, who), error)
                                for who in ('ours', by))
                yield ('a motion, simulate, DOP853', named(spec), str(ours),
                       f'{error:.0e}', label, str(theirs), f'{error:.0e}',
                       str(ratio(theirs, ours)))


def points(found, spec, by):
    result = found.results.get(f'precision {spec} {by}', {})
    return result.get('errors', []), result.get('times', [])


def time_at(points, error):
    """The least time for an error, between the tolerances of a run."""
    errors, times = points
    for k in range(1, len(errors)):
        if errors[k] <= error < errors[k - 1]:
            part = (math.log(error/errors[k - 1])
                    / math.log(errors[k]/errors[k - 1]))
            return Value(times[k - 1]*(times[k]/times[k - 1])**part, 's')
    return Value(text='–')


def memories(found):
    for spec in found.specs('memory'):
        job = f'memory {spec}'
        yield ('peak memory of a derivation', named(spec),
               str(found.value(job, 'peak')), '', 'imports alone',
               str(found.value(job, 'imports')), '', '')


def solvers(found):
    for spec in found.specs('solvers'):
        for solver in ('LU', 'CRAMER'):
            job = f'solvers {spec} {solver}'
            yield ('accelerations are right', named(spec), '',
                   found.error(f'function {spec} llvm'),
                   f'KanesMethod, constraint_solver={solver!r}', '',
                   found.error(job), '')


# -- growth ------------------------------------------------------------------

def curve(found, job, name, last=None, key='seconds'):
    """Sizes and numbers of a family of models, those that were finished."""
    points = []
    for spec in found.specs(job, last):
        family, _, n = spec.partition(':')
        if family == name and n:
            words = filter(None, (job, spec, last))
            value = found.results[' '.join(words)].get(key)
            if value is not None:
                points.append((int(n), value))
    return sorted(points)


def exponent(points):
    """Least squares on logarithms."""
    return np.polyfit(*np.log(points).T, 1)[0] if len(points) > 1 else None


FAMILIES = ('closed_chain', 'closed_chain_absolute', 'closed_chain_3d')
GROWTH_HEAD = ('what', 'model', 'sizes', 'exponent', 'last pair')


def growth(record):
    found = Results(record)
    for name in FAMILIES:
        for what, points in (
                ('time, graph', curve(found, 'grow', name, key='graph')),
                ('operations, graph', curve(found, 'grow', name,
                                            key='operations')),
                ('time, KanesMethod', curve(found, 'upstream_derive', name,
                                            'kane')),
                ('time, LagrangesMethod', curve(found, 'upstream_derive',
                                                name, 'lagrange')),
                ('time, LagrangesMethod, development version', curve(
                    found, 'upstream_derive', name,
                    'lagrange development'))):
            if len(points) > 1:
                yield (what, NAMES[name],
                       f'{points[0][0]} to {points[-1][0]}',
                       f'{exponent(points):.2f}',
                       f'{exponent(points[-2:]):.2f}')


# -- ratios ------------------------------------------------------------------

FIGURE_HEAD = ('work', 'compared with', 'measured')


LARGE = ('closed_chain:8', 'bicycle', 'bicycle_whole')


def figures(record):
    """Rows: work, peer, measured."""
    found = Results(record)
    for part in (derived_figures, called_figures, counted_figures,
                 long_figures):
        yield from part(found)


def derived(found, spec, key, *methods):
    """The fastest of SymPy's methods by ours."""
    ours = found.value(f'derive {spec}', key)
    peers = [found.value(f'upstream_derive {spec} {method}')
             for method in methods]
    known = [peer for peer in peers if peer.number is not None]
    if not known:
        return Value(text='not measured')
    return ratio(min(known, key=lambda peer: peer.number), ours)


def against(found, ours, key, theirs, its=None):
    """Theirs by ours; ``its`` is the key of theirs if it is another."""
    return ratio(found.value(theirs, its or key), found.value(ours, key))


def derived_figures(found):
    yield figure('M, Q, A, b of chain 8 on the graph',
                 'faster of Kane, Lagrange', {
                     '': derived(found, 'closed_chain:8', 'graph', 'kane',
                                 'lagrange', 'kane development',
                                 'lagrange development')})
    for name in ('closed_chain', 'closed_chain_absolute'):
        points = curve(found, 'grow', name, key='graph')
        sizes = f'{points[0][0]} to {points[-1][0]}' if points else ''
        yield figure(f'growth of our time, {NAMES[name]}, n = {sizes}', '',
                     {'': Value(exponent(points))})
    for work, spec, key in (
            ('3-D closed 6', 'closed_chain_3d:6', 'graph'),
            ('bicycle 4 to the graph', 'bicycle', 'graph'),
            ('bicycle 4 to SymPy matrices', 'bicycle', 'matrices'),
            ('bicycle 8 to the graph', 'bicycle_whole', 'graph'),
            ('bicycle 8 to SymPy matrices', 'bicycle_whole', 'matrices'),
            ('chain 8 to SymPy matrices', 'closed_chain:8', 'matrices')):
        yield figure(work, 'Kane', {
            '': derived(found, spec, key, 'kane')})


def called_figures(found):
    for work, key, peer, job, specs in (
            ('model to compiled right-hand side', 'make',
             'Kane and PyDy Cython', 'cython {}', LARGE[1:]),
            ('one call from Python', 'call', 'PyDy Cython', 'cython {}',
             (*LARGE, 'andrews_squeezer')),
            *(('one native call', 'native', label, f'casadi {{}} {form}',
               LARGE) for form, label in CASADI.items())):
        yield figure(work, peer, {
            named(spec): against(found, f'function {spec} llvm', key,
                                 job.format(spec)) for spec in specs})
    for spec in found.specs('program'):
        yield figure(
            f'one native call, {named(spec)}', 'programs for mechanisms',
            {PEERS[name]: against(found, f'function {spec} llvm', 'native',
                                  f'program {spec} {name}', 'net')
             for name in PROGRAMS})
    yield figure('batch of 10 000 states, for each', 'lambdify on arrays', {
        named(spec): against(found, f'batch {spec} auto', 'state',
                             f'batch {spec} lambdify')
        for spec in found.specs('batch')})


def counted_figures(found):
    """Counts of ours by those of a peer."""
    for work, key, ours, peer, theirs, specs in (
            ('operations of M, Q, A, b', 'operations', 'derive {}',
             "cse of Kane's blocks", 'size {}', (
                 'closed_chain:4', 'closed_chain:8',
                 'closed_chain_absolute:16', 'closed_chain_3d:6', 'bicycle',
                 'bicycle_whole')),
            ('operations, small models', 'operations', 'derive {}',
             "cse of Kane's blocks", 'size {}', (
                 'rolling_disc', 'rolling_disc_minimal', 'four_bar',
                 'andrews_squeezer')),
            ('tree nodes of mass_matrix and forcing', 'nodes',
             'written {} ours', 'KanesMethod', 'written {} kane',
             found.specs('written'))):
        yield figure(work, peer, {
            named(spec): against(found, theirs.format(spec), key,
                                 ours.format(spec)) for spec in specs})


def long_figures(found):
    long = 'long_run closed_chain:8'
    for by, peer in (('ours', 'lambdified'), ('pointer', 'lambdified'),
                     ('pointer', 'pinocchio_compiled')):
        yield figure(f'60 s of chain 8, {LONG[by]}', LONG_PEERS[peer], {
            '': against(found, f'{long} {by}', 'seconds', f'{long} {peer}')})
    for key, word in WORDS.items():
        yield figure(f'60 s of chain 8, projected, {word}', '',
                     {'': found.value(f'{long} ours', key)})
    yield figure('1000 runs by two processes', 'one process', {
        'processor time': found.value('sweeps four_bar processes',
                                      'speed_up'),
        'on the clock': found.value('sweeps four_bar processes',
                                    'wall_speed_up')})
    yield figure('peak memory, chain 16, in MB', '', {
        '': found.value('memory closed_chain:16', 'peak')})


WORDS = {'residual': 'largest residual', 'drift': 'drift of the energy'}


def figure(work, peer, values):
    return work, peer, '; '.join(f'{name} {rounded(value)}'.strip()
                                 for name, value in values.items())


def rounded(value):
    if value.number is None:
        return value.text or 'not measured'
    digits = 3 if value.number < 100 else len(str(int(value.number)))
    return f'{">" if value.least else ""}{value.number:.{digits}g}'


# -- writing -----------------------------------------------------------------

METHOD_HEAD = ('model', 'class', 'time', 'operations of W, r')


def methods(record):
    found = Results(record)
    for spec in found.specs('methods'):
        for name, numbers in found.results[f'methods {spec}'].items():
            if isinstance(numbers, dict):
                yield (named(spec), name, seconds(numbers['seconds']),
                       str(numbers['operations']))


def versions(record):
    """Versions of everything that was measured."""
    return ', '.join(f'{name} {version}' for name, version
                     in record['versions'].items()) + '.'


#: Name of a file -> title, head and rows of a table.
TABLES = {
    'figures': ('Ratios', FIGURE_HEAD, figures),
    'table': ('Table', HEAD, table),
    'growth': ('Growth with the number of bodies', GROWTH_HEAD, growth),
    'methods': ('The classes of the package', METHOD_HEAD, methods)}


def markdown(record):
    """All tables as text."""
    parts = [f'# Benchmarks of {record["date"]}', versions(record),
             'Processor time, medians; errors are relative to accelerations '
             'from 50 digits.']
    for title, head, rows in TABLES.values():
        rows = list(rows(record))
        if rows:
            parts.append(f'## {title}')
            parts.append('\n'.join(map(line, (
                head, ['---']*len(head), *rows))))
    return '\n\n'.join(parts) + '\n'


def line(cells):
    return '| ' + ' | '.join(cell.replace('|', '/') for cell in cells) + ' |'


def write(record, place):
    """The table, the same for the documentation, and the plot."""
    (place/'table.md').write_text(markdown(record))
    (place/'run.txt').write_text(
        f'Run of {record["date"]}, patience {record["patience"]:.0f} s. '
        f'{versions(record)}\n')
    for name, (_, head, rows) in TABLES.items():
        with (place/f'{name}.csv').open('w') as file:
            csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator='\n'
                       ).writerows([head, *rows(record)])
    from plots import plot, plot_precision
    plot(record, place/'growth.png')
    plot_precision(record, place/'precision.png')


if __name__ == '__main__':              # again from the numbers of a run
    place = Path(sys.argv[1])
    write(json.loads((place/'results.json').read_text()), place)
