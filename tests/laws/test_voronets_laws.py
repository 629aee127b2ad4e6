"""What must be true of the corrected equations of ``HamelEmbedding``.

The models are those of ``laws.models``; the speeds are the velocities that are
left, so that the laws are stated for ``q''`` and for forces on ``q``.
"""
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import pytest
from mpmath import mp
from sympy import Matrix, Rational, sqrt, symbols
from sympy.physics.mechanics import dynamicsymbols

from kkt import at, close, norm, t
from laws import models as catalogue
from laws.mechanism import NUMBERS, Mechanism
from sympy_constrained import HamelEmbedding, UdwadiaKalabaMethod
from sympy_constrained.errors import (
    ConstraintError, RedundantConstraintsError)

SEEDS = (1, 2)
EXACT = mp.mpf(10)**-45


@dataclass(frozen=True)
class Embedded:
    """A mechanism and the names of its dependent coordinates."""

    one: Mechanism
    names: str

    def form(self, one=None, names=None, order=None, **options):
        one = one or self.one
        chosen = [q for q in one.q
                  if q.func.__name__ in (names or self.names).split()]
        if one.L is not None:
            return one.form(HamelEmbedding, order, q_dependent=chosen,
                            **options)
        # In Kane's shape the coordinates are named once.
        return HamelEmbedding.from_method(
            one.form(UdwadiaKalabaMethod, order), q_dependent=chosen,
            **one.options, **options)


def solved_appell_hamel():
    """The nonlinear row, solved for the velocity that is eliminated."""
    x, y, z = q = dynamicsymbols('x y z')
    vx, vy, vz = v = catalogue.rates(q)
    k, m, g = symbols('k m g', positive=True)
    return Mechanism(
        q, v, L=m*(vx**2 + (1 + x**2)*vy**2 + vz**2)/2 - m*g*z - x*z,
        vel=(vz - sqrt(vx**2 + vy**2)/k - z*x,),
        constants={k: Rational(3, 5)},
        guess={vx: 1, vy: Rational(-1, 2), vz: 2})


def mixed_rows():
    """A row of position and a row of velocity, both with drift."""
    return replace(catalogue.mixed_rows(), acc=())


def knife_edge():
    """Not across the slope, where one partition is singular."""
    one = catalogue.build('knife_edge*')
    return replace(one, guess={**one.guess, one.q[2]: Rational(11, 10)})


MODELS = {
    'pendulum': (catalogue.pendulum, 'y'),
    'damped_double_pendulum': (catalogue.damped_double_pendulum, 'y1 y2'),
    'sprung_bob': (catalogue.sprung_bob, 'x'),
    'turning_wire': (catalogue.turning_wire, 'x z'),
    'sleigh': (catalogue.sleigh, 'y'),
    'disc': (catalogue.disc, 'q4 q5 q6'),
    'appell_hamel': (solved_appell_hamel, 'z'),
    'mixed_rows': (mixed_rows, 'x a'),
    'massless': (catalogue.massless, 'y'),
    'slider_crank': (lambda: catalogue.build('slider_crank*'), 'q2 q3'),
    'four_bar': (lambda: catalogue.build('four_bar*'), 'q2 q3'),
    'knife_edge': (knife_edge, 'x')}
models = pytest.mark.parametrize('model', MODELS)


@cache
def made(model):
    build, names = MODELS[model]
    return Embedded(build(), names)


@cache
def formed(model):
    return made(model).form()


@cache
def reference(model):
    return made(model).one.reference


@cache
def kinematics(model):
    """``q'`` in the speeds of the model, with its slopes and derivative."""
    one, rates = made(model).one, reference(model).rates
    column = Matrix([rates.get(v, v) for v in catalogue.rates(one.q)])
    return column, column.jacobian(one.u), column.diff(t)


@cache
def state_of(model, seed):
    """Numbers where the constraints hold, with ``q'`` beside ``u``."""
    one = made(model).one
    values = reference(model).admissible(
        {**NUMBERS, **one.constants}, seed, one.guess)
    return {**values, **dict(zip(
        catalogue.rates(one.q), at(kinematics(model)[0], values)))}


pytestmark = pytest.mark.usefixtures('digits')


# What is measured

def on_graph(h, values, *names):
    """Outputs of the corrected equations at a state."""
    eom = h.voronets_equations_of_motion
    known = {x: values[x] for x in eom.graph.inputs if x in values}
    out = eom.graph.evaluate(known, names, context=mp)
    return [mp.matrix(out[name]) if out[name] else
            mp.matrix(*eom.graph.outputs[name]) for name in names]


def motion(h, values):
    """``q''`` and forces, in the order of ``q``, and multipliers."""
    W, r = on_graph(h, values, 'W', 'r')
    z = mp.lu_solve(W, r)
    p, q = len(h.u), list(h.q)
    second = dict(zip(h.q_independent, z[:p]))
    known = {**values, **{u.diff(t): a for u, a in zip(h.u, z[:p])},
             **{x.diff(t, 2): a for x, a in second.items()}}
    for x, g in zip(h.q_dependent, h.velocity_map.values()):
        second[x] = at(Matrix([g.diff(t)]), known)[0]
    return (mp.matrix([second[x] for x in q]),
            at(h.constraint_forces, values), z[p:, 0])


