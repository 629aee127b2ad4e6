"""What a trajectory knows between, beside and after its outputs."""
import csv
import os
import pickle
import random
import stat
import sys
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from sympy import Symbol, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from exports import ready
from mechanisms import g, l, m, particle, t, x, y
from sympy_constrained.models import model
from sympy_constrained.numeric import Reason, Trajectory, simulate
from sympy_constrained.numeric.trajectory import ARRAYS, OPTIONAL


@pytest.fixture(scope='module')
def exact(pendulum):
    times = np.linspace(0.0213, 1.9317, 97)
    return times, simulate(pendulum.compiled, 2, pendulum.start, rtol=1e-12,
                           atol=1e-14, t_eval=times).x


# -- between the outputs ---------------------------------------------------

@pytest.mark.parametrize('method, error', [
    ('DOP853', 1e-7), ('RK45', 1e-6), ('RK23', 1e-3), ('Radau', 1e-4),
    ('Rodas5P', 1e-6), ('BDF', 1e-4), ('LSODA', 1e-4)])
def test_dense_output_is_as_good_as_the_steps(pendulum, exact, method, error):
    stabilization = None if method in ('BDF', 'LSODA') else 'projection'
    motion = simulate(pendulum.compiled, 2, pendulum.start, dense=True,
                      method=method, rtol=1e-8, atol=1e-10, t_eval=2,
                      stabilization=stabilization, max_step=(
                          0.02 if method in ('RK23', 'Radau') else np.inf))
    times, expected = exact
    np.testing.assert_allclose(motion.at(times), expected, atol=error)
    np.testing.assert_array_equal(motion.at(times[3]), motion.at(times)[3])
    np.testing.assert_allclose(motion.at(motion.t), motion.x, atol=1e-12)


def test_dense_output_is_continuous_where_states_are_projected(pendulum):
    motion = simulate(pendulum.compiled, 5, pendulum.start, dense=True,
                      rtol=1e-5, atol=1e-7)
    inner = motion.t[1:-1]
    assert motion.at([]).shape == (0, 4)
    before, after = motion.at(inner*(1 - 1e-14)), motion.at(inner*(1 + 1e-14))
    np.testing.assert_allclose([before, after], [motion.x[1:-1]]*2, atol=1e-11)


def test_cubics_are_of_fourth_order(pendulum, exact):
    times, expected = exact
    errors = [np.abs(simulate(
        pendulum.compiled, 2, pendulum.start, rtol=1e-11, atol=1e-13,
        t_eval=count).at(times) - expected).max() for count in (41, 81)]
    assert 12 < errors[0]/errors[1] < 20


@pytest.mark.parametrize('size', [1, 0.8])
def test_backward_runs_and_jumps_have_values_between(pendulum, size):
    def wall(t, x):
        return x[0] - 0.3

    wall.jump = size != 1 and (lambda t, x: x*[1, 1, size, size])
    back, rough = (simulate(
        pendulum.compiled, (2, 0), pendulum.start, t_eval=201, events=wall,
        dense=dense) for dense in (True, False))
    jump = back.events[0].t
    times = [1.9, 0.05, 1.005, jump - 1e-4, jump + 1e-4]
    np.testing.assert_allclose(back.at(times), rough.at(times), atol=1e-5)
    np.testing.assert_allclose(back.at(back.t), back.x, atol=1e-12)


def test_no_value_is_beyond_the_ends(pendulum):
    motion = simulate(pendulum.compiled, 1, pendulum.start, t_eval=3)
    for times in (1.1, [0.5, -1e-9], np.nan):
        with pytest.raises(ValueError, match='reaches from 0 to 1.*simulate'):
            motion.at(times)


# -- power -----------------------------------------------------------------

@pytest.mark.parametrize('name', [
    'closed_chain', 'damped_double_pendulum', 'driven_pendulum',
    'rolling_disc', 'constant_speed_particle'])
def test_power_is_the_rate_of_energy(name):
    _, compiled, start = ready(name)
    motion = simulate(compiled, model(name).t_end, start, t_eval=30)
    if motion.power is None:
        assert motion.power_error is None
        return
    size = np.abs(motion.energy_rate).max() + np.abs(motion.power).max()
    assert np.abs(motion.power_error).max() < 1e-8*max(size, 1)


def test_power_is_balanced_where_energy_has_drifted(pendulum):
    """The balance of power is about the equations, not the integrator."""
    motion = simulate(pendulum.compiled, 20, pendulum.start, rtol=1e-3,
                      atol=1e-5, stabilization=None)
    assert np.abs(motion.energy_error).max() > 1e-3
    assert np.abs(motion.power_error).max() < 1e-7


def test_power_of_moving_constraints_is_told():
    w = symbols('w')
    motion = simulate(
        particle([x - sin(w*t)]), 2, [0, 0, 3, 0], t_eval=11,
        constants={m: 2, g: 0, w: 3})
    for power in motion.constraint_power, motion.energy_rate:
        np.testing.assert_allclose(power, -27*np.sin(6*motion.t), atol=1e-6)


