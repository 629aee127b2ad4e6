"""Random mechanisms in random writings; see ``tests/fuzz``.

``make fuzz N=20000`` is the campaign. These tests are a part of it, the law
"rewriting", and checks that faults are found.
"""
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from mpmath import mp

from fuzz import newton
from fuzz.check import (
    UdwadiaKalabaMethod, drawn, examine, rewriting)
from fuzz.mechanism import JOINTS, Body, Load, Mechanism, Row
from fuzz.model import SympyModel
from fuzz.writing import ALTERNATIVES, CYCLES, PLAIN, Writing, counts, writing
from kkt import Reference, close
from sympy_constrained import LinearMappingMethod
from sympy_constrained.model import kinetics

QUICK, MANY = 3, 400
seeds = pytest.mark.parametrize('seed', [pytest.param(
    seed, marks=[] if seed < QUICK else pytest.mark.slow)
    for seed in range(MANY)])


@seeds
def test_every_method(seed):
    found, how = drawn(seed)
    finding = examine(found, how, every=seed >= QUICK)
    assert not finding.failures, (found, how)


@pytest.mark.parametrize('seed', [
    9952, 16200,        # undetermined where a quaternion has norm one only
    15898,              # a rounding residue is the only inertia about an axis
    16824,              # a position row is shared with one of velocities
    # a residue beside no inertia determined a scale factor
    pytest.param(20054, marks=pytest.mark.slow),
    79, 209,            # Lagrange's equations of a unit quaternion
    22575,              # rows that unit quaternions make redundant
    # a drive of a component of a unit quaternion
    pytest.param(27570, marks=pytest.mark.slow),
    101341,             # a row of constants, written with sines that cancel
    140508,             # a torque on a body whose central inertia cancels
    161623,             # a number that speeds which cancel had before
    360192])            # power of an inertia in axes that turn in the body
def test_what_a_campaign_found(seed):
    found, how = drawn(seed)
    finding = examine(found, how, every=False)
    assert not finding.failures, (found, how)


@seeds
def test_rewriting(seed):
    """One mechanism written in several ways gives one answer."""
    found, how = drawn(seed)
    random = Random(f'rewriting {seed}')
    assert not rewriting(found, [PLAIN, how, writing(random, found)]), found


def test_what_is_drawn():
    """All joints, loads and rows occur, and most cases have a motion."""
    cases, ways = zip(*map(drawn, range(250)))
    joints = {body.joint for case in cases for body in case.bodies}
    rows = {row.kind for case in cases for row in case.rows}
    loads = {load.kind for case in cases for load in case.loads}
    assert joints == set(JOINTS)
    assert rows == {
        'coincide', 'distance', 'gear', 'drive', 'knife', 'slide', 'speed',
        'roll', 'disc', 'rate', 'norm', 'copy', 'contradiction'}
    assert loads == {'constant', 'spring', 'damper', 'time'}
    kinds = []
    with mp.workdps(newton.DIGITS):
        for case in cases[:80]:
            try:
                newton.solution(newton.admissible(case))
                kinds.append('motion')
            except (newton.NoState, newton.Inconsistent,
                    newton.Undetermined) as reason:
                kinds.append(type(reason).__name__)
    assert kinds.count('motion') > 50
    assert {'Inconsistent', 'Undetermined'} < set(kinds)
    for name, counter in counts(ways).items():
        usual = getattr(PLAIN, name)
        assert set(counter) == {*ALTERNATIVES[name], *(
            usual if name in CYCLES else [usual])}
        assert min(counter.values()) > 5, name


# Joints, rows and loads of several kinds.
CASES = {
    'tree': Mechanism(
        (Body(-1, 'pin', centre=(1, 0, Fraction(1, 2)), mass=Fraction(2),
              inertia=(3, 4, 5, 0, 0, 0)),
         Body(0, 'cylinder', place=(1, 1, 0), turn=(2, 1, 0, 1),
              centre=(0, 1, 1), mass=Fraction(1, 2),
              inertia=(3, 4, 5, Fraction(1, 3), 0, Fraction(-1, 4)))),
        loads=(Load(1, 'spring', (0, 1, 0), Fraction(2), place=(1, 0, 1),
                    follows=True, index=2),
               Load(0, 'damper', (1, 2, -2), Fraction(1), torque=True,
                    index=1)),
        rows=(Row('distance', 1, 0, (0, 1, 0), (0, 0, 1)),
              Row('knife', 1, place=(1, 1, 0), vector=(0, 1, 0))),
        shaking=Fraction(1, 2), mixing=((0, 1, 1), (2, 0, -1)), state=3),
    'disc': Mechanism(
        (Body(-1, 'ball', centre=(1, 0, 0), inertia=(3, 4, 5, 0, 0, 0)),),
        rows=(Row('disc', 0, vector=(1, 0, 0)),), state=5),
    'quaternion': Mechanism(
        (Body(-1, 'quaternion', centre=(1, 0, 0),
              inertia=(3, 4, 5, 0, 0, 0)),),
        rows=(Row('coincide', 0, -1, (1, 0, 0), vector=(1, 2, -2)),),
        state=7),
    'own speeds': Mechanism(
        (Body(-1, 'ball body', place=(0, 1, 0), centre=(0, 1, 1),
              inertia=(3, 4, 5, 0, 0, 0)),),
        rows=(Row('roll', 0, vector=(0, 0, 1)),
              Row('rate', i=0, j=1)), state=5)}


