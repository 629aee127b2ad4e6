"""Pictures: what is drawn and how it is labelled."""
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('matplotlib')
import matplotlib                                           # noqa: E402

matplotlib.use('Agg')
import matplotlib.pyplot as plt                             # noqa: E402
from matplotlib.figure import Figure                        # noqa: E402
from sympy import sin, symbols                              # noqa: E402
from sympy.physics.mechanics import (                       # noqa: E402
    KanesMethod, LagrangesMethod, Particle, Point, ReferenceFrame, RigidBody,
    dynamicsymbols, inertia)

import mechanisms                                           # noqa: E402
from exports import kept                                    # noqa: E402
from mechanisms import l, t, x, y                           # noqa: E402
from sympy_constrained import (                             # noqa: E402
    CircularRim, ConeSurface, CylinderSurface, EllipsoidSurface,
    LinearMappingMethod, ParametricCurve, PlaneSurface, PointContact,
    RouthMethod, SphereSurface, TorusSurface, UdwadiaKalabaMethod, plotting)
from sympy_constrained.errors import (                      # noqa: E402
    KinematicsError, MissingIngredientError)
from sympy_constrained.models import MODELS, model          # noqa: E402
from sympy_constrained.numeric import (                     # noqa: E402
    Reason, SweepResult, compile_equations, consistent_state, simulate)
from sympy_constrained.numeric.names import label           # noqa: E402
from sympy_constrained.numeric.sweeps.result import SweepRun   # noqa: E402
from sympy_constrained.plotting.animation import frame_times   # noqa: E402
from sympy_constrained.scene.labels import COLORS        # noqa: E402
from sympy_constrained.scene.wireframes import wireframe    # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close('all')


@pytest.fixture(scope='module')
def motion():
    cranks = mechanisms.parallel_cranks()
    return simulate(cranks.compiled, 2, cranks.start, t_eval=40,
                    events=lambda t, x: x[0])


def labels(ax):
    return [line.get_label() for line in ax.get_lines()
            if not line.get_label().startswith('_')
            and line.get_label() != 'event']


def legend(figure):
    """Texts of the legends of a figure and of its axes."""
    made = [*figure.legends, *filter(None, (
        ax.get_legend() for ax in figure.axes))]
    return [text.get_text() for x in made for text in x.get_texts()]


def test_states_in_two_panels(motion):
    figure = plotting.plot_states(motion)
    upper, lower = figure.axes
    assert labels(upper) == ['$X$', '$Y$', r'$\Phi$']
    assert labels(lower) == [r'$\dot{X}$', r'$\dot{Y}$', r'$\dot{\Phi}$']
    assert (upper.get_ylabel(), lower.get_ylabel()) == (
        'coordinates', 'speeds')
    assert lower.get_xlabel() == '$t$'
    np.testing.assert_array_equal(upper.get_lines()[1].get_ydata(),
                                  motion['Y'])


def test_chosen_states(motion):
    figure, ax = plt.subplots()
    assert plotting.plot_states(motion, ['Phi', "X'"], ax) is figure
    assert labels(ax) == [r'$\Phi$', r'$\dot{X}$']
    assert ax.get_ylabel() == 'states'
    ax, = plotting.plot_states(motion, 'X').axes
    assert ax.get_ylabel() == 'coordinates $X$' and labels(ax) == []
    ax = plotting.plot_states(motion, ax=plt.subplots()[1]).axes[0]
    assert len(labels(ax)) == len(motion.states)


def test_residuals_against_their_tolerance(motion, pendulum):
    ax, = plotting.plot_residuals(motion).axes
    assert ax.get_yscale() == 'log'
    assert labels(ax) == ['of positions', 'of velocities']
    for line, rows in zip(ax.get_lines(), (
            motion.residuals[:, :3], motion.residuals[:, 3:])):
        np.testing.assert_array_equal(line.get_ydata(), np.maximum(
            abs(rows).max(axis=1), 1e-16))
    assert [line.get_ydata()[0] for line in ax.get_lines()
            if line.get_label() == '_tolerance'] == [1e-8]
    none = replaced(motion, residuals=motion.residuals[:, :0],
                    residual_names=())
    assert labels(plotting.plot_residuals(none).axes[0]) == []


def test_forces_and_multipliers(motion):
    ax, = plotting.plot_constraint_forces(motion).axes
    assert labels(ax) == [r'on $\dot{X}$', r'on $\dot{Y}$', r'on $\dot{\Phi}$']
    ax, = plotting.plot_constraint_forces(motion, speeds=["Y'"]).axes
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(),
                                  motion.constraint_forces[:, 1])
    ax, = plotting.plot_multipliers(motion).axes
    names = [rf'$\lambda_{{{k + 1}}}$: holonomic row {k}' for k in range(3)]
    assert labels(ax) == names
    events = [line for line in ax.get_lines() if line.get_linestyle() == ':'
              and len(line.get_xdata()) == 2]
    assert [line.get_xdata()[0] for line in events] == [
        event.t for event in motion.events]
    assert len(motion.events) > 1       # once in the legend
    assert [x.get_text() for x in ax.get_legend().get_texts()] == [
        *names, 'event']


