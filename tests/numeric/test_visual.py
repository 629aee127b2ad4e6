"""Pictures: what is drawn and how it is labelled."""
import numpy as np
import pytest

pytest.importorskip('matplotlib')
import matplotlib                                           # noqa: E402

matplotlib.use('Agg')
import matplotlib.pyplot as plt                             # noqa: E402

from mechanisms import x, y                                 # noqa: E402
from sympy_constrained import visual                        # noqa: E402
from sympy_constrained.numeric import simulate              # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close('all')


@pytest.fixture(scope='module')
def motion():
    import mechanisms
    cranks = mechanisms.parallel_cranks()
    return simulate(cranks.compiled, 2, cranks.start, t_eval=40,
                    events=lambda t, x: x[0])


def labels(ax):
    return [line.get_label() for line in ax.get_lines()
            if not line.get_label().startswith('_')]


def test_states_in_two_panels(motion):
    figure = visual.plot_states(motion)
    upper, lower = figure.axes
    assert labels(upper) == ['X', 'Y', 'Phi']
    assert labels(lower) == ["X'", "Y'", "Phi'"]
    assert (upper.get_title(), lower.get_title()) == ('coordinates', 'speeds')
    assert lower.get_xlabel() == 't'
    np.testing.assert_array_equal(upper.get_lines()[1].get_ydata(),
                                  motion['Y'])


def test_chosen_states_in_given_axes(motion):
    figure, ax = plt.subplots()
    assert visual.plot_states(motion, ['Phi', "X'"], ax) is figure
    assert labels(ax) == ['Phi', "X'"] and ax.get_title() == 'states'
    assert labels(visual.plot_states(motion, 'X').axes[0]) == ['X']


def test_residuals_on_a_logarithmic_scale(motion):
    ax, = visual.plot_residuals(motion).axes
    assert ax.get_yscale() == 'log'
    assert labels(ax) == ['largest at position level',
                          'largest at velocity level']
    assert all((line.get_ydata() > 0).all() for line in ax.get_lines()[:2])


def test_few_residuals_have_their_names(pendulum):
    motion = simulate(pendulum.compiled, 1, pendulum.start)
    ax, = visual.plot_residuals(motion).axes
    assert labels(ax) == ['holonomic row 0', 'rate of holonomic row 0']
    assert labels(visual.plot_states(motion, [x, y]).axes[0]) == ['x', 'y']


def test_energy_tells_its_error(motion):
    ax, = visual.plot_energy(motion).axes
    assert ax.get_title().startswith('energy balance, largest error ')


def test_forces_and_multipliers(motion):
    ax, = visual.plot_constraint_forces(motion).axes
    assert labels(ax) == ["on X'", "on Y'", "on Phi'"]
    ax, = visual.plot_multipliers(motion).axes
    assert labels(ax) == ['lam1', 'lam2', 'lam3']
    events = [line for line in ax.get_lines() if line.get_linestyle() == ':']
    assert [line.get_xdata()[0] for line in events] == [
        event.t for event in motion.events]


def test_the_overview_and_paths_are_drawn(motion, tmp_path):
    figure = visual.plot(motion)
    assert [ax.get_title().split(',')[0] for ax in figure.axes
            if ax.axison] == [
        'coordinates', 'speeds', 'constraint residuals', 'energy balance',
        'generalized constraint forces', 'multipliers']
    figure.savefig(tmp_path/'overview.png')
    figure = visual.plot_motion({'joint': (motion['X'], motion['Y'])})
    assert figure.axes[0].get_aspect() == 1
    figure.savefig(tmp_path/'paths.png')


def test_bad_paths(motion):
    with pytest.raises(TypeError, match='`points` must map names to pairs'):
        visual.plot_motion([motion.t])
    with pytest.raises(ValueError, match=r"`points\['a'\]` has arrays of"):
        visual.plot_motion({'a': ([1, 2], [1])})
