"""Simulations to the end against published digits.

Andrews' squeezing mechanism and the car axis from the test set for initial
value problems, and two four-bar linkages of the IFToMM library
of multibody benchmarks, which folds flat ten times.
"""
import numpy as np
import pytest
from mechanisms import exact_knee
from sympy import Rational, sin, sqrt
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import LinearMappingMethod, UdwadiaKalabaMethod
from sympy_constrained.models import model
from sympy_constrained.numeric import compile_equations, simulate

# -- Andrews' squeezing mechanism --------------------------------------------

# Coordinates, speeds and multipliers at 0.03 s, as published: F. Mazzia and
# C. Magherini, Test Set for Initial Value Problem Solvers, release 2.4,
# Department of Mathematics, University of Bari, 2008, problem Andrews; by
# PSIDE with tolerances of 1e-14. The problem is that of E. Hairer and
# G. Wanner, Solving Ordinary Differential Equations II, section VII.7.
Q = np.array([
    0.1581077119629904e2, -0.1575637105984298e2, 0.4082224013073101e-1,
    -0.5347301163226948, 0.5244099658805304, 0.5347301163226948,
    0.1048080741042263e1])
U = np.array([
    0.1139920302151208e4, -0.1424379294994111e4, 0.1103291221937134e2,
    0.1929337464421385e2, 0.5735699284790808, -0.1929337464421385e2,
    0.3231791658026955])
# There ``M*u' + G^T*lambda = f``.
LAM = -np.array([
    0.1991753333731910e3, -0.2975531228015052e2, 0.2306654119098399e2,
    0.3145271365475927e2, 0.2264249232082739e2, 0.1161740700019673e2])


@pytest.fixture(scope='module')
def squeezer():
    given = model('andrews_squeezer')
    return given, compile_equations(given.form(UdwadiaKalabaMethod),
                                    given.parameters)


def squeezed(squeezer, tolerance, method='DOP853'):
    given, equations = squeezer
    return simulate(equations, given.t_end, given.start, rtol=tolerance,
                    atol=tolerance, method=method, t_eval=2)


def digits(values, published):
    """Correct digits of the worst entry."""
    return -np.log10(np.abs(values/published - 1).max())


@pytest.mark.parametrize('method, tolerances', [
    ('DOP853', {1e-5: 4.5, 1e-6: 5.5, 1e-7: 6.8, 1e-8: 8.0, 1e-10: 9.3}),
    ('RK45', {1e-5: 4.5, 1e-6: 5.5, 1e-7: 6.5, 1e-8: 7.5, 1e-10: 9.3}),
    ('Rodas5P', {1e-5: 4.5, 1e-6: 5.5, 1e-7: 6.5, 1e-8: 7.5, 1e-10: 9.3}),
    ('Radau', {1e-5: 6.5, 1e-6: 7.5, 1e-7: 8.8})])
def test_the_squeezer_converges_to_the_published_digits(squeezer, method,
                                                        tolerances):
    for tolerance, least in tolerances.items():
        motion = squeezed(squeezer, tolerance, method)
        found = digits(motion.x[-1, :7], Q)
        print(f'{method} at {tolerance:.0e}: {found:.1f} digits')
        assert found > least
        assert motion.largest_residual < 1e-11


def test_speeds_and_multipliers_of_the_squeezer(squeezer):
    motion = squeezed(squeezer, 1e-10)
    assert digits(motion.x[-1, 7:], U) > 7
    assert digits(motion.multipliers[-1], LAM) > 5.5


# -- the car axis --------------------------------------------------------

# Coordinates at 3 s, as published: test set as above, problem Car Axis.
AXIS = [0.493455784275402809122e-1, 0.496989460230171153861,
        0.104174252488542151681e1, 0.373911027265361256927]


def car_axis(method, **options):
    """A bar on springs, which stand on a wheel at rest and one on a road."""
    xl, yl, xr, yr = q = dynamicsymbols('x_l y_l x_r y_r')
    t = dynamicsymbols._t
    road = sin(10*t)/10
    along = sqrt(1 - road**2)
    m = Rational(1, 2000)               # epsilon^2 M/2
    stretched = [sqrt(xl**2 + yl**2) - Rational(1, 2),
                 sqrt((xr - along)**2 + (yr - road)**2) - Rational(1, 2)]
    return method(
        m*sum(c.diff(t)**2 for c in q)/2 - m*(yl + yr)
        - sum(length**2 for length in stretched)/2, q, hol_coneqs=[
            xl*along + yl*road, (xl - xr)**2 + (yl - yr)**2 - 1], **options)


def test_the_car_axis():
    motion = simulate(car_axis(UdwadiaKalabaMethod), 3,
                      [0, 0.5, 1, 0.5, -0.5, 0, -0.5, 0], rtol=1e-10,
                      atol=1e-12, t_eval=2)
    assert motion.x[-1, :4] == pytest.approx(AXIS, abs=1e-8)


def test_the_car_axis_in_quasi_velocities():
    """The vertical velocities are free at the published start; others do not
    determine the motion there, and the error says what to do."""
    start = [0, 0.5, 1, 0.5, 0, 0]
    with pytest.raises(ArithmeticError, match='`q_dependent`'):
        simulate(car_axis(LinearMappingMethod), 3, start)
    x_l, _, x_r, _ = dynamicsymbols('x_l y_l x_r y_r')
    motion = simulate(
        car_axis(LinearMappingMethod, q_dependent=[x_l, x_r]), 3, start,
        rtol=1e-10, atol=1e-12, t_eval=2)
    assert motion.x[-1, :4] == pytest.approx(AXIS, abs=1e-8)


# -- the mechanism of two four-bar linkages ----------------------------------

# Place of the first knee and its velocity at 10 s in simulations with two
# steps, as printed in the documentation of J. Gerstmayr, Exudyn, test model
# fourBarMechanismIftomm.
PRINTED = {
    2.5e-4: (0.3284552113, 0.9445195467, 1.423045728, -0.4948619021),
    1.25e-4: (0.3284573768, 0.9445187937, 1.423050003, -0.4948670827)}


def knee(motion):
    """Place and velocity of the end of the first crank, of length one."""
    q, u = motion['q1'][-1], motion['u1'][-1]
    return np.array([np.cos(q), np.sin(q), -np.sin(q)*u, np.cos(q)*u])


def test_the_iftomm_benchmark():
    given = model('n_four_bar', n=2)
    motion = simulate(given.form(UdwadiaKalabaMethod), given.t_end,
                      given.start, constants=given.parameters, rtol=1e-9,
                      atol=1e-9, t_eval=2)
    coarse, fine = map(np.array, PRINTED.values())
    found = knee(motion)
    assert found == pytest.approx(fine, abs=5e-6)
    # The error of the published method goes with the square of the step.
    extrapolated = fine + (fine - coarse)/3
    assert found == pytest.approx(extrapolated, abs=5e-7)
    assert exact_knee(2, given.t_end) == pytest.approx(extrapolated, abs=6e-8)