def test_rounding_errors_are_drawn_as_zero_or_not_at_all(motion):
    """Forces of 10 leave moments of 1e-14."""
    count = len(motion.t)
    noise = 1e-14*np.sin(np.arange(3.*count)).reshape(count, 3)
    run = replaced(motion, reactions={'pin': np.hstack([10 + noise, noise])})
    panel, = plotting.plot_reactions(run).axes
    assert panel.get_ylabel().startswith('force')
    with pytest.raises(ValueError, match="`names` is 'q'"):
        plotting.plot_reactions(run, 'q')
    _, axes = plt.subplots(2)
    plotting.plot_reactions(run, ax=axes)
    assert not np.any([line.get_ydata() for line in axes[1].lines[:3]])
    both = replaced(motion, reactions={'pin': np.hstack([10 + noise, 1e-3*(
        1 + noise)])})
    assert len(plotting.plot_reactions(both).axes) == 2
    columns = np.hstack([10 + noise[:, :1], noise[:, :1]])
    run = replaced(motion, multipliers=columns, multiplier_names=('a', 'b'))
    _, ax = plt.subplots()
    plotting.plot_multipliers(run, ax, [1])
    assert not ax.lines[0].get_ydata().any()


def test_multipliers_of_redundant_rows_have_least_norm(motion, pendulum):
    ax, = plotting.plot_multipliers(motion).axes
    assert ax.get_ylabel() == 'multiplier of\nleast norm'
    few = simulate(pendulum.compiled, 1, pendulum.start)
    ax, = plotting.plot_multipliers(few).axes
    assert ax.get_ylabel() == 'multiplier'


def overview(name, **options):
    case = ready(name, 1., **options)
    return case, plotting.plot(case.motion, case.model)


def test_an_overview_has_one_quantity_for_each_axis():
    """The path of the contact is drawn in the plane."""
    case, figure = overview('rolling_disc')
    found = [ax.get_ylabel().replace('\n', ' ') for ax in figure.axes]
    assert found == [
        'angle in rad', '$q_{5}$ in m', 'angular velocity in rad/s',
        'velocity in m/s', 'energy in J', 'constraint moment in N m',
        'constraint force in N', 'multiplier in N']
    path = figure.axes[1]
    assert path.get_xlabel() == '$q_{4}$ in m' and path.get_aspect() == 1
    np.testing.assert_array_equal(path.get_lines()[0].get_data(),
                                  [case.motion['q4'], case.motion['q5']])
    assert labels(figure.axes[3]) == [
        r'$u_{4}$ = $\dot{q}_{4}$', r'$u_{5}$ = $\dot{q}_{5}$']
    assert figure.get_suptitle().startswith(case.model.title)
    loaded = replaced(case.motion, **{
        name: tuple(map(label, getattr(case.motion, name)))
        for name in ('states', 'speeds')})
    assert plotting.plot(loaded, case.model).axes[1].get_aspect() == 1


def test_an_overview_leaves_out_what_is_below_the_tolerance():
    """An energy that is constant, and residuals; larger ones are drawn."""
    case, figure = overview('cartesian_pendulum')
    names = {ax.get_ylabel() for ax in figure.axes}
    assert 'energy in J' not in names and 'largest residual' not in names
    assert 'residuals at most' in figure.get_suptitle()
    assert 'energy constant to' in figure.get_suptitle()
    drift = replaced(case.motion, energy=case.motion.energy + np.linspace(
        0, 1e-3, len(case.motion)), residuals=case.motion.residuals + 1e-6)
    names = {ax.get_ylabel() for ax in plotting.plot(drift, case.model).axes}
    assert {'energy in J', 'largest residual'} <= names


@pytest.mark.parametrize('name', ['rolling_disc', 'four_bar'])
def test_no_legend_covers_data_and_no_text_is_small(name):
    _, figure = overview(name)
    figure.canvas.draw()
    assert figure.get_figwidth() == 6.5
    for ax in figure.axes:
        if ax.get_legend():
            box = ax.get_legend().get_window_extent()
            assert not box.overlaps(ax.get_window_extent().shrunk(0.98, 0.98))
    for text in figure.findobj(matplotlib.text.Text):
        assert not text.get_text() or text.get_fontsize() >= 8


def test_what_is_not_known_has_no_panel(motion):
    """Of equations without energy, free, or with nothing to show."""
    unknown = replaced(motion, energy=None, work=None, power=None,
                       energy_rate=None)
    free = replaced(motion, multipliers=motion.multipliers[:, :0],
                    residuals=motion.residuals[:, :0], multiplier_names=(),
                    residual_names=())

    def names(trajectory):
        return {ax.get_ylabel() for ax in plotting.plot(trajectory).axes}

    everything = names(motion)
    assert everything == names(unknown)
    assert ['energy constant' in plotting.plot(x).get_suptitle()
            for x in (motion, unknown)] == [True, False]
    assert everything - names(free) == {
        'generalized constraint force', 'multiplier of\nleast norm'}
    with pytest.raises(ValueError, match='has no energy.*Build that'):
        plotting.plot_energy(unknown)


def test_an_energy_of_zero_is_drawn_as_zero(motion):
    """It may be small in a small model, where forces are small as well."""
    energy = 1e-14*np.sin(np.arange(len(motion.t)))
    ax, = plotting.plot_energy(replaced(motion, energy=energy)).axes
    assert not ax.get_lines()[0].get_ydata().any()
    small = replaced(motion, energy=energy,
                     constraint_forces=1e-14*motion.constraint_forces)
    ax, = plotting.plot_energy(small).axes
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(),
                                  energy - energy[0])


