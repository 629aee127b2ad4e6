"""From numbers to the table, ratios, and the plots."""
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

NAMES = {'closed_chain': 'chain', 'closed_chain_absolute': 'absolute',
         'closed_chain_3d': '3-D closed', 'bicycle': 'bicycle 4',
         'bicycle_whole': 'bicycle 8', 'rolling_disc': 'rolling disc',
         'rolling_disc_minimal': 'rolling disc, minimal',
         'four_bar': 'four-bar', 'andrews_squeezer': 'Andrews'}
PEERS = {'kane': 'KanesMethod', 'lagrange': 'LagrangesMethod',
         'pinocchio': 'Pinocchio', 'drake': 'Drake', 'exudyn': 'Exudyn',
         'mujoco': 'MuJoCo'}
PROGRAMS = ('pinocchio', 'drake', 'exudyn', 'mujoco')


def named(spec):
    name, _, size = spec.partition(':')
    return f'{NAMES.get(name, name.replace("_", " "))} {size}'.strip()


# -- values ------------------------------------------------------------------

@dataclass(frozen=True)
class Value:
    """A number with its unit, or the reason why it is missing."""

    number: float | None = None
    unit: str = ''
    text: str = ''
    least: bool = False                 # it is a lower bound

    def __str__(self):
        if self.number is None:
            return self.text
        if self.unit == 's':
            shown = seconds(self.number)
        elif self.unit == 'MB':
            shown = f'{self.number:.0f} MB'
        else:
            shown = f'{self.number:.4g}' + (f' {self.unit}' if self.unit
                                            else '')
        return f'> {shown}' if self.least else shown


def seconds(number):
    for unit, size in (('s', 1.), ('ms', 1e-3), ('µs', 1e-6), ('ns', 1e-9)):
        if number >= size or unit == 'ns':
            shown = number/size
            return f'{shown:.0f} {unit}' if shown >= 100 else (
                f'{shown:.3g} {unit}')


class Results:
    """Results by job."""

    def __init__(self, record):
        self.record = record
        self.results = record['results']

    def has(self, job):
        return job in self.results

    def value(self, job, key='seconds', unit='s'):
        result = self.results.get(job, {'failed': 'not run'})
        if key in result:
            return Value(result[key], unit)
        if 'over' in result:
            return Value(result['over'], unit, least=True)
        if 'missing' in result:
            return Value(text=f'missing: {result["missing"]}')
        return Value(text=result.get('failed') or result.get(
            'native_failed') or '–')

    def error(self, job, key='error'):
        error = self.results.get(job, {}).get(key)
        return '' if error is None else f'{error:.0e}'

    def specs(self, job, last=None):
        """Models of a job, in the order of the run."""
        found = [key.split() for key in self.results]
        return list(dict.fromkeys(
            words[1] for words in found if words[0] == job and (
                not last or words[2:] == last.split())))


def ratio(theirs, ours):
    """Theirs by ours, a :class:`Value`."""
    if theirs.number is None or not ours.number:
        return Value(text='')
    return Value(theirs.number/ours.number, least=theirs.least)


# -- the table ---------------------------------------------------------------

HEAD = ('work', 'model', 'ours', 'error', 'peer', 'theirs', 'error',
        'ratio')


def table(record):
    """Rows of text."""
    found = Results(record)
    for rows in (derivation, sizes, trees, making, calls, natives, jacobians,
                 gradients, batches, simulations, long_runs, precisions,
                 memories, solvers):
        yield from rows(found)


def row(work, spec, ours, error, peer, theirs, peer_error=''):
    return (work, named(spec), str(ours), error, peer, str(theirs),
            peer_error, str(ratio(theirs, ours)))


def derivation(found):
    for spec in found.specs('derive'):
        for method in ('kane', 'lagrange'):
            for suffix, label in (('', ''), (' development', ', development '
                                             'version of SymPy')):
                job = f'upstream_derive {spec} {method}{suffix}'
                if not found.has(job):
                    continue
                for key, what in (('graph', 'derivation to the graph'),
                                  ('assignments', 'derivation to '
                                   'assignments'),
                                  ('matrices', 'derivation to SymPy '
                                   'matrices')):
                    if key != 'graph' and method != 'kane':
                        continue
                    yield row(what, spec,
                              found.value(f'derive {spec}', key), '',
                              PEERS[method] + label, found.value(job))


def sizes(found):
    for spec in found.specs('size'):
        ours = found.value(f'derive {spec}', 'operations', '')
        yield row('operations of M, Q, A, b', spec, ours, '',
                  'cse of Kane\'s blocks',
                  found.value(f'size {spec}', 'operations', ''))


