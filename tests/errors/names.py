"""Names and symbols that clash or are no functions of time."""
from sympy import Function, Symbol
from sympy.physics.mechanics import dynamicsymbols

from errors.parts import L, ROD, Case, flat, k, kane, l, m, rod, u, x, y
from sympy_constrained import GibbsAppellMethod, RouthMethod
from sympy_constrained.errors import (
    ConstrainedDynamicsError, ConstraintError, KinematicsError)

f = Function('f')
real = dynamicsymbols('x', real=True)

CASES = (
    Case('a plain symbol among the coordinates', lambda: flat(qs=[x, l]),
         KinematicsError, 'The generalized coordinate `l` is not a',
         'function of time', 'Create it with `dynamicsymbols`'),
    Case('a speed that is a coordinate', lambda: kane(u_ind=[u, x]),
         KinematicsError, '`x(t)` is both a', 'coordinate and a speed',
         'Use another symbol, or the derivative of the'),
    Case('a plain symbol named like a coordinate in a Lagrangian',
         lambda: flat(Lagrangian=L - k*Symbol('x')**2),
         ConstrainedDynamicsError, 'Two things in the model have the name `x`',
         'the function of time `x(t)` and the symbol',
         'Use one of them everywhere, or give the other'),
    Case('a symbol named t that is not the time',
         lambda: flat(hol_coneqs=[x - Symbol('t', real=True)]),
         ConstrainedDynamicsError, 'Two things in the model have the name `t`',
         'the time `t` and the symbol `t`. SymPy',
         'Use one of them everywhere, or give the other'),
    Case('a multiplier named like a coordinate',
         lambda: rod(RouthMethod, multipliers=['x']), ConstraintError,
         'The multiplier `x(t)` has the name of',
         'something else in the model', 'Choose another name'),
    Case('too few names of multipliers', lambda: flat(
        RouthMethod, hol_coneqs=[ROD, x - y], multipliers=['a']),
         ConstraintError, '`multipliers` has 1', 'names for 2 constraint',
         'Give one for each'),
    Case('a constant with a rate of mass', lambda: kane(
        GibbsAppellMethod, mass_rates={m: -1}), ConstrainedDynamicsError,
         '`mass_rates` has m, which', 'not a function of time',
         'Give {m: rate} with the mass `m ='),)