def test_a_method_in_place_of_a_trajectory():
    cranks = mechanisms.parallel_cranks()
    drawings = [getattr(plotting, name) for name in plotting.__all__
                if name not in ('plot_sweep', 'plot_family', 'plot_fit')]
    for draw in drawings:
        with pytest.raises(TypeError, match='`trajectory` is <UdwadiaKalaba.*'
                                            'the result of `simulate`'):
            draw(cranks.method, *['X']*(draw is plotting.plot_phase))


def test_units_are_written_to_the_axes(motion):
    object.__setattr__(motion, 'units', {
        'X': 'm', 'Y': 'm', 'Phi': 'rad', 't': 's', 'energy': 'J'})
    try:
        ax, = plotting.plot_states(motion, ['X', 'Y']).axes
        assert (ax.get_xlabel(), ax.get_ylabel()) == (
            '$t$ in s', 'position in m')
        ax, = plotting.plot_states(motion, ['X', 'Phi'], ax).axes
        assert labels(ax)[2:] == ['$X$ in m', r'$\Phi$ in rad']
        upper, lower, _ = plotting.plot_states(motion).axes
        assert (len(labels(upper)), lower.get_ylabel()) == (
            2, r'angle $\Phi$ in rad')
        ax = plotting.plot_energy(motion).axes[0]
        assert ax.get_ylabel() == 'energy in J'
        ax, = plotting.plot_phase(motion, 'Phi').axes
        assert ax.get_xlabel() == r'$\Phi$ in rad'
    finally:
        object.__setattr__(motion, 'units', {})


def test_power_has_a_panel_where_it_is_known(motion):
    assert len(plotting.plot_energy(motion).axes) == 1
    driven = replaced(motion, power=np.linspace(0, 1, len(motion)))
    lower = plotting.plot_energy(driven).axes[1]
    np.testing.assert_array_equal(lower.get_lines()[0].get_ydata(),
                                  driven.power)
    with pytest.raises(ValueError, match='has no power: it is unknown'):
        plotting.plot_power(replaced(motion, power=None))


def test_phase_plane(motion):
    ax, = plotting.plot_phase(motion, 'X').axes
    line = ax.get_lines()[0]
    np.testing.assert_array_equal(line.get_xdata(), motion['X'])
    np.testing.assert_array_equal(line.get_ydata(), motion["X'"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ('$X$', r'$\dot{X}$')
    ax, = plotting.plot_phase(motion, 'X', 'Y').axes
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), motion['Y'])
    loaded = replaced(motion, states=tuple(map(label, motion.states)))
    ax, = plotting.plot_phase(loaded, motion.states[0]).axes
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), motion["X'"])


def test_a_rate_that_is_no_state(rolling):
    q1, u1 = rolling.motion.states[0], rolling.motion.states[5]
    ax, = plotting.plot_phase(rolling.motion, q1).axes
    assert ax.get_ylabel() == r'$\dot{q}_{1}$'
    speeds = rolling.rate(rolling.motion)
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), speeds,
                               atol=1e-12)
    ax, = plotting.plot_phase(rolling.motion, q1, u1).axes
    assert ax.get_ylabel() == '$u_{1}$'


# -- sweeps --------------------------------------------------------------

@pytest.fixture(scope='module')
def sweep():
    """Runs of a pendulum of several lengths; one failed, one ended early."""
    case, runs = mechanisms.pendulum(), []
    for length in (1., 2., 3., 4.):
        with_length = case.compiled.with_values({'l': length})
        stop = (lambda t, x: t - 0.25) if length == 3 else (lambda t, x: 1)
        stop.terminal = True
        found = simulate(with_length, 0.5, [length, 0, 0, 0], t_eval=21,
                         events=stop)
        if length == 3:
            found = replaced(found, reason=Reason.STEP_SIZE)
        runs.append(({'l': length}, found if length < 4 else None))
    return runs


def test_final_values_over_the_parameter(sweep):
    ax, = plotting.plot_sweep(sweep, y).axes
    line, early = ax.get_lines()[:2]
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(line.get_ydata(), [
        run['y'][-1] for _, run in sweep[:3]])
    np.testing.assert_array_equal(early.get_xdata(), [3])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ('$l$', 'final $y$')
    assert ax.get_title() == '4 runs, 1 failed, 1 ended early'


def test_functions_of_runs_and_of_histories(sweep):
    runs = [SimpleNamespace(parameters=p, trajectory=motion)
            for p, motion in sweep]
    fall = [-run['y'].min() for _, run in sweep[:3]]

    def drop(run):
        return -run['y']

    ax, = plotting.plot_sweep(SimpleNamespace(runs=runs), drop).axes
    assert ax.get_ylabel() == 'final drop'
    ax, = plotting.plot_sweep(runs, lambda run: drop(run).max()).axes
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), fall)


def test_histories_in_the_colour_of_the_parameter(sweep):
    ax, bar = plotting.plot_sweep(sweep, 'y', 'histories').axes
    for line, (_, run) in zip(ax.get_lines(), sweep[:3]):
        np.testing.assert_array_equal(line.get_ydata(), run['y'])
    assert [line.get_linestyle() for line in ax.get_lines()] == [
        '-', '-', '--']
    assert len({line.get_color() for line in ax.get_lines()}) == 3
    assert bar.get_ylabel() == '$l$'


