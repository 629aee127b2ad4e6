"""Random admissible states with accelerations good to 50 digits.

The reference is that of the tests (``tests/kkt.py``): plain SymPy and mpmath,
nothing of the package. Long chains in relative angles borrow it from the same
chain in absolute angles, whose expressions are small.
"""
import json
import os
import tempfile
from pathlib import Path

import ready
from kkt import WORK, at, solve
from mpmath import mp
from sympy import Rational

from sympy_constrained.models import model

SEEDS = (1, 2, 3)


def build(spec):
    name, _, size = spec.partition(':')
    return model(name, n=int(size)) if size else model(name)


def found(spec):
    """``q``, ``u`` (lists of floats) and ``accelerations`` for each seed.

    The accelerations are those at the floats.
    """
    store = Path(os.environ.get('BENCH_STORE') or tempfile.gettempdir())
    file = store/f'states_{spec.replace(":", "_")}.json'
    if not file.exists():
        file.write_text(json.dumps(calculated(spec)))
    return json.loads(file.read_text())


def calculated(spec):
    name, _, size = spec.partition(':')
    relative = name == 'closed_chain'
    given = build(f'closed_chain_absolute:{size}' if relative and size
                  else spec)
    relative = relative and bool(size)
    reference = ready.reference(given)
    admissible = ready.Admissible(given, reference)
    states = []
    for seed in SEEDS:
        values = admissible(seed)
        q = [float(values[x]) for x in given.coordinates]
        u = [float(values[x]) for x in given.speeds]
        if relative:
            q, u = differences(q), differences(u)
        states.append({'q': q, 'u': u, 'accelerations': accelerations(
            given, reference, values, q, u, relative)})
    return states


def accelerations(given, reference, values, q, u, relative):
    """At exactly these floats, in the order of the speeds."""
    with mp.workdps(WORK):
        exact = dict(values)
        for names, numbers in ((given.coordinates, q), (given.speeds, u)):
            numbers = [Rational(x) for x in numbers]
            exact |= dict(zip(names, sums(numbers) if relative else numbers))
        for name, value in given.parameters.items():
            exact[name] = Rational(value)
        blocks = [at(block, exact) for block in (
            reference.M, reference.F, reference.A, reference.b)]
        rates = list(solve(*blocks).acceleration)
        rates = differences(rates) if relative else rates
        return [float(x) for x in rates]


def differences(x):
    return [b - a for a, b in zip([0, *x[:-1]], x)]


def sums(x):
    return [sum(x[:i + 1]) for i in range(len(x))]


def error(accelerate, states):
    """Largest difference relative to the largest acceleration.

    ``accelerate(q, u)`` gives accelerations in the order of the speeds.
    """
    worst = 0.
    for state in states:
        expected = state['accelerations']
        size = max(abs(x) for x in expected)
        given = accelerate(state['q'], state['u'])
        for x, y in zip(given, expected, strict=True):
            # a nan must come through
            worst = max(worst, abs(float(x) - y)/size, key=lambda e: (
                e != e, e))
    return worst
