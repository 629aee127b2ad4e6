"""One meaning, shape and sign for each name of a method; the table is in
``doc/notation.rst``.

Numbers at seeded states on the constraints. The motion is taken from
``equations_of_motion``, solved here, and compared with SymPy's own methods in
``test_name_swap.py``.
"""
import functools

import numpy as np
import pytest

import ready
from combinations import rotating
from kkt import equal
from sympy_constrained import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod, RouthMethod,
    UdwadiaKalabaMethod, VaccoMethod, VoronetsMethod)
from sympy_constrained.errors import UnsupportedFeatureError
from sympy_constrained.models import model

METHODS = (UdwadiaKalabaMethod, RouthMethod, VaccoMethod, HamelEmbedding,
           VoronetsMethod, LinearMappingMethod, GibbsAppellMethod)
# Kane's shape, then Lagrange's.
MODELS = {'slider_crank': (), 'chaplygin_sleigh': ('y',), 'four_bar': (),
          'upright_disc': ('y', 'theta'), 'cartesian_pendulum': ('y',)}
WITHOUT_MULTIPLIERS = (HamelEmbedding, VoronetsMethod, LinearMappingMethod,
                       GibbsAppellMethod)
EXACT = 1e-9


@functools.cache
def formed(name, method):
    """A method and numbers for a state on its constraints."""
    ready_model = model(name)
    options = {}
    if method in (HamelEmbedding, VoronetsMethod):
        named = {str(q.func): q for q in ready_model.coordinates}
        if MODELS[name]:
            options['q_dependent'] = [named[x] for x in MODELS[name]]
    if options and ready_model.shape == 'kane':
        found = method.from_method(
            ready_model.form(UdwadiaKalabaMethod), **options)
    else:
        found = ready_model.form(method, **options)
    values = ready.floats(ready.admissible(ready_model, 3))
    rates = ready.rows(ready_model).rates
    for q in ready_model.coordinates:       # q' where speeds are others
        if rates:
            values[q.diff(ready.t)] = float(ready.at(rates[q.diff(ready.t)],
                                                     values)[0])
    if method is LinearMappingMethod:
        a, a0 = ready.evaluate([found.mapping.a, found.mapping.a0], values)
        w = np.array([[values[x]] for x in found.system.u])
        values |= dict(zip(found.u, (a@w + a0)[:, 0]))
    if method is VaccoMethod:
        values |= {mu: 0.3 + 0.2*k for k, mu in enumerate(found.mu_vec)}
    return found, values


@functools.cache
def motion(name, method):
    """``z`` of ``W z = r`` at the state, by unknown."""
    found, values = formed(name, method)
    equations = found.equations_of_motion
    W, r = ready.evaluate([equations.W, equations.r], values)
    z = np.linalg.lstsq(W, r, rcond=1e-12)[0][:, 0]
    return dict(zip(equations.unknowns, z))


def taken(name, method):
    """Whether a method takes a model; the reason is tested elsewhere."""
    return name != 'four_bar' or method not in (HamelEmbedding, VaccoMethod)


# The slider-crank is of the kind of the four-bar, and quicker.
QUICK = MODELS.keys() - {'four_bar', 'slider_crank'}
each = pytest.mark.parametrize(('name', 'method'), [
    pytest.param(name, method, marks=[] if name in QUICK or (
        name, method) == ('slider_crank', HamelEmbedding)
                 else [pytest.mark.slow])
    for name in MODELS for method in METHODS if taken(name, method)])


def close(one, other, size=1.):
    one, other = (np.asarray(x, dtype=float).reshape(-1) for x in (one, other))
    assert one.shape == other.shape
    scale = max(1., size, *np.abs(other)) if len(other) else 1.
    assert np.all(np.abs(one - other) < EXACT*scale)