def trees(found):
    for spec in found.specs('written'):
        for key, unit, work in (
                ('nodes', '', 'tree nodes of mass_matrix and forcing'),
                ('lambdify', 's', 'lambdify of mass_matrix and forcing')):
            ours, theirs = (found.value(f'written {spec} {form}', key, unit)
                            for form in ('ours', 'kane'))
            yield row(work, spec, ours, '', 'KanesMethod', theirs)


def making(found):
    for spec in found.specs('cython'):
        for backend in ('llvm', 'numpy'):
            job = f'function {spec} {backend}'
            yield row(f'model to right-hand side, {backend}', spec,
                      found.value(job, 'make'), found.error(job),
                      'KanesMethod and PyDy Cython',
                      found.value(f'cython {spec}', 'make'),
                      found.error(f'cython {spec}'))


def calls(found):
    for spec in found.specs('cython'):
        for backend in ('llvm', 'numpy'):
            job = f'function {spec} {backend}'
            yield row(f'one call from Python, {backend}', spec,
                      found.value(job, 'call'), found.error(job),
                      'PyDy Cython', found.value(f'cython {spec}', 'call'),
                      found.error(f'cython {spec}'))
            if 'bound' in found.results.get(job, {}):
                yield row(f'one call from Python, rank decided, {backend}',
                          spec, found.value(job, 'bound'),
                          found.error(job, 'bound_error'), 'PyDy Cython',
                          found.value(f'cython {spec}', 'call'),
                          found.error(f'cython {spec}'))


CASADI = {'blocks': 'casadi C, Kane\'s blocks by LDL',
          'result': 'casadi C, matrices of KanesMethod'}


def natives(found):
    for spec in found.specs('casadi'):
        job = f'function {spec} llvm'
        for form, label in CASADI.items():
            peer = f'casadi {spec} {form}'
            yield row('one native call, llvm', spec,
                      found.value(job, 'native'),
                      found.error(job, 'native_error'), label,
                      found.value(peer, 'native'), found.error(peer))
    for spec in found.specs('program'):
        job = f'function {spec} llvm'
        for name in PROGRAMS:
            peer = f'program {spec} {name}'
            if found.has(peer):
                yield row('one native call, llvm', spec,
                          found.value(job, 'native'),
                          found.error(job, 'native_error'), PEERS[name],
                          net(found, peer), found.error(peer))


def jacobians(found):
    """Derivatives of accelerations by the states."""
    for spec in found.specs('jacobian', 'ours'):
        ours = f'jacobian {spec} ours'
        for by, label in (('casadi', CASADI['blocks']),
                          ('pinocchio', 'Pinocchio, from Python'),
                          ('jax', 'JAX of our equations, from Python')):
            peer = f'jacobian {spec} {by}'
            if found.has(peer):
                yield row('Jacobian of accelerations, native', spec,
                          found.value(ours, 'native'), found.error(ours),
                          label, found.value(peer, 'native'),
                          found.error(peer))


def gradients(found):
    """Of motions, by all constants."""
    for spec in found.specs('gradient'):
        job = f'gradient {spec}'
        yield row('1 s, simulate, and gradient by all constants', spec,
                  found.value(job), found.error(job), 'the motion alone',
                  found.value(job, 'alone'))


def net(found, job):
    """Time of a program less that of the same calls on nothing."""
    value = found.value(job, 'call')
    if value.number is None or value.least:
        return value
    return Value(value.number - found.results[job]['idle'], 's')


def batches(found):
    for spec in found.specs('batch'):
        for backend in ('auto', 'numpy'):
            job = f'batch {spec} {backend}'
            used = found.results.get(job, {}).get('backend', backend)
            yield row(f'batch of 10 000, for each state, {used}', spec,
                      found.value(job, 'state'), found.error(job),
                      'lambdify and numpy.linalg.solve',
                      found.value(f'batch {spec} lambdify', 'state'),
                      found.error(f'batch {spec} lambdify'))


def simulations(found):
    for spec in found.specs('simulation'):
        ours, theirs = (f'simulation {spec} auto',
                        f'simulation {spec} cython')
        for key, what in (('seconds', 'simulation by DOP853'),
                          ('projected', 'simulation with projection')):
            yield row(what, spec, found.value(ours, key), '',
                      'PyDy Cython, DOP853', found.value(theirs))


