"""Ready models in numbers: admissible states, and accelerations by upstream,
by this package and by a reference that shares nothing with either.
"""
from random import Random

import numpy as np
from mpmath import mp
from sympy import Derivative, Dummy, Matrix, lambdify, sympify
from sympy.core.function import AppliedUndef

from kkt import WORK, Reference, at, number, t

TIME = 0.7


def reference(model):
    """The multiplier system of a model, from plain SymPy."""
    a, extra = model.arguments, dict(model.extra)
    acc = extra.pop('acceleration_constraints', ())
    Q = extra.pop('nonideal_forces', None)
    assert not extra, f'the reference does not know {sorted(extra)}'
    if model.shape == 'lagrange':
        loads = generalized(a.get('forcelist') or (), a.get('frame'),
                            model.speeds)
        if Q is not None:
            loads += Matrix(Q)
        return Reference.lagrange(
            a['Lagrangian'], a['qs'], a.get('hol_coneqs') or (),
            a.get('nonhol_coneqs') or (), acc, loads)
    return Reference.bodies(
        a['frame'], a['bodies'], a.get('forcelist') or (), model.coordinates,
        model.speeds, a['kd_eqs'], a.get('configuration_constraints') or (),
        a.get('velocity_constraints') or (), acc, Q)


def rows(model):
    """The residuals of a model and its kinematics, without any kinetics."""
    a = model.arguments
    if model.shape == 'lagrange':
        kinematics = []
        holonomic = a.get('hol_coneqs')
        velocity = a.get('nonhol_coneqs')
    else:
        kinematics = a['kd_eqs']
        holonomic = a.get('configuration_constraints')
        velocity = a.get('velocity_constraints')
    qd = Matrix([q.diff(t) for q in model.coordinates])
    kd = Matrix(list(kinematics))
    rates = {}
    if kd:
        rest = kd.xreplace(dict.fromkeys(qd, sympify(0)))
        rates = dict(zip(qd, kd.jacobian(qd).LUsolve(-rest)))
    return Reference._finish(model.coordinates, model.speeds, rates, None,
                             None, holonomic or (), velocity or (), ())


def generalized(loads, frame, speeds):
    """Generalized forces of loads whose motion is written in ``q'``."""
    Q = Matrix([0]*len(speeds))
    for where, vector in loads:
        motion = (where.vel(frame) if hasattr(where, 'vel')
                  else where.ang_vel_in(frame))
        Q += Matrix([motion.diff(u, frame, var_in_dcm=False).dot(vector)
                     for u in speeds])
    return Q


def constants(model):
    """Values of the constants and of the inputs at ``TIME``."""
    values = {t: TIME, **model.parameters}
    for f, expression in model.inputs.items():
        values[f] = float(sympify(expression).subs(t, TIME))
    return values


def near_start(model, seed):
    """The start with its independent states moved a little, at random."""
    random = Random(f'{model.name} {seed}')
    return {x: value + (x in model.fixed)*random.uniform(-1, 1)
            * (0.15*abs(value) or 0.1) for x, value in model.start.items()}


def admissible(model, seed, ref=None):
    """Numbers for all symbols at a random state on the constraint set, good
    to 60 digits.

    The independent states keep their values, so that Newton's method does not
    run into the dead points of a linkage.
    """
    ref = ref or rows(model)
    with mp.workdps(WORK):
        state = {x: number(value) for x, value in {
            **constants(model), **near_start(model, seed)}.items()}
    for residuals, states in ((ref.holonomic, model.coordinates),
                              (ref.velocity, model.speeds)):
        free = [x for x in states if x not in model.fixed]
        if free:
            with mp.workdps(WORK):
                state = ref._newton(residuals, free, state)
    return state


def floats(values):
    return {x: float(value) for x, value in values.items()}


def evaluate(expressions, values):
    """SymPy matrices at float values, as arrays."""
    names = {x: Dummy(f'd{i}') for i, x in enumerate(values)}
    # Derivatives first: replacing q alone would spoil q'.
    ordered = sorted(names, key=lambda x: -isinstance(x, Derivative))
    matrices = []
    for expression in expressions:
        matrix = Matrix(expression)
        for kind in (True, False):
            matrix = matrix.xreplace({
                x: names[x] for x in ordered
                if isinstance(x, Derivative) is kind})
        left = matrix.atoms(AppliedUndef, Derivative)
        assert not left, f'no value for {left}'
        matrices.append(matrix)
    function = lambdify(list(names.values()), matrices, 'numpy', cse=True)
    # Numbers of NumPy, so that a division by zero gives nan.
    with np.errstate(all='ignore'):
        return [np.array(x, dtype=float)
                for x in function(*map(np.float64, values.values()))]


def independent(model, values, ref=None):
    """Derivative of a speed -> acceleration, from 50 digits."""
    ref = ref or reference(model)
    solution = ref.solve(values)
    return {u.diff(t): float(a) for u, a in zip(ref.u, solution.acceleration)}


def upstream(method, values):
    """Derivative of a speed -> acceleration, by a formed upstream method."""
    values = floats(values)
    M, F = evaluate([method.mass_matrix_full, method.forcing_full], values)
    try:
        rates = np.linalg.solve(M, F)[:, 0]
    except np.linalg.LinAlgError:
        rates = np.full(len(F), np.nan)
    n = len(method.q)
    return {u.diff(t): a for u, a in zip(method.u, rates[n:])}


def ours(method, values):
    """Derivative of a speed -> acceleration, by a method of this package."""
    eom = method.equations_of_motion
    numbers = {x: float(value) for x, value in values.items()}
    out = eom.graph.evaluate(named(eom, method, numbers), ['W', 'r'])
    W, r = (np.array(out[name], dtype=float) for name in ('W', 'r'))
    z = np.linalg.lstsq(W, r.reshape(-1), rcond=1e-13)[0]
    return {u.diff(t): a for u, a in zip(method.u, z)}


def named(eom, method, values):
    """Values under the names of the equations, which may have speeds of
    their own in place of ``q'``."""
    numbers = dict(values)
    for inner, outer in zip(eom.u, method.u):
        numbers[inner] = values[outer]
    return numbers


def ours_from_matrices(method, values):
    """The same from ``mass_matrix`` and ``forcing``."""
    M, F = evaluate([method.mass_matrix, method.forcing], floats(values))
    rates = np.linalg.solve(M, F)[:, 0]
    return {u.diff(t): a for u, a in zip(method.u, rates)}


def disagreement(one, other):
    """Largest difference relative to the largest acceleration."""
    assert set(one) == set(other)
    size = max(1.0, *(abs(x) for x in other.values()))
    # not max(): a nan must come through
    return float(np.max([abs(one[x] - other[x]) for x in one]))/size


def known(model, values):
    """The accelerations a model knows in closed form, as floats."""
    return {x: float(at(expression, values)[0])
            for x, expression in model.accelerations.items()}