def test_a_second_parameter_makes_curves():
    runs = [({'a': a, 'b': b}, a + 10.*b) for a in (3, 1, 2) for b in (0, 1)]
    with pytest.raises(ValueError, match="a, b vary. Pass the one for"):
        plotting.plot_sweep(runs)
    ax, = plotting.plot_sweep(runs, parameter='a').axes
    lower, upper = ax.get_lines()[::2]
    np.testing.assert_array_equal(lower.get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(upper.get_ydata(), [11, 12, 13])
    assert labels(ax) == ['$b$ = 0', '$b$ = 1']
    many = [({'a': a, 'b': b}, a*b) for a in (1, 2) for b in range(12)]
    _, bar = plotting.plot_sweep(many, parameter='a').axes
    assert bar.get_ylabel() == '$b$'


def test_numbers_are_drawn_where_some_motions_failed(sweep):
    """Of a run that failed on the way a sweep keeps the motion, no number."""
    runs = [SweepRun(i, parameters, None, *(
                (motion, None, 'failed') if i == 2 else (None, 1. + i)))
            for i, (parameters, motion) in enumerate(sweep)]
    ax, = plotting.plot_sweep(SweepResult(tuple(runs))).axes
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), [1, 2, 4])
    assert ax.get_title() == '4 runs, 1 failed'


def test_sweeps_that_cannot_be_drawn(sweep):
    for runs, quantity, options, error, text in (
            (sweep[3:], y, {}, ValueError, 'None of the 1 runs has a result'),
            (sweep, None, {}, ValueError, '`quantity` is needed'),
            (sweep[0][1:], y, {}, TypeError, 'Give pairs of a dictionary'),
            ([({'l': 1}, replaced(sweep[0][1], power=None))], 'power', {},
             ValueError, 'has no power'),
            (sweep, y, {'show': 'mean'}, ValueError, "`show` is 'mean'"),
            (sweep, y, {'parameter': 'm'}, KeyError, 'm'),
            (sweep, lambda run: 1, {'show': 'histories'}, ValueError,
             'no history to draw'),
            ([({}, 1.)], None, {}, ValueError, 'have no parameters')):
        with pytest.raises(error, match=text):
            plotting.plot_sweep(runs, quantity, **options)


# -- places --------------------------------------------------------------

@pytest.fixture(scope='module')
def rolling():
    return ready('rolling_disc', 2.)


def ready(name, t_end, **options):
    """A ready model with its motion."""
    made, method, compiled, start = kept(name)
    motion = simulate(compiled, t_end, start, **{'t_eval': 201, **options})
    return SimpleNamespace(
        model=made, method=method, motion=motion, compiled=compiled,
        rate=lambda run: compiled.rhs(run.t, run.x)[:, 0])


def frame(k, *arguments, **options):
    """Axes of an animation at a frame."""
    film = plotting.animate(*arguments, **options)
    film._func(k)
    finish(film)
    return plt.gcf().axes[0]


def curves(ax):
    """Label -> last line that has it."""
    return {line.get_label(): line for line in ax.get_lines()}


def space(line):
    return np.array(line.get_data_3d())


def test_bodies_are_where_the_equations_have_them():
    case = ready('four_bar', 0.3, t_eval=301)
    film = plotting.animate(case.motion, case.method, speed=1, fps=10)
    ax = plt.gcf().axes[0]
    assert film._save_count == 4 and labels(ax) == ['link2', 'link3', 'link4']
    bodies = {b.name: b for b in case.method.bodies}
    base = bodies['link1'].masscenter
    for k in (0, 2, 3):
        film._func(k)
        x = case.motion.x[np.argmin(abs(case.motion.t - k/10))]
        for name in labels(ax):
            place = case.compiled.expression(bodies[name].masscenter.pos_from(
                base).to_matrix(case.method.frame))(0, x)
            bar = np.array(curves(ax)[name].get_data())
            np.testing.assert_allclose(bar[:, 1], place[:2, 0], atol=1e-9)
        assert ax.get_title() == f't = {k/10:.1f} s'
    finish(film)


def test_frames_turn_with_the_bodies(rolling):
    ax = frame(3, rolling.motion, rolling.method, speed=1, fps=2)
    body = rolling.method.bodies[0]
    turned = rolling.compiled.expression(body.frame.dcm(
        rolling.method.frame).T)(0, rolling.motion.x[150])
    arms = [np.diff(space(line), axis=1)[:, 0] for line in ax.get_lines()[-3:]]
    lengths = np.linalg.norm(arms, axis=1)
    np.testing.assert_allclose(lengths, lengths[0])
    np.testing.assert_allclose(np.array(arms).T/lengths, turned, atol=1e-7)
    assert [line.get_color() for line in ax.get_lines()[-3:]] == [
        COLORS[1], COLORS[2], COLORS[0]]


def test_a_velocity_is_integrated_where_no_point_stays_at_rest(rolling):
    """The contact point at rest is another one at every time."""
    minimal = ready('rolling_disc_minimal', 2.)
    paths = []
    for case in rolling, minimal:
        figure = plotting.plot_snapshots(case.motion, case.method, times=[2.])
        trail, = [line for line in figure.axes[0].get_lines()
                  if len(space(line)[0]) > 100]
        paths.append(space(trail))
    away = [path - path[:, :1] for path in paths]
    assert np.ptp(away[0], axis=1).max() > 1
    np.testing.assert_allclose(*away, atol=1e-6)
    ax = frame(0, minimal.motion, minimal.method, fps=5,
               origin=minimal.method.bodies[0].masscenter)
    assert not np.ptp(space(curves(ax)['disc']))