def long_runs(found):
    for spec in found.specs('long_run'):
        def quality(by):
            return found.error(f'long_run {spec} {by}', 'drift')

        for by, work in LONG.items():
            if by in LONG_PEERS:
                continue
            for peer, label in LONG_PEERS.items():
                yield row(f'60 s, {work}', spec,
                          found.value(f'long_run {spec} {by}'), quality(by),
                          label, found.value(f'long_run {spec} {peer}'),
                          quality(peer))
    for spec in found.specs('motion'):
        for key, peer in (('native', 'native calls alone'),
                          ('scipy', "SciPy's DOP853 on `rhs`")):
            yield row('10 s, simulate, 501 outputs', spec,
                      found.value(f'motion {spec}'), '', peer,
                      found.value(f'motion {spec}', key))
    for spec in found.specs('sweeps'):
        for by in ('processes', 'dask'):
            job = f'sweeps {spec} {by}'
            for one, two, what in (
                    ('seconds', 'two', 'the busier one'),
                    ('wall', 'wall_two', 'on the clock')):
                if two in found.results.get(job, {}):
                    yield row(f'1000 runs, two {WORKERS[by]}, {what}', spec,
                              found.value(job, two), '', 'one process',
                              found.value(job, one))


WORKERS = {'processes': 'processes', 'dask': 'processes of Dask'}
LONG = {'ours': 'simulate, DOP853 with projection',
        'loop': 'SciPy\'s DOP853 without projection',
        'pointer': 'compiled DOP853, our pointer'}
LONG_PEERS = {'lambdified': 'KanesMethod, lambdify, SciPy\'s DOP853',
              'pinocchio': 'Pinocchio, SciPy\'s DOP853',
              'pinocchio_compiled': 'Pinocchio, compiled DOP853'}


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
                yield row('a motion, simulate, DOP853', spec, *(
                    x for who in ('ours', by) for x in (
                        *([label] if who == by else []),
                        time_at(points(found, spec, who), error),
                        f'{error:.0e}')))


def points(found, spec, by):
    """Errors and times of an integrator."""
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
               str(found.value(job, 'peak', 'MB')), '', 'imports alone',
               str(found.value(job, 'imports', 'MB')), '', '')


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
    if len(points) < 2:
        return None
    x = [math.log(n) for n, _ in points]
    y = [math.log(value) for _, value in points]
    mx, my = sum(x)/len(x), sum(y)/len(y)
    return (sum((a - mx)*(b - my) for a, b in zip(x, y))
            / sum((a - mx)**2 for a in x))


FAMILIES = ('closed_chain', 'closed_chain_absolute', 'closed_chain_3d')
GROWTH_HEAD = ('what', 'model', 'sizes', 'exponent', 'last pair')


def growth(record):
    """Rows of exponents."""
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


def against(found, ours, key, theirs):
    return ratio(found.value(theirs, key), found.value(ours, key))


def best(found, spec, key, theirs, form=''):
    """Our machine code against a peer."""
    return against(found, f'function {spec} llvm', key,
                   f'{theirs} {spec} {form}'.strip())


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
    yield figure('model to compiled right-hand side', 'Kane and PyDy Cython', {
        named(spec): best(found, spec, 'make', 'cython')
        for spec in LARGE[1:]})
    yield figure('one call from Python', 'PyDy Cython', {
        named(spec): best(found, spec, 'call', 'cython')
        for spec in (*LARGE, 'andrews_squeezer')})
    for form, label in CASADI.items():
        yield figure('one native call', label, {
            named(spec): best(found, spec, 'native', 'casadi', form)
            for spec in LARGE})
    for spec in found.specs('program'):
        yield figure(
            f'one native call, {named(spec)}', 'programs for mechanisms',
            {PEERS[name]: ratio(
                net(found, f'program {spec} {name}'),
                found.value(f'function {spec} llvm', 'native'))
             for name in PROGRAMS})
    yield figure('batch of 10 000 states, for each', 'lambdify on arrays', {
        named(spec): against(found, f'batch {spec} auto', 'state',
                             f'batch {spec} lambdify')
        for spec in found.specs('batch')})


def counted_figures(found):
    for work, specs in (
            ('operations of M, Q, A, b', (
                'closed_chain:4', 'closed_chain:8',
                'closed_chain_absolute:16', 'closed_chain_3d:6', 'bicycle',
                'bicycle_whole')),
            ('operations, small models', (
                'rolling_disc', 'rolling_disc_minimal', 'four_bar',
                'andrews_squeezer'))):
        yield figure(work, 'cse of Kane\'s blocks', {
            named(spec): ratio(
                found.value(f'derive {spec}', 'operations', ''),
                found.value(f'size {spec}', 'operations', ''))
            for spec in specs})
    yield figure('tree nodes of mass_matrix and forcing', 'KanesMethod', {
        named(spec): ratio(*(
            found.value(f'written {spec} {form}', 'nodes', '')
            for form in ('ours', 'kane')))
        for spec in found.specs('written')})


