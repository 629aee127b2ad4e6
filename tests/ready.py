"""Ready models in numbers: admissible states, and accelerations by upstream,
by this package and by a reference that shares nothing with either.
"""
from random import Random

import numpy as np
from mpmath import mp
from sympy import Derivative, Dummy, Matrix, lambdify, sympify
from sympy.core.function import AppliedUndef

from kkt import WORK, Reference, at, min_norm, number, t
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import UnsupportedFeatureError

TIME = 0.7
# Properties of the ready models that select tests; building all models for
# that takes seconds.  tests/models checks them.
LAGRANGE = {
    'coupler_on_cranks', 'rolling_disc_lagrange', 'upright_disc',
    'snakeboard', 'cartesian_pendulum', 'driven_pendulum', 'cart_pendulum',
    'spring_mass_damper', 'double_pendulum_lagrange',
    'quaternion_top_lagrange', 'bead_on_circle', 'appell_hamel',
    'acceleration_level', 'massless_coordinate'}
UPSTREAM_REFUSES = {
    'parallel_cranks', 'coupler_on_cranks', 'knife_edge',
    'quaternion_top_lagrange', 'bead_on_circle', 'constant_speed_particle',
    'appell_hamel', 'acceleration_level', 'duplicated_rows'}
# What needs velocities of coordinates refuses: error and part of its text.
NOT_IN_VELOCITIES = {
    'rolling_disc_minimal': (UnsupportedFeatureError, 'put in by hand'),
    'rolling_disc_contact': (UnsupportedFeatureError, 'put in by hand'),
    'two_wheeled_cart': (UnsupportedFeatureError, '4 speeds'),
    'bicycle': (UnsupportedFeatureError, '6 speeds'),
    'heavy_top_quaternion': (UnsupportedFeatureError, '3 speeds'),
    'bead_on_circle': (TypeError, 'nonideal_forces'),
    'acceleration_level': (UnsupportedFeatureError, 'acceleration level')}
SYSTEMS = {
    'four_bar', 'slider_crank', 'parallel_cranks', 'rolling_disc',
    'cart_pendulum', 'cart_bead', 'spring_mass_damper', 'furuta_pendulum'}
WITHOUT_ANSWERS = {
    'four_bar', 'slider_crank', 'closed_chain', 'closed_chain_absolute',
    'closed_chain_3d', 'andrews_squeezer', 'rolling_disc_contact',
    'rolling_disc_lagrange', 'bicycle', 'bicycle_whole',
    'n_link_pendulum_on_cart', 'double_pendulum_lagrange',
    'damped_double_pendulum', 'furuta_pendulum', 'heavy_top_quaternion',
    'quaternion_top_lagrange', 'pinned_top'}


def reference(model):
    """The multiplier system of a model, from plain SymPy."""
    a, extra = model.arguments, dict(model.extra)
    acc = extra.pop('acceleration_constraints', ())
    Q = extra.pop('nonideal_forces', None)
    extra.pop('sample', None)           # which assembly is meant
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


def near_start(model, seed, spread=0.15):
    """The start with its independent states moved a little, at random."""
    random = Random(f'{model.name} {seed}')
    return {x: value + (x in model.fixed)*random.uniform(-1, 1)*spread
            * (abs(value) or 0.7) for x, value in model.start.items()}


class Admissible:
    """Random states on the constraint set of a model, good to 60 digits.

    The independent states keep their values, so that Newton's method does not
    run into the dead points of a linkage; where they are out of its reach,
    they are moved less.
    """

    def __init__(self, model, ref=None):
        ref = ref or rows(model)
        self.model = model
        self.names = [*constants(model), *model.start]
        self.steps = []
        for residuals, states in ((ref.holonomic, model.coordinates),
                                  (ref.velocity, model.speeds)):
            free = [x for x in states if x not in model.fixed]
            if free and residuals:
                self.steps.append((free, compiled(
                    [residuals, residuals.jacobian(free)], self.names,
                    'mpmath')))

    def __call__(self, seed):
        for attempt in range(6):
            state = self.near(near_start(self.model, seed, 0.15/2**attempt))
            if state:
                return state
        raise ArithmeticError(
            f'no admissible state of {self.model.name} was found')

    def near(self, start):
        """The state with the independent states of ``start``, or None."""
        with mp.workdps(WORK):
            state = {x: number(value) for x, value in {
                **constants(self.model), **start}.items()}
            arrived = all(self.settle(state, *step) for step in self.steps)
        return state if arrived else None

    def settle(self, state, free, function):
        """Newton steps of least norm, in place; whether they arrived."""
        for _ in range(50):
            residual, jacobian = map(mp.matrix, function(
                *(state[x] for x in self.names)))
            if mp.norm(residual, mp.inf) < mp.mpf(10)**-62:
                return True
            u, s, v = mp.svd_r(jacobian)
            inverse = [1/x if x > mp.mpf(10)**-12*max(s) else 0 for x in s]
            for x, d in zip(free, v.T*(mp.diag(inverse)*(u.T*residual))):
                state[x] -= d
        return False


