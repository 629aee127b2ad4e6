"""Models of symbrim through ``System.form_eoms``."""
import numpy as np
import pytest
from sympy import Rational, symbols
from sympy.physics.mechanics import KanesMethod

from kkt import Reference
from sympy_constrained import (
    GibbsAppellMethod, LinearMappingMethod, RouthMethod, UdwadiaKalabaMethod)
from sympy_constrained.errors import UnsupportedFeatureError
from sympy_constrained.numeric import compile_equations, consistent_state

pytest.importorskip('symbrim')
from symbrim import bicycle                                 # noqa: E402
from symbrim.other.rolling_disc import RollingDisc           # noqa: E402

CLASSES = UdwadiaKalabaMethod, GibbsAppellMethod, LinearMappingMethod
WHEELS = bicycle.KnifeEdgeWheel, bicycle.ToroidalWheel
pytestmark = pytest.mark.filterwarnings('ignore')


def with_gravity(model):
    model.define_all()
    system = model.to_system()
    system.apply_uniform_gravity(-symbols('g')*system.frame.z)
    return system


def disc(wheel):
    model = RollingDisc('disc')
    model.wheel = wheel('wheel')
    model.ground = bicycle.FlatGround('ground')
    model.tire = bicycle.NonHolonomicTire('tire')
    return with_gravity(model)


def whipple(method):
    model = bicycle.WhippleBicycle('bike')
    model.front_frame = bicycle.RigidFrontFrame('front')
    model.rear_frame = bicycle.RigidRearFrame('rear')
    model.front_wheel = bicycle.KnifeEdgeWheel('fw')
    model.rear_wheel = bicycle.KnifeEdgeWheel('rw')
    model.front_tire = bicycle.NonHolonomicTire('ft')
    model.rear_tire = bicycle.NonHolonomicTire('rt')
    model.ground = bicycle.FlatGround('ground')
    system = with_gravity(model)
    system.form_eoms(eom_method=method)
    return system.eom_method


def state(method, free, rng):
    """Random numbers for all symbols; the speeds ``free`` are solved for."""
    values = {c: Rational(rng.randint(500, 1500), 1000)
              for c in method.equations_of_motion.constants}
    values |= {s: Rational(rng.randint(-800, 800), 1000)
               for s in (*method.q, *method.u) if s not in free}
    rows = method.velocity_constraints.subs(values)
    right = -rows.subs(dict.fromkeys(free, 0))
    return values | dict(zip(free, rows.jacobian(free).LUsolve(right)))


def speed_rates(method, values):
    """Accelerations of a method at a state, by speed."""
    compiled = compile_equations(
        method, {c: values[c]
                 for c in method.equations_of_motion.constants},
        backend='numpy')
    rates = compiled.rhs(0, [float(values[s]) for s in compiled.states])
    return dict(zip(compiled.states[-compiled.motion:],
                    rates[-compiled.motion:]))


def same(found, wanted):
    assert set(found) <= set(wanted)
    for s, a in found.items():
        assert a == pytest.approx(wanted[s], rel=1e-10, abs=1e-10)


@pytest.mark.parametrize('wheel', [
    pytest.param(WHEELS[0], marks=pytest.mark.slow), WHEELS[1]])
def test_rolling_disc_has_the_accelerations_of_kane(wheel, rng):
    """KanesMethod needs the dependent speeds, the others do not."""
    theirs = disc(wheel)
    u = list(theirs.u)
    theirs.u_ind, theirs.u_dep = u[2:], u[:2]
    theirs.form_eoms(constraint_solver='CRAMER')
    kane = theirs.eom_method
    assert isinstance(kane, KanesMethod)
    ours = disc(wheel)
    ours.form_eoms(eom_method=UdwadiaKalabaMethod)
    values = state(ours.eom_method, u[:2], rng)
    M, F = (m.evalf(50, subs=values) for m in (kane.mass_matrix, kane.forcing))
    wanted = dict(zip(kane.u, np.array(M.LUsolve(F), dtype=float).ravel()))
    for cls in CLASSES:
        ours = disc(wheel)
        if cls is LinearMappingMethod:
            ours.u_ind, ours.u_dep = u[2:], u[:2]
        ours.form_eoms(eom_method=cls)
        found = speed_rates(ours.eom_method, values)
        assert len(found) == (3 if cls is LinearMappingMethod else 5)
        same(found, wanted)


def test_rolling_put_in_by_hand_has_no_lagrangian():
    """symbrim sets the velocity of the rolling wheel; the error says so."""
    with pytest.raises(UnsupportedFeatureError, match='rolling put in by'):
        ours = disc(bicycle.KnifeEdgeWheel)
        ours.form_eoms(eom_method=RouthMethod)
        ours.eom_method.equations_of_motion


@pytest.mark.slow
def test_bicycle_rolls():
    """One of its rows is redundant: both wheels stay on the ground."""
    method = whipple(UdwadiaKalabaMethod)
    assert len(method.velocity_constraints) == 6
    assert len(method.independent_rows) == 5
    other = whipple(GibbsAppellMethod)
    compiled = compile_equations(method, numbers(method))
    start = consistent_state(
        compiled, {s: .3 if s in method.q else .5 for s in compiled.states})
    assert compiled.residuals(0, start) == pytest.approx(0, abs=1e-10)
    again = compile_equations(other, numbers(other))
    np.testing.assert_allclose(
        again.rhs(0, start), compiled.rhs(0, start), rtol=1e-8, atol=1e-8)


def numbers(method):
    """Constants between 1 and 2, in a fixed order of their names."""
    ordered = sorted(method.equations_of_motion.constants, key=str)
    return {c: 1 + k/len(ordered) for k, c in enumerate(ordered)}


@pytest.mark.slow
def test_bicycle_has_the_accelerations_of_fifty_digits():
    method = whipple(UdwadiaKalabaMethod)
    _, a = method._call
    reference = Reference.bodies(
        a['frame'], a['bodies'], a['forcelist'], method.q, method.u,
        a['kd_eqs'], a['configuration_constraints'],
        a['velocity_constraints'])
    values = reference.admissible(numbers(method), 3, scale=Rational(1, 3))
    wanted = dict(zip(reference.u, map(
        float, reference.solve(values).acceleration)))
    same(speed_rates(method, values), wanted)