@pytest.mark.parametrize('name', [
    'disc', *(pytest.param(name, marks=pytest.mark.slow)
              for name in ('tree', 'quaternion', 'own speeds'))])
def test_the_reference_is_that_of_sympy(name):
    """Newton and Euler in numbers against derivatives of SymPy vectors."""
    found = CASES[name]
    model = SympyModel(found)
    with mp.workdps(newton.DIGITS):
        state = newton.admissible(found)
        hol, vel = model.split
        reference = Reference.bodies(
            model.frame, model.bodies, model.loads, model.q, model.u,
            model.kd_eqs, hol, vel)
        M, F, A, b = reference.matrices(model.values(state))
        mine, force = state.equations()
        rows = state.rows()
        assert close(mine, M, 1e-40)
        assert close(force, F, 1e-40)
        assert close([row[2] for row in rows], A, 1e-40)
        assert close([row[3] for row in rows], b, 1e-40)
        assert all(abs(row[1]) < 1e-40 for row in rows)


# -- what is wrong is seen ------------------------------------------------

def test_a_wrong_model_is_seen(monkeypatch):
    """A load of the wrong sign in the model of one case."""
    found = replace(CASES['tree'], rows=())
    assert not examine(found).failures

    def load(self, k, load):
        return [(where, -vector) for where, vector in right(self, k, load)]

    right = SympyModel.load
    monkeypatch.setattr(SympyModel, 'load', load)
    failures = examine(found).failures
    assert any('Q differs' in text for text in failures)


def test_wrong_axes_are_seen_in_writings_only(monkeypatch):
    """The inertia of the second body is taken in the axes of the first."""
    def from_bodies(kinematics, bodies, *args, **options):
        first.clear()
        return right_bodies(kinematics, bodies, *args, **options)

    def measure_dyadic(kinematics, dyadic, axes):
        return right(kinematics, dyadic, first.setdefault('axes', axes))

    first, right, right_bodies = {}, (
        kinetics.measure_dyadic), kinetics.from_bodies
    found = Mechanism(
        tuple(Body(k - 1, 'pin', inertia=(3, 4, 5, 0, 0, 0))
              for k in range(2)), state=1)
    turned = Writing(inertia_axes=('body', 'turned'))
    assert not rewriting(found, [PLAIN, turned])
    monkeypatch.setattr(
        'sympy_constrained.model.unconstrained.from_bodies', from_bodies)
    monkeypatch.setattr(kinetics, 'measure_dyadic', measure_dyadic)
    assert rewriting(found, [PLAIN, turned])


def test_a_sample_may_name_symbols_of_rows_that_are_dropped():
    """A velocity row that repeats a holonomic one is dropped."""
    found = Mechanism((Body(-1, 'planar', inertia=(3, 4, 5, 0, 0, 0)),),
                      rows=(Row('gear', i=0, j=1),), state=1)
    model = SympyModel(found)
    k = model.symbol('k', Fraction(3))
    x, y = model.u[:2]
    with mp.workdps(newton.DIGITS):
        values = model.values(newton.admissible(found))
    sample = {s: values[s] for s in (*model.q, *model.u, k)}
    formed = model.form(LinearMappingMethod, sample=sample,
                        velocity_constraints=[x + y, k*(x + y)])
    assert k not in formed.system.graph.inputs
    assert formed.equations_of_motion


def test_models_without_a_motion_are_refused():
    massless = Mechanism((Body(-1, 'slider', mass=Fraction(0)),))
    assert examine(massless).kind == 'undetermined'
    assert not examine(massless).failures
    row = Row('distance', 0, -1, (1, 0, 0), (0, 2, 1))
    pinned = Mechanism((Body(-1, 'universal', inertia=(3, 4, 5, 0, 0, 0)),),
                       rows=(row, Row('contradiction', of=((0, 2),))))
    finding = examine(pinned)
    assert finding.kind == 'inconsistent' and not finding.failures
    assert finding.verdicts == {UdwadiaKalabaMethod.__name__: 'refuses'}
