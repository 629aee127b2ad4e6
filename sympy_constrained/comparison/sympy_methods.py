"""SymPy's own methods as formulations."""
from functools import partial

import numpy as np
from sympy.physics.mechanics import KanesMethod, LagrangesMethod

from ..model.equations import EquationsOfMotion
from ..model.loops import Loop
from ..numeric.linear.scaling import equilibrate
from .recipes import Derived, NotTried, Recipe, own_options


# An LU solution with a larger condition number is worthless.
SINGULAR = 1e13
# Class -> shape of the models that it refuses, why, and an argument that it
# does not have.
REFUSED = {
    KanesMethod: (
        'lagrange', 'it needs bodies, and the model is a Lagrangian',
        'nonholonomic_constraints'),
    LagrangesMethod: (
        'kane', 'it needs a Lagrangian in the velocities, and the model is '
        'bodies with speeds', 'acceleration_constraints')}


def sympy_recipes():
    return [Recipe(f"SymPy's {base.__name__}", partial(formed_by, base),
                   from_upstream, False) for base in REFUSED]


def formed_by(base, reference):
    model, (shape, reason, unknown) = reference.model, REFUSED[base]
    if model.shape == shape:
        raise NotTried(reason)
    own = own_options(reference.method)
    own += [name for name in model.extra if name not in (
        *own, 'potential_energy', 'stabilization', 'sample')]
    if model.arguments.get(unknown):
        own.append(unknown)
    if has_loops(model):
        own.append('loops')
    if own:
        raise NotTried(f'it does not take {", ".join(own)}')
    return model.form(base)


def has_loops(model):
    return any(isinstance(row, Loop) for rows in model.arguments.values()
               if isinstance(rows, (list, tuple)) for row in rows)


def from_upstream(reference, method):
    """SymPy's equations, solved by LU as they stand."""
    equations = EquationsOfMotion.from_method(method)
    moving = {x.diff(equations.t, order) for x in equations.states
              for order in (1, 2)}
    left = [str(x) for x in equations.specifieds if x in moving]
    if left:
        raise ArithmeticError(f'{", ".join(left)} is left in its equations')
    compiled = reference.with_numbers(equations)
    states = reference.mapped(equations, {})
    count, rates, forces = len(equations.u), [], []
    for k, state in enumerate(states):
        W, r = compiled.matrices(state.t, state.x)
        sigma = np.linalg.svd(
            W*np.outer(*equilibrate(np.abs(W))), compute_uv=False)
        if sigma.max(initial=0.) > SINGULAR*sigma.min(initial=1.):
            raise ArithmeticError('its matrix is singular')
        z = np.linalg.solve(W, r)
        rates.append(reference.lifted(equations, k, state, z[:count]))
        if equations.multipliers:
            forces.append(reference.pulled_back(
                k, equations, -W[:count, count:]@z[count:]))
    return Derived(rates, forces or None, compiled, states)
