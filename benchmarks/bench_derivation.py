"""Derivation: from a SymPy model to M, Q, A, b, against SymPy's own method.

Processor time, medians of repeated runs with a model built afresh for each;
the ratio is taken in the same process. SymPy's method gets as many runs as
fit into a minute. Run it with ``make bench``, or for some models only::

    python benchmarks/bench_derivation.py closed_chain:8 bicycle

A table in Markdown goes to the screen.
"""
import gc
import sys
import time
import warnings
from statistics import median

import sympy
from sympy.physics.mechanics import KanesMethod, LagrangesMethod

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.models import model

BLOCKS = ('M', 'Q', 'A', 'b')
MODELS = ('closed_chain:4', 'closed_chain:8', 'four_bar', 'rolling_disc',
          'bicycle', 'bicycle_whole', 'furuta_pendulum')
RUNS, PATIENCE = 5, 60.


def fresh(spec):
    """A newly built model, with SymPy's cache emptied."""
    name, _, size = spec.partition(':')
    found = model(name, n=int(size)) if size else model(name)
    sympy.core.cache.clear_cache()
    gc.collect()
    return found


def timed(function, *arguments):
    """Processor time of a call, and its result."""
    began = time.process_time()
    result = function(*arguments)
    return time.process_time() - began, result


def ours(given):
    """The blocks on the graph."""
    return UdwadiaKalabaMethod(**given.arguments, **given.extra).system


def theirs(given):
    """SymPy's equations in the same call shape."""
    if given.shape == 'kane':
        method = KanesMethod(**given.arguments)
        return method.kanes_equations()
    return LagrangesMethod(**given.arguments).form_lagranges_equations()


def written(system):
    """The blocks as SymPy matrices."""
    return [system.graph.sympy(name) for name in BLOCKS]


def row(spec):
    """One line of the table."""
    derive, write, peer = [], [], []
    for _ in range(RUNS):
        seconds, system = timed(ours, fresh(spec))
        derive.append(seconds)
        write.append(timed(written, system)[0])
    began = time.process_time()
    while len(peer) < RUNS and (
            not peer or time.process_time() - began < PATIENCE):
        peer.append(timed(theirs, fresh(spec))[0])
    graph, full = median(derive), median(derive) + median(write)
    operations = system.graph.operation_count(BLOCKS)
    return (f'| {spec} | {operations} | {1e3*graph:.1f} | {1e3*full:.1f} | '
            f'{1e3*median(peer):.0f} | {median(peer)/graph:.0f} | '
            f'{median(peer)/full:.0f} |')


def main(specs):
    """Print the table."""
    warnings.simplefilter('ignore')
    ours(fresh('four_bar'))             # imports and caches of the process
    print(f'Python {sys.version.split()[0]}, SymPy {sympy.__version__}; '
          'milliseconds of processor time, medians')
    print()
    print('| model | operations | graph | SymPy matrices | SymPy\'s method | '
          'ratio to graph | ratio to matrices |')
    print('|---|---|---|---|---|---|---|')
    for spec in specs:
        print(row(spec), flush=True)


if __name__ == '__main__':
    main(sys.argv[1:] or MODELS)
