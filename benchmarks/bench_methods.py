"""Derivation by every class, against ``UdwadiaKalabaMethod`` in one run.

From a SymPy model to the equations on the graph, un-solved; processor time,
medians of repeated runs with a model built afresh for each. The time includes
the choice of independent rows at states that satisfy the constraints, which
the classes with fewer speeds need. ``make bench`` runs it; for some models
only::

    python benchmarks/bench_methods.py closed_chain:8 bicycle_whole

"""
import sys
import warnings
from statistics import median

import sympy
from bench_derivation import fresh, timed

from sympy_constrained import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod, RouthMethod,
    UdwadiaKalabaMethod, VaccoMethod)

MODELS = ('closed_chain:4', 'closed_chain:8', 'closed_chain:16', 'four_bar',
          'rolling_disc', 'upright_disc', 'snakeboard', 'bicycle_whole')
METHODS = (UdwadiaKalabaMethod, RouthMethod, VaccoMethod,
           LinearMappingMethod, GibbsAppellMethod, HamelEmbedding)
RUNS = 5
OUTPUTS = ('rates', 'W', 'r')


def partition(given):
    """Coordinates that the rows determine, as a mapping finds them."""
    method = RouthMethod(**given.arguments)
    return [method.q[i] for i in method._pivots]


def derived(method, given, options):
    """The equations of motion of a class for a model."""
    if options:
        return method.from_method(UdwadiaKalabaMethod(**given.arguments),
                                  **options).equations_of_motion
    return method(**given.arguments).equations_of_motion


def row(spec):
    """One line of the table."""
    cells, base = [], None
    for method in METHODS:
        seconds = []
        for _ in range(RUNS):
            given = fresh(spec)
            options = {'q_dependent': partition(given)} if (
                method is HamelEmbedding) else {}
            given = fresh(spec) if not options else given
            spent, equations = timed(derived, method, given, options)
            seconds.append(spent)
        base = base or median(seconds)
        cells.append(f'{1e3*median(seconds):.0f} '
                     f'({median(seconds)/base:.1f}; '
                     f'{equations.graph.operation_count(OUTPUTS)})')
    return f'| {spec} | {" | ".join(cells)} |'


def main(specs):
    """Print the table."""
    warnings.simplefilter('ignore')
    derived(UdwadiaKalabaMethod, fresh('four_bar'), {})
    print(f'Python {sys.version.split()[0]}, SymPy {sympy.__version__}; '
          'milliseconds of processor time (ratio to the first class; '
          'operations)')
    print()
    print('| model | ' + ' | '.join(x.__name__ for x in METHODS) + ' |')
    print('|---'*(len(METHODS) + 1) + '|')
    for spec in specs:
        print(row(spec), flush=True)


if __name__ == '__main__':
    main(sys.argv[1:] or MODELS)