def admissible(model, seed, ref=None):
    """Numbers for all symbols at one random admissible state."""
    return Admissible(model, ref)(seed)


def floats(values):
    return {x: float(value) for x, value in values.items()}


def compiled(expressions, names, module):
    """A function of the values of ``names`` that gives SymPy matrices."""
    dummies = {x: Dummy(f'd{i}') for i, x in enumerate(names)}
    matrices = []
    for expression in expressions:
        matrix = Matrix(expression)
        # Derivatives first: replacing q alone would spoil q'.
        for kind in (True, False):
            matrix = matrix.xreplace({
                x: d for x, d in dummies.items()
                if isinstance(x, Derivative) is kind})
        left = matrix.atoms(AppliedUndef, Derivative)
        assert not left, f'no value for {left}'
        matrices.append(matrix)
    return lambdify(list(dummies.values()), matrices, module, cse=True)


def evaluate(expressions, values):
    """SymPy matrices at float values, as arrays."""
    function = compiled(expressions, list(values), 'numpy')
    # Numbers of NumPy, so that a division by zero gives nan.
    with np.errstate(all='ignore'):
        return [np.array(x, dtype=float)
                for x in function(*map(np.float64, values.values()))]


def independent(model, values, ref=None):
    """Derivative of a speed -> acceleration, from 50 digits."""
    ref = ref or reference(model)
    solution = ref.solve(values)
    return {u.diff(t): float(a) for u, a in zip(ref.u, solution.acceleration)}


class Upstream:
    """Accelerations by a formed upstream method, compiled once."""

    def __init__(self, method, names):
        self.method, self.names = method, list(names)
        self.function = compiled(
            [method.mass_matrix_full, method.forcing_full], self.names,
            'numpy')

    def __call__(self, values):
        """Derivative of a speed -> acceleration."""
        with np.errstate(all='ignore'):
            M, F = (np.array(x, dtype=float) for x in self.function(
                *(np.float64(values[x]) for x in self.names)))
        try:
            rates = np.linalg.solve(M, F)[:, 0]
        except np.linalg.LinAlgError:
            rates = np.full(len(F), np.nan)
        n = len(self.method.q)
        return {u.diff(t): a for u, a in zip(self.method.u, rates[n:])}


def upstream(method, values):
    """Derivative of a speed -> acceleration, by a formed upstream method."""
    return Upstream(method, values)(values)


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
    """The same from ``mass_matrix_full`` and ``forcing_full``."""
    M, F = evaluate([method.mass_matrix_full, method.forcing_full],
                    floats(values))
    rates = np.linalg.lstsq(M, F, rcond=1e-13)[0][len(method.q):, 0]
    return {u.diff(t): a for u, a in zip(method.u, rates)}


def disagreement(one, other):
    """Largest difference relative to the largest acceleration."""
    assert set(one) == set(other)
    size = max(1.0, *(abs(x) for x in other.values()))
    # not max(): a nan must come through
    return float(np.max([abs(one[x] - other[x]) for x in one]))/size


def outputs(equations, method, values, *names):
    """Outputs of a graph or of equations as mpmath matrices."""
    if hasattr(equations, 'graph'):
        eom, graph = equations, equations.graph
    else:
        eom, graph = method.equations_of_motion, equations
    state = named(eom, method, values)
    known = {x: number(state[x]) for x in graph.inputs if x in state}
    out = graph.evaluate(known, names, context=mp)
    return [mp.matrix(out[name]) if out[name] else
            mp.matrix(*graph.outputs[name]) for name in names]


class InVelocities:
    """A model, its motion by Udwadia and Kalaba, and numbers under the names
    of the speeds and of the velocities."""

    def __init__(self, model):
        self.model = model
        self.method = model.form(UdwadiaKalabaMethod)
        written = self.rows = rows(model)
        self.admissible = Admissible(model, written)
        self.q, self.speeds = written.q, written.u
        self.velocities = [q.diff(t) for q in written.q]
        self.rates = Matrix([written.rates.get(v, v) for v in self.velocities])
        self.second = self.rates.diff(t)
        self.slopes = self.rates.jacobian(written.u)

    def state(self, seed):
        """Numbers for everything up to ``q'``, under both names."""
        values = self.admissible(seed)
        return {**values, **dict(zip(self.velocities, at(self.rates, values)))}

    def accelerations(self, values, rates_of_speeds):
        """``q''`` from ``u'``."""
        known = {u.diff(t): a for u, a in zip(self.speeds, rates_of_speeds)}
        return at(self.second, {**values, **known})

    def solution(self, values):
        """``q''``, forces for ``q'`` and multipliers."""
        W, r, A = outputs(self.method.equations_of_motion, self.method,
                          values, 'W', 'r', 'A')
        z = min_norm(W, r)              # rows may repeat one another
        o = len(self.speeds)
        lam = z[o:, 0]
        forces = A.T*lam if A.rows else mp.matrix(o, 1)
        J = at(self.slopes, values)
        return (self.accelerations(values, z[:o, 0]),
                mp.lu_solve(J.T, forces), lam)
