"""A million fixed steps: what the schemes keep, and where they drift."""
import geometric_systems as systems
import numpy as np
import pytest

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.models import model
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)

pytestmark = pytest.mark.slow

MILLION = 1_000_000
OUTPUTS = 10_001


def long_run(system, integrator, step=None, steps=MILLION, **options):
    step = step or system.step
    return simulate(system.compiled, steps*step, system.start, step=step,
                    integrator=integrator, t_eval=OUTPUTS, **options)


def tenths(errors):
    """Largest absolute values in the first and in the last tenth."""
    count = len(errors)//10
    return np.abs(errors[:count]).max(), np.abs(errors[-count:]).max()


@pytest.mark.parametrize('name', ['contact_oscillator', 'quartic', 'suslov',
                                  'sleigh', 'gearbox', 'pendulum'])
def test_discrete_gradient_keeps_energy_and_constraints(name):
    motion = long_run(getattr(systems, name)(), 'discrete-gradient')
    assert np.abs(motion.energy_error).max() < 1e-12
    assert motion.largest_residual < 1e-12


def test_energy_of_the_contact_oscillator_is_bounded():
    """Explicit Runge-Kutta steps of this length soon diverge."""
    system = systems.contact_oscillator()
    motion = long_run(system, 'lagrange-dalembert')
    first, last = tenths(motion.energy_error)
    assert last < 1.1*first < 0.06 and motion.largest_residual < 1e-12
    rates, h, x = system.compiled.rhs, system.step, np.array(system.start)
    for _ in range(6000):
        k1 = rates(0, x)
        k2 = rates(0, x + h/2*k1)
        k3 = rates(0, x + h/2*k2)
        x = x + h/6*(k1 + 2*k2 + 2*k3 + rates(0, x + h*k3))
    assert abs(system.compiled.energy(0, x) - motion.energy[0]) > 0.15


def driver_energy(motion, asymmetry):
    z, rate = motion[systems.z], motion[systems.vz]
    return rate**2/2 - np.cos(z) - asymmetry*np.sin(2*z)/2


def test_no_scheme_is_good_without_reversibility():
    """Modin and Verdier (2020): both parts of the energy are integrals.

    With a symmetric pendulum no scheme lets them drift, else all do; the
    discrete gradient then exchanges them.
    """
    for asymmetry in 0., 0.5:
        system = systems.transmission(asymmetry)
        for integrator in 'lagrange-dalembert', 'discrete-gradient':
            motion = long_run(system, integrator, steps=100_000)
            parts = motion.energy - driver_energy(motion, asymmetry)
            drift = abs(parts[-1000:].mean()/parts[:100].mean() - 1)
            assert drift > 0.5 if asymmetry else drift < 1e-3


def test_rattle_keeps_energy_and_momentum():
    motion = long_run(systems.pendulum(), 'rattle')
    first, last = tenths(motion.energy_error)
    assert last < 1.01*first < 0.005 and motion.largest_residual < 1e-12
    motion = long_run(systems.kepler(), 'rattle')
    first, last = tenths(motion.energy_error)
    assert last < 1.01*first < 0.002
    x, y, vx, vy = motion.x.T
    assert np.ptp(x*vy - y*vx) < 1e-11


@pytest.mark.parametrize('integrator', ['rattle', 'discrete-gradient'])
def test_redundant_linkage_in_a_long_run(integrator):
    """Through 1000 flat poses, where multipliers are large, and on to angles
    of 3000 rad, whose rounding times the speeds is left in the rows.
    """
    linkage = model('n_four_bar')
    compiled = compile_equations(
        linkage.form(UdwadiaKalabaMethod), linkage.parameters)
    start = consistent_state(compiled, linkage.start)
    motion = simulate(compiled, 1000, start, integrator=integrator,
                      step=0.01)
    angles, speeds = np.abs(motion.x).reshape(len(motion), 2, -1).max(
        axis=(0, 2))
    rounding = np.spacing(angles)*speeds
    assert motion.success and motion.largest_residual < 1e-12 + rounding
    assert motion.condition.min() < 1e-9
    assert np.abs(motion.energy_error).max() < 1e-7