# -- files -----------------------------------------------------------------

@pytest.fixture
def motion(pendulum):
    return simulate(pendulum.compiled, 3, pendulum.start, t_eval=21,
                    events=lambda t, x: x[1] + 1,
                    units={x: 'm', "x'": 'm/s', 't': 's'})


def test_a_file_brings_everything_back(motion, tmp_path):
    motion.save(tmp_path/'run.npz')
    again = Trajectory.load(tmp_path/'run.npz')
    for name in (*ARRAYS, *OPTIONAL, 'energy_error', 'constraint_power'):
        np.testing.assert_array_equal(getattr(again, name),
                                      getattr(motion, name))
    assert again.states == ('x', 'y', "x'", "y'")
    assert again.constants == {'m': 1.5, 'g': 9.81, 'l': 2}
    assert again.reason is Reason.END and again.message == motion.message
    for event, other in zip(again.events, motion.events, strict=True):
        assert (event.index, event.t) == (other.index, other.t)
        np.testing.assert_array_equal(event.x, other.x)
    assert again.statistics == motion.statistics
    assert again.units == {'x': 'm', "x'": 'm/s', 't': 's'}
    np.testing.assert_array_equal(again.at([0.1, 1.7]), motion.at([0.1, 1.7]))
    assert repr(again) == repr(motion)


def test_symbols_of_the_name_find_their_history(motion, tmp_path):
    motion.save(tmp_path/'run.npz')
    again = Trajectory.load(tmp_path/'run.npz')
    for key in (x, 'x', Symbol('x'), dynamicsymbols('x')):
        np.testing.assert_array_equal(again[key], motion[x])
    np.testing.assert_array_equal(again[x.diff()], motion[x.diff()])
    np.testing.assert_array_equal(again['lam1'], motion['lam1'])
    np.testing.assert_array_equal(again['t'], motion.t)
    with pytest.raises(KeyError, match="'z' is no state or multiplier"):
        again[Symbol('z')]


def test_names_that_are_not_unique_are_not_confused(motion, tmp_path):
    """Two coordinates x and two constants m, told apart by assumptions."""
    other = dynamicsymbols('x', real=True)
    motion = replace(motion, states=(x, other, *motion.states[2:]),
                     constants={m: 1, Symbol('m'): 3, g: 9.81, l: 2})
    motion.save(tmp_path/'run.npz')
    again = Trajectory.load(tmp_path/'run.npz')
    for key in ('x', x, other):
        with pytest.raises(KeyError, match="'x' names 2 objects"):
            again[key]
    np.testing.assert_array_equal(again.x, motion.x)
    assert sorted(again.constants.values()) == [1, 2, 3, 9.81]
    assert len(again.to_table()) == len(motion.to_table())


def test_an_empty_or_failed_run_can_be_kept(pendulum, tmp_path):
    early = simulate(pendulum.compiled, 9, pendulum.start, throw=False,
                     events=lambda t, x: 1/0)
    assert len(early) == 0
    early.save(tmp_path/'early.npz')
    again = Trajectory.load(tmp_path/'early.npz')
    assert again.reason is Reason.ERROR and again.x.shape == (0, 4)
    with pytest.raises(ValueError, match='it is empty, no time'):
        again.at(0)


def test_a_failed_write_leaves_the_old_file(motion, tmp_path, monkeypatch):
    path = tmp_path/'run.npz'
    motion.save(path)
    before = path.read_bytes()

    def full(file, **arrays):
        file.write(b'half')
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(np, 'savez_compressed', full)
    with pytest.raises(OSError, match='No space left'):
        motion.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ['run.npz']


@pytest.mark.parametrize('mode', [None, 0o600, 0o444])
def test_a_file_keeps_its_permissions(motion, tmp_path, monkeypatch, mode):
    """Also while it is written, under its temporary name."""
    path = tmp_path/'run.npz'
    path.touch()
    if mode is None:                    # a new file is like others
        mode = stat.S_IMODE(path.stat().st_mode)
        path.rename(tmp_path/'other')
    else:
        path.chmod(mode)
    save, seen = np.savez_compressed, []

    def watched(file, **arrays):
        seen.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode))
        save(file, **arrays)

    monkeypatch.setattr(np, 'savez_compressed', watched)
    motion.save(path)
    assert seen == [stat.S_IMODE(path.stat().st_mode)] == [mode]


def test_a_link_stays_a_link(motion, tmp_path):
    link, file = tmp_path/'run.npz', tmp_path/'first.npz'
    link.symlink_to(file)
    motion.save(link)
    assert link.is_symlink() and len(Trajectory.load(file)) == len(motion)


@pytest.mark.parametrize('content', [
    b'', b'nonsense', b'PK\x03\x04', b't,x', np.zeros(3), '[1, 2]',
    '{"format": "other 1"}', '['*100000, np.array([{}], dtype=object)])
def test_files_that_are_no_trajectories(content, tmp_path):
    path = tmp_path/'other.npz'
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.savez(path, about=content)
    with pytest.raises(ValueError, match=(
            'is no trajectory, or it is damaged.*ending .npz can be loaded')):
        Trajectory.load(path)