def test_a_method_that_replaces_the_speeds_shows_the_same():
    sleigh, paths = model('chaplygin_sleigh'), []
    case = ready('chaplygin_sleigh', 1.)
    x, rates = case.motion.x[0], case.compiled.rhs(0, case.motion.x[0])
    known = {**{f"{label(q)}'": v for q, v in zip(sleigh.coordinates, rates)},
             **dict(zip(map(label, case.motion.states), x))}
    for kind in UdwadiaKalabaMethod, RouthMethod:
        method = sleigh.form(kind)
        compiled = compile_equations(method, sleigh.parameters)
        motion = simulate(compiled, 1, [
            known[label(x)] for x in compiled.states], t_eval=101)
        ax = plotting.plot_snapshots(motion, method, times=[1.]).axes[0]
        paths.append([line.get_data() for line in ax.get_lines()])
    for first, second in zip(*paths, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-6)
    bicycle = model('bicycle')
    mapped = bicycle.form(LinearMappingMethod)
    compiled = compile_equations(mapped, bicycle.parameters)
    motion = simulate(compiled, 0.1, consistent_state(compiled, {
        x: bicycle.start.get(x, 0) for x in compiled.states}), t_eval=11)
    with pytest.raises(MissingIngredientError,
                       match='Pass `origin=rear_contact` to look'):
        plotting.plot_snapshots(motion, mapped)


def test_points_lines_and_expressions(pendulum):
    motion = simulate(pendulum.compiled, 3, pendulum.start, t_eval=301)
    side = symbols('side')
    ax = frame(
        20, motion, pendulum.method, {'bob': (x, y), 'shade': (x, -side, 0)},
        {'rod': [(0, 0), (x, y)]}, constants={side: 2.5}, fps=10)
    assert labels(ax) == ['rod', 'bob', 'shade']
    at = motion.x[200]
    np.testing.assert_allclose(curves(ax)['rod'].get_data(),
                               [[0, at[0]], [0, at[1]]], atol=1e-7)
    np.testing.assert_allclose(np.ravel(curves(ax)['shade'].get_data()),
                               [at[0], -2.5], atol=1e-7)
    paths = [line for line in ax.get_lines() if len(line.get_xdata()) > 99]
    np.testing.assert_allclose(np.hypot(*paths[0].get_data()), 2, atol=1e-4)
    with pytest.raises(MissingIngredientError,
                       match='No value is known for side: .* Pass `const'):
        plotting.animate(motion, pendulum.method, {'a': (side, x)})


def test_places_by_their_names(pendulum):
    """Of states and constants, also where a trajectory has names only."""
    run = simulate(pendulum.compiled, 1, pendulum.start, t_eval=101)
    loaded = replaced(
        run, states=tuple(map(label, run.states)), speeds=(),
        constants={str(k): v for k, v in run.constants.items()})
    for motion in (run, loaded):
        ax = plotting.plot_snapshots(
            motion, points={'bob': ('x', 'y'), 'wall': ('l', 0)},
            lines={'rod': [(0, 0), 'bob'], 'level': ['bob', (x, 0)]},
            times=[0, 1], trails=False).axes[0]
        drawn = {name: np.transpose(line.get_data())
                 for name, line in curves(ax).items()}
        here = motion.x[-1, :2]
        np.testing.assert_allclose(drawn['rod'], [[0, 0], here], atol=1e-9)
        np.testing.assert_allclose(drawn['level'], [here, [here[0], 0]],
                                   atol=1e-9)
        np.testing.assert_allclose(drawn['wall'], [[2, 0]])