def on(coordinates, h, column):
    """A column in the order of ``h``, in that of the coordinates."""
    q = list(h.q)
    return mp.matrix([column[q.index(x)] for x in coordinates])


def same_motion(model, one, other, values):
    q = made(model).one.q
    a, f, lam = motion(one, values)
    b, k, new = motion(other, values)
    assert close(on(q, one, a), on(q, other, b), EXACT, scale=1)
    assert close(on(q, one, f), on(q, other, k), EXACT, scale=1)
    return lam, new


# The laws


@models
def test_the_partition_does_not_matter(model):
    """Every choice of dependent coordinates gives one motion, or is told
    to be none."""
    case, h = made(model), formed(model)
    q, values = case.one.q, state_of(model, 1)
    ref = reference(model)
    rows = at(ref.velocity.jacobian(ref.u), values)
    rows *= mp.inverse(at(kinematics(model)[1], values))
    count = 0
    for chosen in combinations(q, len(h.q_dependent)):
        columns = mp.matrix([[rows[i, q.index(x)] for x in chosen]
                             for i in range(rows.rows)])
        least = min(mp.svd_r(columns, compute_uv=False))
        try:
            other = h.with_partition(chosen)
            other.mass_matrix
        except ConstraintError as error:
            assert not isinstance(error, RedundantConstraintsError)
            assert least < 1e-12 or model == 'appell_hamel'
            continue
        if least < 1e-6*norm(rows):         # a dead point of this choice
            continue
        lam, new = same_motion(model, h, other, values)
        assert close(lam, new, EXACT, scale=1)
        names = ' '.join(x.func.__name__ for x in chosen)
        same_motion(model, other, case.form(names=names), values)
        count += 1
    assert count > 1 or model == 'appell_hamel'


@models
def test_scaled_and_reordered_rows_change_multipliers_only(model):
    """A factor that vanishes nowhere leaves the constraint as it is."""
    case, h = made(model), formed(model)
    more, factors, order = scaled(case)
    for seed in SEEDS:
        values = state_of(model, seed)
        lam, new = same_motion(model, h, more, values)
        scale = at(Matrix(factors), values)
        assert close([lam[i] for i in order],
                     [s*y for s, y in zip(scale, new)], EXACT, scale=1)
        # On the constraints the embedding has not changed, and Hamel's
        # errors have not if they are those of velocity rows.
        names = ['embedding_matrix', 'embedding_vector', 'mass_matrix',
                 'true_mass_matrix', 'true_forcing', 'constraint_momenta']
        if not case.one.hol:
            names += ['forcing', 'neglected_row']
            names += ['discrepancy'] if model != 'appell_hamel' else []
        for name in names:
            one, other = (at(getattr(y, name), values) for y in (h, more))
            for i in range(one.rows):
                assert close(one[i, :].T, other[i, :].T, EXACT,
                             scale=1), name


def scaled(case):
    """With rows multiplied and in reverse order, factors and order."""
    x = case.one.q[0]

    def factor(i):
        return (-1)**i*(i + 1 + x**2)

    def changed(rows):
        return tuple(factor(i)*row for i, row in enumerate(rows, 1))[::-1]
    hol, vel = case.one.hol, case.one.vel
    factors = [factor(i) for rows in (hol, vel)
               for i in range(len(rows), 0, -1)]
    order = [*reversed(range(len(hol))),
             *(len(hol) + i for i in reversed(range(len(vel))))]
    more = case.form(replace(case.one, hol=changed(hol), vel=changed(vel)))
    return more, factors, order


@pytest.mark.parametrize('model', ['pendulum', 'disc', 'four_bar'])
def test_hamels_equations_depend_on_how_a_position_row_is_written(model):
    """``T*`` is differentiated off the constraints, where the velocities of
    ``f*h = 0`` and of ``h = 0`` are not the same.  Only the error changes.
    """
    h, values = formed(model), state_of(model, 1)
    more = scaled(made(model))[0]
    gap = at(h.forcing - more.forcing, values)
    assert norm(gap) > 1e-3
    error = at(h.discrepancy - more.discrepancy, values)
    assert close(gap, error, EXACT, scale=1)


@models
def test_repeated_rows_are_refused(model):
    case = made(model)
    one = case.one
    twice = replace(one, hol=one.hol + one.hol[:1],
                    vel=one.vel + tuple(
                        -2*row for row in one.vel[:not one.hol]))
    rows = reference(model).velocity
    rates, speeds = kinematics(model)[0], reference(model).u
    free = next(x for x, rate in zip(one.q, rates)
                if x.func.__name__ not in case.names.split()
                and any(rows.has(u) for u in speeds if rate.has(u)))
    names = f'{case.names} {free.func.__name__}'
    with pytest.raises(RedundantConstraintsError, match='follows') as told:
        case.form(twice, names).mass_matrix
    assert told.value.rows
    with pytest.raises(ConstraintError):
        case.form(twice).mass_matrix
