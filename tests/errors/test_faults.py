"""Threads: the same numbers as one after the other."""
import sys
from concurrent.futures import ThreadPoolExecutor

import mpmath
import numpy as np
from sympy import symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod, RouthMethod,
    UdwadiaKalabaMethod)
from sympy_constrained.models import model
from sympy_constrained.numeric import compile_equations, simulate

x, y = dynamicsymbols('x y')
m, g, l = symbols('m g l')
VALUES = {m: 1, g: 9.81, l: 1}
START = {x: 1, y: 0, x.diff(): 0, y.diff(): 0}


def pendulum(cls=UdwadiaKalabaMethod, **options):
    return cls(m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
               hol_coneqs=[x**2 + y**2 - l**2], **options)


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            same(one[key], other[key]) for key in one)
    return np.array_equal(one, other)


def derived(name):
    """What a derivation of a ready model gives at a state of its own."""
    known = model(name)
    method = known.form(UdwadiaKalabaMethod)
    rows = tuple(method.independent_rows)
    inputs = method.closed_form.symbols(('acceleration',))
    values = {item: 0.3 + 0.1*k for k, item in enumerate(
        sorted(inputs, key=str))}
    found = method.closed_form.evaluate(values, ['acceleration'])
    return {'rows': rows, 'acceleration': found['acceleration'],
            'points': [sorted(value._mpf_ for value in point.values())
                       for point in method._report.points]}


def embedded(cls):
    """The rates of the pendulum by a method that needs its rank."""
    options = {HamelEmbedding: {'q_dependent': [y]},
               LinearMappingMethod: {'q_dependent': [y]}}.get(cls, {})
    method = pendulum(cls, **options)
    compiled = compile_equations(method, VALUES)
    state = [0.6, 0.8, -0.8, 0.6][:len(compiled.states)]
    return {'rhs': compiled.rhs(0, state)}


def moved(shift):
    """A motion that starts a little aside."""
    motion = simulate(pendulum(), 1, {**START, y.diff(): shift},
                      constants=VALUES, t_eval=11)
    return {'x': motion.x, 'multipliers': motion.multipliers}


def together(function, cases):
    """Results one after the other, and all at the same time."""
    alone = [function(case) for case in cases]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(2e-4)
    try:
        with ThreadPoolExecutor(len(cases)) as threads:
            beside = list(threads.map(function, cases))
    finally:
        sys.setswitchinterval(switch)
    return alone, beside


def test_derivations_in_threads():
    """mpmath has one precision for all threads."""
    before = mpmath.mp.prec
    alone, beside = together(derived, [
        'parallel_cranks', 'four_bar', 'duplicated_rows'])
    assert all(map(same, alone, beside))
    assert mpmath.mp.prec == before


def test_methods_in_threads():
    alone, beside = together(embedded, [
        HamelEmbedding, LinearMappingMethod, RouthMethod, GibbsAppellMethod])
    assert all(map(same, alone, beside))


def test_simulations_in_threads():
    alone, beside = together(moved, [0.5, 1., 1.5])
    assert all(map(same, alone, beside))


def test_solvers_of_one_object_in_threads():
    """Different constants, whose rank is decided and kept for each."""
    compiled = compile_equations(pendulum(), VALUES)

    def start(length):
        state, values = [length, 0, 0, 0], {l: length}
        return {'rhs': compiled.rhs(0, state, values),
                'multipliers': compiled.multipliers(0, state, values)}

    alone, beside = together(start, [1., 2., 3., 4.])
    assert all(map(same, alone, beside))