def long_figures(found):
    long = 'long_run closed_chain:8'
    for by, peer in (('ours', 'lambdified'), ('pointer', 'lambdified'),
                     ('pointer', 'pinocchio_compiled')):
        yield figure(f'60 s of chain 8, {LONG[by]}', LONG_PEERS[peer], {
            '': against(found, f'{long} {by}', 'seconds', f'{long} {peer}')})
    for key, word in WORDS.items():
        yield figure(f'60 s of chain 8, projected, {word}', '',
                     {'': found.value(f'{long} ours', key, '')})
    yield figure('1000 runs by two processes', 'one process', {
        'processor time': found.value('sweeps four_bar processes',
                                      'speed_up', ''),
        'on the clock': found.value('sweeps four_bar processes',
                                    'wall_speed_up', '')})
    yield figure('peak memory, chain 16, in MB', '', {
        '': found.value('memory closed_chain:16', 'peak', '')})


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


def markdown(record):
    """All tables as text."""
    parts = [f'# Benchmarks of {record["date"]}', versions(record),
             'Processor time, medians; errors are relative to accelerations '
             'from 50 digits.']
    for title, head, rows in (
            ('Ratios', FIGURE_HEAD, figures(record)),
            ('Table', HEAD, table(record)),
            ('Growth with the number of bodies', GROWTH_HEAD,
             growth(record)),
            ('The classes of the package', METHOD_HEAD, methods(record))):
        rows = list(rows)
        if rows:
            parts.append(f'## {title}')
            parts.append('\n'.join(map(line, (
                head, ['---']*len(head), *rows))))
    return '\n\n'.join(parts) + '\n'


def line(cells):
    return '| ' + ' | '.join(cell.replace('|', '/') for cell in cells) + ' |'


def csv(head, rows):
    """For the directive ``csv-table``."""
    def cell(text):
        return '"' + text.replace('"', '""') + '"'
    return '\n'.join(','.join(map(cell, cells))
                     for cells in (head, *rows)) + '\n'


def write(record, place):
    """The table, the same for the documentation, and the plot."""
    (place/'table.md').write_text(markdown(record))
    (place/'run.txt').write_text(
        f'Run of {record["date"]}, patience {record["patience"]:.0f} s. '
        f'{versions(record)}\n')
    for name, head, rows in (
            ('figures', FIGURE_HEAD, figures(record)),
            ('table', HEAD, table(record)),
            ('growth', GROWTH_HEAD, growth(record)),
            ('methods', METHOD_HEAD, methods(record))):
        (place/f'{name}.csv').write_text(csv(head, rows))
    plot(record, place/'growth.png')
    plot_precision(record, place/'precision.png')


COLOURS = {'graph': 'C0', 'kane': 'C1', 'lagrange': 'C2'}
LABELS = {'graph': 'on the graph', **{
    key: PEERS[key] for key in ('kane', 'lagrange')}}


def plot(record, file):
    """Time of a derivation over the number of bodies."""
    from matplotlib import pyplot as plt
    found = Results(record)
    figure, axes = plt.subplots(1, len(FAMILIES), figsize=(9, 3.2),
                                sharey=True, layout='constrained')
    for ax, name in zip(axes, FAMILIES):
        for who, points in (
                ('graph', curve(found, 'grow', name, key='graph')),
                ('kane', curve(found, 'upstream_derive', name, 'kane')),
                ('lagrange', curve(found, 'upstream_derive', name,
                                   'lagrange'))):
            if points:
                ax.loglog(*zip(*points), 'o-', color=COLOURS[who],
                          label=LABELS[who])
        ax.set_title(NAMES[name])
        ax.set_xlabel('bodies')
        ax.set_xticks([4, 8, 16, 32, 64], ['4', '8', '16', '32', '64'])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    axes[0].set_ylabel('time of a derivation [s]')
    axes[0].legend(frameon=False, fontsize='small')
    figure.savefig(file, dpi=80)
    plt.close(figure)


def plot_precision(record, file):
    """Time of a motion over its error."""
    from matplotlib import pyplot as plt
    found = Results(record)
    specs = found.specs('precision')
    if not specs:
        return
    figure, axes = plt.subplots(
        1, len(specs), figsize=(2.6*len(specs) + 1, 3.6), sharey=True,
        layout='constrained')
    for ax, spec in zip(axes, specs):
        for k, (by, label) in enumerate(INTEGRATORS.items()):
            errors, times = points(found, spec, by)
            ax.loglog(errors, times, 'o-', color=f'C{k}', label=label,
                      markersize=3)
        ax.set_title(named(spec))
        ax.set_xlabel('error')
        ax.set_xlim(1e-2, 1e-13)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel('processor time [s]')
    figure.legend(*axes[0].get_legend_handles_labels(), frameon=False,
                  fontsize='small', loc='outside lower center', ncols=3)
    figure.savefig(file, dpi=80)
    plt.close(figure)


if __name__ == '__main__':              # again from the numbers of a run
    place = Path(sys.argv[1])
    write(json.loads((place/'results.json').read_text()), place)