@each
def test_matrices_and_equations(name, method):
    """``mass_matrix`` and ``forcing`` determine the motion, the full ones
    belong to ``rhs()``, and ``eom`` is inertia minus forces."""
    found, values = formed(name, method)
    z = motion(name, method)
    du = np.random.default_rng(4).uniform(.5, 1, len(found.u))
    at_random = {**values, **dict.fromkeys(found.lam_vec, 0),
                 **dict(zip(found.u.diff(ready.t), du))}
    M, F, full, right, rates, kinematic, a = ready.evaluate(
        [found.mass_matrix, found.forcing, found.mass_matrix_full,
         found.forcing_full, found.rhs(), list(found.kindiffdict().values()),
         found.acceleration], values)
    o, size = len(found.u), np.abs(F).max(initial=0)
    keeps = len(found.independent_rows) and (
        method is VaccoMethod or found._shape == 'lagrange'
        and method not in WITHOUT_MULTIPLIERS)
    m = len(found.lam_vec) if keeps else 0
    assert M.shape == (o, o + m) and F.shape == (o, 1)
    close(M@[*z.values()][:o + m], F, size)
    if not keeps:
        assert np.linalg.matrix_rank(M) == o
    assert full.shape == (len(right), len(right)) == (len(rates), len(rates))
    close(full@rates, right, np.abs(right).max())
    close(kinematic, rates[:len(found.q)])
    assert a.shape == (o, 1)
    close(a, [z[x.diff(ready.t)] for x in found.u], 10)
    eom, sympys = ready.evaluate([found.eom, found._form_eoms()], at_random)
    rows = len(eom)
    assert np.linalg.norm(M[:rows, :o]) > 1e-6
    close(eom, M[:rows, :o]@du - F[:rows, 0], 10)
    close(sympys, eom if found._shape == 'lagrange' else -eom, 10)


@each
def test_eom_vanishes_along_the_motion_only(name, method):
    found, values = formed(name, method)
    values = {**values, **motion(name, method)}
    if method is not VaccoMethod:       # SymPy's sign, opposite to theirs
        values |= {x: -values[x] for x in found.lam_vec if x in values}
    first = found.u[0].diff(ready.t)
    here, off = (ready.evaluate([found.eom], {
        **values, first: values[first] + step})[0] for step in (0, 1))
    size = 1 + max(map(abs, motion(name, method).values()))
    close(here, np.zeros(len(found.eom)), 10*size)
    others = [x.diff(ready.t) for x in found.u[1:]]
    assert np.abs(off).max() > 1e-6 or others


@each
def test_constraint_forces_and_multipliers(name, method):
    """``M*w' = Q + Q_c`` and ``Q_c = A^T*lam`` for the speeds ``w``."""
    found, values = formed(name, method)
    if method is HamelEmbedding:
        for member in ('multipliers', 'constraint_forces'):
            with pytest.raises(UnsupportedFeatureError, match='corrected'):
                getattr(found, member)
        return
    system = found.system
    M, Q, A, force = ready.evaluate(
        [system.M, system.Q, system.A, found.constraint_forces], values)
    assert force.shape == Q.shape == (len(system.u), 1)
    z = motion(name, method)
    if tuple(found.u) == system.u:
        w = [z[x.diff(ready.t)] for x in system.u]
    else:                               # true motion, in the parent's speeds
        reference = model(name).form(UdwadiaKalabaMethod)
        if {*reference.u} != {*system.u}:
            reference = RouthMethod.from_method(reference)
        rates = ready.evaluate([reference.acceleration], values)[0][:, 0]
        order = list(reference.u)
        w = [rates[order.index(x)] for x in system.u]
    close((M@w).reshape(-1, 1) - Q, force, 10 + np.abs(Q).max())
    if method is VaccoMethod:
        with pytest.raises(UnsupportedFeatureError, match='mu_vec'):
            found.multipliers
        return
    lam, = ready.evaluate([found.multipliers], values)
    assert lam.shape == (len(A), 1)
    close(A.T@lam, force, 10 + np.abs(Q).max())
    assert found.eom.shape[0] <= len(found.u)


@rotating('name, method', [
    'slider_crank', 'rolling_disc', 'cart_pendulum'], METHODS)
def test_a_system_forms_these_equations(name, method):
    given = model(name)
    system, kane = given.system, given.shape == 'kane'
    # System hands our class Kane's arguments, without any potential.
    options = {} if kane else {'potential_energy': 'include'}
    if kane:
        system.validate_system(method)
    equations = system.form_eoms(eom_method=method, **options)
    found = system.eom_method
    assert type(found) is method and equations == found._form_eoms()
    again = method.from_method(system, **options)
    direct = given.form(method) if kane else found
    for member in ('mass_matrix', 'forcing', 'mass_matrix_full',
                   'forcing_full'):
        wanted = getattr(found, member)
        assert getattr(system, member) == wanted
        assert equal(getattr(direct, member), wanted, (1,))
    assert equal(again.mass_matrix, found.mass_matrix, (1,))
    assert equal(again.forcing, found.forcing, (1,))
