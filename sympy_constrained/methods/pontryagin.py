"""Vakonomic motion in coordinates and momenta: Pontryagin's form."""
from ..errors import (
    MissingIngredientError, UnsupportedFeatureError, check_kind)
from ..graph import (
    GraphMatrix, derivative, gradient, jacobian, substitute,
    time_derivative, without)
from ..model.equations import EquationsOfMotion
from .references import flat, frozen, inputs, units
from .symbols import fresh_symbols
from .vacco import VaccoMethod


def hamiltonian_equations(method):
    r"""Return vakonomic motion in coordinates and momenta.

    With :math:`p = \partial L'/\partial\dot q` the velocities and
    multipliers follow from :math:`p` and :math:`g = 0`, and
    :math:`H(q, p, t) = p\cdot\dot q - L` gives
    :math:`\dot q = H_p`, :math:`\dot p = -H_q + Q`. Nothing of (V) is
    used: this is an independent check, and the form of Pontryagin.

    Parameters
    ==========

    method : VaccoMethod

    Returns
    =======

    EquationsOfMotion
        The states are ``q`` and the momenta. The outputs ``velocities``
        (n, 1) and ``mu`` (m, 1) of its graph are functions of them.

    Raises
    ======

    UnsupportedFeatureError
        If the Lagrangian is not quadratic or the constraints are not
        linear in the velocities, so that there is no explicit ``H``.
    """
    check_kind('method', method, VaccoMethod,
               "Give a VaccoMethod of the model.")
    method._check_rows()
    system = method.system
    n = len(system.q)
    g, out = system.graph.load(None, (
        'lagrangian', 'applied', 'velocity', 'A'))
    q, u = inputs(g, system.q), inputs(g, system.u)
    symbols = tuple(fresh_symbols(system, 'p', n))
    p = inputs(g, symbols)
    lagrangian = out['lagrangian'][0][0]
    momenta = gradient(g, lagrangian, u)
    M = [without(g, row, u) for row in jacobian(g, momenta, u)]
    A = [without(g, row, u) for row in out['A']]
    if any(None in row for row in (*M, *A)):
        raise UnsupportedFeatureError(
            "The Lagrangian is not quadratic, or a constraint not "
            "linear, in the velocities, so they cannot be expressed by "
            "momenta. Use `equations_of_motion`.")
    at_rest = dict.fromkeys(u, 0)
    rows = flat(out['velocity'])
    x, mu = method._block_solve(
        g, M, M, A, [g.sub(x, y) for x, y in zip(
            p, substitute(g, momenta, at_rest))],
        [-x for x in substitute(g, rows, at_rest)])
    if x is None:
        raise MissingIngredientError(
            "Momenta and constraints do not determine the velocities: "
            "the problem is abnormal or a direction has no inertia.")
    star = dict(zip(u, x))
    g.avoid(u)
    lagrangian, *force = substitute(
        g, [lagrangian, *flat(out['applied'])], star)
    H = g.sub(g.dot(p, x), lagrangian)
    slopes = gradient(g, H, p + q)
    rates = [g.sub(y, z) for y, z in zip(force, slopes[n:])]
    explicit = time_derivative(g, dict.fromkeys((*p, *q), 0))(H)
    identity, empty = GraphMatrix(g, units(n), n), GraphMatrix(g, [], n)
    graph = frozen(
        g, W=identity, M=identity, rates=slopes[:n], r=rates, Q=rates,
        energy=[H], power=[g.add(explicit, g.dot(slopes[:n], force))],
        velocities=x, mu=mu, holonomic=[], velocity=[], A=empty, b=[],
        holonomic_jacobian=empty, velocity_jacobian=empty)
    return EquationsOfMotion(
        graph, system.q, symbols, system.q + symbols,
        tuple(derivative(x, system.t) for x in symbols), (), ())