def damaged(data, count):
    """Yield shortened copies and copies with some changed bits.

    The end of an archive holds its structure, so that two of three copies
    are damaged only there: within the directory, or in the final record.
    """
    chance = random.Random(1)
    for i in range(count):
        place = chance.randrange(1, (len(data), 1000, 22)[i//2 % 3])
        mask = chance.randrange(1, 256)
        yield data[:-place] + bytes(
            [data[-place] ^ mask, *data[len(data) - place + 1:]]*(i % 2))


def test_a_damaged_file_is_reported_or_harmless(motion, tmp_path):
    path = tmp_path/'run.npz'
    motion.save(path)
    for data in damaged(path.read_bytes(), 240):
        path.write_bytes(data)
        try:
            again = Trajectory.load(path)
        except ValueError as error:
            assert 'is no trajectory, or it is damaged' in str(error)
        else:                           # an unused field, such as a date
            np.testing.assert_array_equal(again.x, motion.x)
            assert again.to_table().keys() == motion.to_table().keys()


def test_folders_missing_files_and_unknown_endings(motion, tmp_path):
    (tmp_path/'a.npz').mkdir()
    with pytest.raises(OSError, match='cannot be written: .*`path`'):
        motion.save(tmp_path/'a.npz')
    with pytest.raises(FileNotFoundError):
        Trajectory.load(tmp_path/'none.npz')
    with pytest.raises(ValueError, match='ending says.*npz.*csv'):
        motion.save(tmp_path/'run.txt')


@pytest.mark.parametrize('again', [
    lambda motion: motion, lambda motion: pickle.loads(pickle.dumps(motion)),
    deepcopy])
def test_trajectories_and_copies_do_not_change(motion, again):
    copy = again(motion)
    np.testing.assert_array_equal(copy.x, motion.x)
    with pytest.raises(AttributeError):
        copy.t = None
    with pytest.raises(ValueError, match='read-only'):
        copy.x[0, 0] = 1


def test_a_table_has_a_row_for_each_time(motion, tmp_path):
    motion.save(tmp_path/'run.csv')
    with open(tmp_path/'run.csv', newline='') as file:
        header, *rows = csv.reader(file)
    assert header == [
        't', 'x', 'y', "x'", "y'", 'lam1', "Q_c x'", "Q_c y'",
        'residual of holonomic row 0',
        'residual of rate of holonomic row 0', 'energy', 'work', 'power',
        'energy_rate']
    values = np.array(rows, dtype=float)
    np.testing.assert_array_equal(values[:, 0], motion.t)
    np.testing.assert_array_equal(values[:, 1:5], motion.x)
    assert list(motion.to_table()) == header


def test_a_frame_of_pandas(motion, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, 'pandas', None)
        with pytest.raises(ImportError, match='needs pandas.*`to_table`'):
            motion.to_frame()
    pytest.importorskip('pandas')
    frame = motion.to_frame()
    assert frame.index.name == 't' and len(frame) == len(motion)
    np.testing.assert_array_equal(frame["x'"], motion["x'"])


# -- units -----------------------------------------------------------------

def test_units_are_kept_under_their_names(pendulum):
    units = {"y'": 'm/s', 'lam1': 'N/m', 'energy': 'J', 'length': 'm'}
    motion = simulate(pendulum.compiled, 1, pendulum.start, t_eval=3,
                      units={x: 'm', **units})
    assert motion.units == {'x': 'm', **units}
    for units, error, text in (
            ({'w': 'm'}, ValueError, "`units`: 'w' is no state or mult"),
            ({x: 3}, ValueError, '`units`: x: 3 is no text.*Give'),
            ('m', TypeError, '`units` must be a mapping')):
        with pytest.raises(error, match=text):
            simulate(pendulum.compiled, 1, pendulum.start, units=units)


# -- what is not known -----------------------------------------------------

def test_equations_without_an_energy_say_so():
    full = particle([x**2 + y**2 - l**2]).equations_of_motion
    builder, out = full.graph.load()
    plain = replace(full, graph=full.graph.updated(
        builder, {**out, 'energy': [], 'power': []}))
    motion, ours = (simulate(equations, 1, [2, 0, 0, 0], t_eval=11,
                             constants={m: 1.5, g: 9.81, l: 2})
                    for equations in (plain, full))
    np.testing.assert_allclose(motion.x, ours.x, atol=1e-7)
    for name in ('energy', 'work', 'power', 'energy_rate', 'energy_error',
                 'power_error'):
        assert getattr(motion, name) is None, name
        assert getattr(ours, name) is not None, name
    assert not {'energy', 'work', 'power'} & set(motion.to_table())


def test_a_trajectory_of_one_time_has_one_state(pendulum):
    motion = simulate(pendulum.compiled, 1, pendulum.start, dense=True)
    single = replace(motion, t=motion.t[:1], x=motion.x[:1],
                     rates=motion.rates[:1], dense=None)
    np.testing.assert_array_equal(single.at(0.), motion.x[0])