def test_limits_contain_the_whole_motion_and_scales_are_equal():
    case = ready('heavy_top', 1.)
    film = plotting.animate(case.motion, case.method, fps=5)
    ax = plt.gcf().axes[0]
    limits = np.array([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
    for k in range(film._save_count):
        film._func(k)
        for line in ax.get_lines():
            assert (space(line).T >= limits[:, 0]).all()
            assert (space(line).T <= limits[:, 1]).all()
    box = ax.get_box_aspect() if callable(getattr(
        ax, 'get_box_aspect', None)) else None
    scale = np.asarray(ax._box_aspect if box is None else box)/np.ptp(
        limits, axis=1)
    np.testing.assert_allclose(scale, scale[0])
    finish(film)


def test_planes_are_chosen_by_the_motion():
    case = ready('four_bar', 0.2)
    ax = plotting.plot_snapshots(case.motion, case.method).axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ('x in m', 'y in m')
    assert ax.get_aspect() == 1
    ax = plotting.plot_snapshots(case.motion, case.method, view='3d').axes[0]
    assert hasattr(ax, 'get_zlim')
    # an upright disc stays in a plane, but turns out of it
    case = ready('upright_disc', 1.)
    assert hasattr(plotting.plot_snapshots(case.motion, case.method).axes[0],
                   'get_zlim')


def seen_lines(figure, name):
    """Data of the lines of a label."""
    return [np.transpose(line.get_data()) for line in figure.axes[0].get_lines(
        ) if line.get_label().startswith(name)]


def test_forces_are_arrows_of_one_scale():
    """A multiplier, and an array; the legend has the longest."""
    case = ready('four_bar', 0.3)
    end = next(iter(case.model.visual['forces'].values()))[0]
    steady = np.tile([3., 0, 0, 0, 0, 7], (len(case.motion), 1))
    figure = plotting.plot_snapshots(case.motion, case.model, times=[0.3],
                                     forces={'row 0': (end, (
                                         case.motion.multiplier_names[0],
                                         0, 0)), 'pull': (end, steady)})
    row, pull = (seen_lines(figure, name)[0] for name in ('row 0', 'pull'))
    length = pull[1] - pull[0]
    np.testing.assert_allclose((row[1] - row[0])/length[0], [
        case.motion['lam1'][-1]/3, 0], atol=1e-6)
    assert {'pull, longest 3 N', f'row 0, longest '
            f'{abs(case.motion["lam1"][-1]):.3g} N'} <= set(legend(figure))


def test_a_run_back_in_time(pendulum):
    motion = simulate(pendulum.compiled, (3, 0), pendulum.start, t_eval=101)
    points = {'bob': (x, y)}
    pictures = [frame(15, motion, points=points, fps=5), plotting
                .plot_snapshots(motion, points=points, times=2).axes[0]]
    for ax in pictures:
        np.testing.assert_allclose(np.ravel(curves(ax)['bob'].get_data()),
                                   motion.x[-1, :2], atol=1e-7)
    assert pictures[0].get_title() == 't = 0.0'


def test_places_that_depend_on_inputs(pendulum):
    f, g = dynamicsymbols('f g')
    motion = simulate(pendulum.compiled, 2, pendulum.start, t_eval=101)
    points = {'pushed': (x + f, g), 'rate': (f.diff(), 0)}
    inputs = {f: l*sin(3*t), 'g': lambda t, x: t*x[1], 'unused': 1}
    ax = plotting.plot_snapshots(motion, pendulum.method, points, times=[1.],
                                 inputs=inputs).axes[0]
    at = motion.x[50]
    for name, place in (('pushed', [at[0] + 2*np.sin(3), at[1]]),
                        ('rate', [6*np.cos(3), 0])):
        np.testing.assert_allclose(np.ravel(curves(ax)[name].get_data()),
                                   place, atol=1e-6)
    with pytest.raises(MissingIngredientError, match='has no value. Pass'):
        plotting.plot_snapshots(motion, pendulum.method, points)


# -- contacts ------------------------------------------------------------

@pytest.fixture(scope='module')
def ball():
    return ball_on_table()


def ball_on_table():
    """A ball that rolls on a table, spinning."""
    q, u = dynamicsymbols('q1:7'), dynamicsymbols('u1:7')
    N, B, O, C = (ReferenceFrame('N'), ReferenceFrame('B'), Point('O'),
                  Point('C'))
    O.set_vel(N, 0)
    C.set_pos(O, sum((c*e for c, e in zip(q, N)), 0*N.x))
    C.set_vel(N, sum((s*e for s, e in zip(u, N)), 0*N.x))
    B.orient_body_fixed(N, q[3:], 'zxy')
    turning = B.ang_vel_in(N)
    B.set_ang_vel(N, sum((s*e for s, e in zip(u[3:], N)), 0*N.x))
    body = RigidBody('ball', C, B, 2, (inertia(B, *3*[0.8*0.3**2]), C))
    contact = PointContact('c', RigidBody('table', O, N), body,
                           PlaneSurface(N, O, N.z), SphereSurface(B, C, 0.3))
    method = UdwadiaKalabaMethod(
        N, q, u, [c.diff() - s for c, s in zip(q[:3], u)] + [
            (turning - B.ang_vel_in(N)).dot(e) for e in N], bodies=[body],
        forcelist=[(C, -9.81*2*N.z)],
        configuration_constraints=contact.holonomic_constraints,
        velocity_constraints=contact.velocity_constraints)
    compiled = compile_equations(method)
    start = consistent_state(compiled, {q[2]: 0.3, u[3]: 1, u[4]: 2,
                                        u[5]: 0.5}, fill=0,
                             fixed=(q[0], q[1], *q[3:], *u[3:]))
    return SimpleNamespace(
        method=method, contact=contact, compiled=compiled, start=start,
        motion=simulate(compiled, 3, start, t_eval=301))


def test_traces_of_a_contact_on_both_bodies(ball):
    ax = frame(20, ball.motion, ball.method, contacts=ball.contact, fps=10)
    at = ball.motion.x[200]
    names = curves(ax)
    assert {'trace on ball', 'trace on table', 'ball'} <= set(names)
    own, road = (space(names[f'trace on {name}'])
                 for name in ('ball', 'table'))
    # both end where the bodies touch, the one on the ball is on the ball
    touch = [at[0], at[1], 0]
    np.testing.assert_allclose(own[:, -1], touch, atol=1e-7)
    np.testing.assert_allclose(road[:, -1], touch, atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(
        own - at[:3, None], axis=0), 0.3, atol=1e-7)
    lengths = [np.linalg.norm(np.diff(path), axis=0).sum()
               for path in (own, road)]
    np.testing.assert_allclose(*lengths, rtol=1e-3)
    first = np.linalg.norm(ball.motion.x[0, :2])
    np.testing.assert_allclose(np.linalg.norm(road[:, 0]), first, atol=1e-7)


@pytest.mark.parametrize('kind', [
    'torus', 'ellipsoid', 'rim', 'cylinder', 'cone', 'bowl', 'curve'])
def test_outlines_lie_on_their_surface(kind, rng):
    N, O, (R, r, s) = ReferenceFrame('N'), Point('O'), symbols('R r s')
    size = {R: 2., r: 0.5}
    made, law = {
        'torus': (TorusSurface(N, O, R, r, N.y), lambda p: (
            np.hypot(np.hypot(p[0], p[2]) - 2, p[1]) - 0.5)),
        'ellipsoid': (EllipsoidSurface(N, O, (R, r, 1)), lambda p: (
            p[0]**2/4 + p[1]**2/0.25 + p[2]**2 - 1)),
        'rim': (CircularRim(N, O, R, N.y), lambda p: np.hypot(
            np.hypot(p[0], p[2]) - 2*(np.linalg.norm(p, axis=0) > 1e-9),
            p[1])),
        'cylinder': (CylinderSurface(N, O, r, N.z), lambda p: (
            np.hypot(p[0], p[1]) - 0.5)),
        'cone': (ConeSurface(N, O, r, -N.z), lambda p: (
            np.hypot(p[0], p[1]) + p[2]*np.tan(0.5))),
        'bowl': (SphereSurface(N, O, R, interior=True), lambda p: (
            np.linalg.norm(p, axis=0) - 2)),
        'curve': (ParametricCurve(N, O, s*N.x, s), None)}[kind]
    touched = np.array([[0.3, 0.4, -1.9], [0.1, -0.2, -1.5]])
    lines = wireframe(made, size, touched, touched)
    assert bool(lines) == (kind != 'curve')
    for line in lines:
        np.testing.assert_allclose(law(line.T), 0, atol=1e-9)
    if kind == 'cylinder':
        heights = np.concatenate(lines)[:, 2]
        assert heights.min() < -1.9 and heights.max() > -1.5
    if kind == 'torus':
        with pytest.raises(MissingIngredientError, match='known for r: <To'):
            wireframe(made, {R: 2.}, touched, touched)


# -- files and errors ----------------------------------------------------

def finish(film):
    """Matplotlib warns of an animation that was never drawn."""
    film._draw_was_started = True


def replaced(motion, **fields):
    """A copy with other fields, also ones that it does not know."""
    import copy
    made = copy.copy(motion)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    made.__dict__.pop('_names', None)
    return made


def test_a_file_has_each_frame_and_draws_it_once(pendulum, tmp_path,
                                                 monkeypatch):
    motion = simulate(pendulum.compiled, 3, pendulum.start, t_eval=31)
    drawn, draw = [], Figure.draw

    def counted(self, renderer):
        drawn.append(self)
        return draw(self, renderer)

    monkeypatch.setattr(Figure, 'draw', counted)
    path = tmp_path/'new'/'film.gif'
    film = plotting.animate(motion, points={'bob': (x, y)}, fps=4, save=path)
    frames = len(list(film.new_frame_seq()))
    assert frames == 13 and 13 <= len(drawn) <= 16
    before = len(drawn)
    drawn[0].canvas.draw_idle()                 # as it was, for a window
    assert len(drawn) > before
    with pytest.importorskip('PIL.Image').open(path) as file:
        assert file.n_frames == frames and file.info['duration'] == 250
        images = []
        for k in range(frames):
            file.seek(k)
            images.append(np.asarray(file.convert('L'), dtype=float))
    assert all(abs(a - b).max() > 50 for a, b in zip(images, images[1:]))


def test_speed_is_chosen_for_watching(pendulum):
    motion = simulate(pendulum.compiled, 3, pendulum.start, t_eval=51)
    for t_end, speed, count in ((3, 1, 31), (0.03, 0.005, 61), (60, 10, 61),
                                (1e-6, 1e-7, 101)):
        times, found = frame_times(replaced(motion, t=np.linspace(
            0, t_end, 51)), None, 10)
        assert found == pytest.approx(speed) and len(times) == count
        assert (times[0], times[-1]) == (0, t_end)
    times, _ = frame_times(motion, 0.5, 10)
    np.testing.assert_allclose(np.diff(times), 0.05)


def test_films_that_cannot_be_made(pendulum, ball):
    motion, lost = ball.motion, Point('lost')
    single = replaced(motion, t=motion.t[:1], x=motion.x[:1])
    strange = Point('P').locatenew('Q', 0*ball.method.frame.x)
    for run, options, error, text in (
            (single, {}, ValueError, 'has 1 output times, and a picture'),
            (motion, {'speed': 100}, ValueError, 'only 1 frame. Leave `sp'),
            (motion, {'save': 'film.html'}, ValueError, 'report.report'),
            (motion, {'speed': -1}, ValueError, '`speed` is -1, which is no'),
            (motion, {'camera': 5}, ValueError, '`camera` is 5. Give elev'),
            (motion, {'points': lost}, KinematicsError,
             'lost has no position relative to O, the origin'),
            (motion, {'lines': [(strange, lost)]}, KinematicsError, 'Point Q'),
            (motion, {'points': {'a': 3}}, TypeError, 'The place 3 is of'),
            (motion, {'lines': (lost, lost)}, ValueError, 'not a sequence'),
            (motion, {'lines': ['lost']}, ValueError, "'lost', which is not"),
            (motion, {'points': {'P': 'P'}}, ValueError, "The place 'P' is"),
            (motion, {'ax': plt.subplots()[1]}, ValueError, 'wrong number'),
            (motion, {'forces': {'R': [lost]}}, TypeError, 'a pair of a po'),
            *((motion, {name: 3}, (TypeError, ValueError), f'`{name}`')
              for name in ('forces', 'origin', 'frame', 'surfaces', 'springs',
                           'lines', 'contacts', 'constants')),
            (motion, {'forces': {'R': (strange, np.eye(3))}}, ValueError,
             r"'R' has shape \(3, 3\).*a row for each")):
        with pytest.raises(error, match=text):
            plotting.animate(run, ball.method, **options)
    with pytest.raises(MissingIngredientError, match='is a coordinate'):
        plotting.animate(motion, pendulum.method, {'bob': (x, y)})
    for times, text in (([4], '4 is not within the trajectory'), *(
            (times, '`times` is ') for times in ([], [[0]], 0))):
        with pytest.raises(ValueError, match=text):
            plotting.plot_snapshots(motion, ball.method, times=times)


def test_nothing_to_draw_says_why(pendulum):
    motion = simulate(pendulum.compiled, 1, pendulum.start)
    for points, text in (({'tip': ReferenceFrame('A').x}, 'from a Lagrangian'),
                         ((), 'picture is empty: no b')):
        with pytest.raises(MissingIngredientError, match=text):
            plotting.animate(motion, pendulum.method, points)
    N, O = ReferenceFrame('N'), Point('O')
    P = O.locatenew('P', x*N.x)
    alone = UdwadiaKalabaMethod(x.diff()**2/2, [x],
                                bodies=[Particle('bob', P, 1)])
    motion = simulate(alone, 1, [0, 1], t_eval=3)
    with pytest.raises(MissingIngredientError,
                       match='for bob .the model has no inertial frame'):
        plotting.animate(motion, alone)


def places_in(ax):
    return {name: tuple(np.ravel(curves(ax)[name].get_data()).round(6))
            for name in labels(ax)}


def test_a_flying_rod_and_a_body_on_a_guide():
    """A point at rest is looked from; the rod is not connected to it."""
    u, v = dynamicsymbols('u v')
    N, O, A = ReferenceFrame('N'), Point('O'), Point('A')
    O.set_vel(N, 0)
    B, C = A.locatenew('B', 2*N.y), O.locatenew('C', y*N.z)
    for point, velocity in ((A, u*N.x), (B, u*N.x), (C, v*N.z)):
        point.set_vel(N, velocity)
    ends = [Particle('a', A, 1), Particle('b', B, 1)]
    rod = UdwadiaKalabaMethod(N, [x], [u], [x.diff() - u], bodies=ends,
                              forcelist=[])
    ax, = plotting.plot_snapshots(simulate(rod, 1, [3, 2], t_eval=11), rod,
                                  times=[1.]).axes
    assert places_in(ax) == {'a': (2, 0), 'b': (2, 2)}
    both = KanesMethod(N, [x, y], [u, v], [x.diff() - u, y.diff() - v],
                       bodies=[*ends, Particle('c', C, 1)], forcelist=[])
    both.kanes_equations()
    motion = simulate(both, 1, [3, 0, 2, 1], t_eval=11)
    for given in both, UdwadiaKalabaMethod.from_method(both):
        with pytest.warns(UserWarning, match='position for a, b .not conn'):
            ax, = plotting.plot_snapshots(motion, given, times=[1.]).axes
        assert places_in(ax) == {'c': (0, 1)}


def test_bodies_without_velocities_hang_on_the_origin_that_is_given():
    """Those of a Lagrangian need none."""
    N, O = ReferenceFrame('N'), Point('O')
    P = O.locatenew('P', x*N.x + y*N.y)
    bodies = [Particle('p', P, 1), Particle('q', P.locatenew('Q', N.y), 1)]
    L = x.diff()**2 + y.diff()**2
    method = UdwadiaKalabaMethod(L, [x, y], frame=N, bodies=bodies)
    plain = LagrangesMethod(L, [x, y], frame=N, bodies=bodies)
    motion = simulate(method, 1, [0, 0, 1, 2], t_eval=11)
    for given in method, plain:
        with pytest.raises(MissingIngredientError,
                           match='for p, q .no point is at rest; pass `ori'):
            plotting.plot_snapshots(motion, given)
        with pytest.raises(KinematicsError, match='P has no position: no po'):
            plotting.plot_snapshots(motion, given, {'P': P})
        ax, = plotting.plot_snapshots(motion, given, times=[1.], origin=O).axes
        assert places_in(ax) == {'p': (1, 2), 'q': (1, 3)}
    O.set_vel(N, 0)
    alone = UdwadiaKalabaMethod(L, [x, y], frame=N)
    ax, = plotting.plot_snapshots(motion, alone, {'P': P}, times=[1.]).axes
    assert places_in(ax) == {'P': (1, 2)}


def test_a_film_in_given_axes_with_many_names(pendulum):
    """The layout is left as it is, and no legend covers the picture."""
    motion = simulate(pendulum.compiled, 1, pendulum.start)
    figure, axes = plt.subplots(1, 2, figsize=(8, 3))
    before = axes[0].get_position(True).bounds
    points = {f'P{k}': (k*x/10, k*y/10) for k in range(1, 11)}
    films = [plotting.animate(motion, pendulum.method, some, ax=ax, fps=5,
                              speed=1) for ax, some in zip(axes, (
                                points, dict(list(points.items())[:9])))]
    assert axes[0].get_position(True).bounds == before
    assert [ax.get_legend() is None for ax in axes] == [True, False]
    films[0]._func(5)
    np.testing.assert_allclose(
        [np.ravel(curves(axes[0])[f'P{k}'].get_data())
         for k in range(1, 11)],
        np.outer(np.arange(1, 11)/10, motion.x[-1, :2]), atol=1e-9)
    for film in films:
        finish(film)


@pytest.mark.slow
def test_every_ready_model_is_drawn():
    for name in MODELS:
        case = ready(name, 0.05, throw=False)
        plotting.plot(case.motion, case.model).canvas.draw()
        if name != 'quaternion_top_lagrange':
            frame(0, case.motion, case.model, fps=2, inputs=dict(
                case.model.inputs)).figure.canvas.draw()
        plt.close('all')
