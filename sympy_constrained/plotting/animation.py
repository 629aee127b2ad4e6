"""Bodies in motion: animations, and pictures at some times."""
from math import ceil, floor, log10
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from matplotlib.layout_engine import ConstrainedLayoutEngine

from ..numeric.integrate.arguments import check_sizes
from ..numeric.names import array, label
from ..numeric.progress import Progress
from ..scene.labels import in_unit, unit_of, with_units
from ..scene.positions import finer
from ..scene.scene_items import SceneItems


# Motions shorter or longer than the first two (seconds) are animated at a
# speed that takes about the last one.
SHORTEST, LONGEST, USUAL = 2., 15., 8.
MOST_LABELS = 9
NARROW = 2.7            # width of axes in space without numbers, in inches
DPI = 80                # of files
# Times of the paths in a picture, and for each frame of an animation.
SMOOTH, FINEST = 600, 8


def animate(trajectory, model=None, points=(), lines=(), *, contacts=(),
            surfaces=(), springs=(), forces=None, view=None, camera=(25, -60),
            origin=None, frame=None, constants=None, inputs=None, trails=True,
            speed=None, fps=25, save=None, ax=None, progress=None):
    r"""Bodies, points, lines and traces of contacts in motion.

    A body with points fixed in it, such as joints, is drawn as bars with
    pins, one with a surface as that surface, others as a dot at the mass
    centre with the axes of the frame (red, green, blue), or as a square if
    they slide without turning. Motions in a plane of the inertial axes are
    seen from the front, others in space.

    Examples
    ========

    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.models import model
    >>> from sympy_constrained.numeric import simulate
    >>> from sympy_constrained.plotting import animate
    >>> pendulum = model('cartesian_pendulum')
    >>> motion = simulate(pendulum.form(UdwadiaKalabaMethod), 2,
    ...                   pendulum.start, constants=pendulum.parameters)
    >>> film = animate(motion, pendulum, lines=[((0, 0), 'bob')], fps=5)
    >>> film.save('pendulum.gif')           # doctest: +SKIP

    Parameters
    ==========

    trajectory : Trajectory
    model : optional
        What was simulated: a method, a ready model, which also knows its
        surfaces, springs and forces, or a SymPy object. Not needed if places
        are given as expressions.
    points : Points, or mapping from names to places
        Further points, drawn with their paths. A place is a Point, a Vector
        from the origin, a pair or triple of expressions in the states, or
        the name of one of these points, of a body or of a point.
    lines, springs : iterable of sequences of places, or mapping to these
        Drawn as lines, and as coils between two places.
    contacts : PointContact, or iterable of these
        Draws the traces on both bodies, and their surfaces.
    surfaces : surface, rim or edge, or iterable of these
    forces : mapping, optional
        Name -> pair of a place and a Vector, a triple of expressions in the
        states and multipliers, or an array (N, 3) like those of
        ``trajectory.reactions``.
    view : optional
        ``'3d'``, or a plane: the axes to the right and upwards, ``'xz'``.
    camera : pair of float
        Elevation and azimuth in degrees, of a view in space.
    origin : Point, optional
        Where to look from; by default a point at rest. If no point stays at
        rest, the velocity is integrated.
    frame : ReferenceFrame, optional
        The inertial frame, for a model that was built without one.
    constants : mapping, optional
        Numbers for constants that only the picture has.
    inputs : mapping, optional
        As for :func:`~sympy_constrained.numeric.simulate`.
    trails : bool
        Whether the paths of mass centres and points are drawn.
    speed : float, optional
        Of the picture relative to the motion; by default 1 unless that is too
        short or too long to watch.
    fps : float
    save : path, optional
        Write a ``.gif``, or another format if matplotlib finds ffmpeg.
    ax : matplotlib axes, optional
        Made with ``projection='3d'`` for a view in space.
    progress : bool, optional
        Show a progress bar while saving; by default in a terminal.

    Returns
    =======

    matplotlib.animation.FuncAnimation
        Keep it in a variable; otherwise matplotlib deletes it.

    Raises
    ======

    KinematicsError
        If a point has no position relative to the origin.
    MissingIngredientError
        If the value of a constant or of an input is unknown, or if nothing
        can be drawn.
    ValueError
        If there are too few frames, or ``save`` ends with ``.html``.

    """
    if save is not None and Path(save).suffix == '.html':
        raise ValueError(
            f"`save` is {str(save)!r}, and animations are not written as "
            "HTML. `sympy_constrained.report.report(method, start, "
            "constants)` makes a page in which the motion runs; or save a "
            ".gif.")
    trajectory = with_units(trajectory, model)
    times, speed = frame_times(trajectory, speed, fps)
    step = int(np.clip(SMOOTH//len(times), 1, FINEST))  # of smooth paths
    items = SceneItems(trajectory, model, finer(times, step), **as_drawn(
        model, trajectory, points=points, lines=lines, contacts=contacts,
        surfaces=surfaces, springs=springs, forces=forces), view=view,
        origin=origin, frame=frame, constants=constants, inputs=inputs,
        trails=trails)
    is_own = ax is None
    figure, ax = prepared(items, ax, camera, trajectory, layout='none')
    artists = items.draw(ax, 0)
    add_legend(ax, is_own)
    digits = max(0, ceil(-log10(abs(times[1] - times[0]))))
    unit = unit_of(trajectory, 't')
    unit = f' {unit}' if unit else ''
    factor = '' if speed == 1 else (
        f'  ({speed:g} × real time)' if speed >= 1e-3 else
        f'  (1/{1/speed:g} of real time)')

    def update(k):
        items.update(artists, k*step)
        ax.set_title(f't = {times[k]:.{digits}f}{unit}{factor}',
                     fontsize='medium')
        return artists

    update(0)
    if is_own:                          # once, because it is slow
        ConstrainedLayoutEngine().execute(figure)
    film = FuncAnimation(figure, update, frames=len(times),
                         interval=1000/fps, repeat_delay=700)
    if save is not None:
        write(film, figure.canvas, Path(save), len(times), progress)
    return film


def plot_snapshots(trajectory, model=None, points=(), lines=(), times=5, *,
                   contacts=(), surfaces=(), springs=(), forces=None,
                   view=None, camera=(25, -60), origin=None, frame=None,
                   constants=None, inputs=None, trails=True, legend=True,
                   ax=None):
    """Bodies, points and lines at some times, the last one the darkest.

    The static counterpart of :func:`animate`, with whole paths. Without
    ``trails`` the axes contain the bodies at these times only.

    Parameters
    ==========

    trajectory : Trajectory
    times : int or sequence of float
        The number of times from start to end, or the times.
    others
        As for :func:`animate`.
    legend : bool
        Whether the names of bodies are below the picture.

    """
    trajectory = with_units(trajectory, model)
    start, end = ends(trajectory)
    given, times = times, array(times, 'times')
    if times.ndim == 0:
        times = np.linspace(start, end, int(times)) if (
            1 < times < np.inf) else [end]*int(times == 1)
    if not len(times) or np.ndim(times) > 1:
        raise ValueError(f"`times` is {given!r}. Give a positive number of "
                         "times, or the times in a flat list.")
    all_times = np.unique([*np.linspace(start, end, SMOOTH), *times])
    if end < start:
        all_times = all_times[::-1]
    where = [int(np.argmin(abs(all_times - t))) for t in times]
    items = SceneItems(trajectory, model, all_times, **as_drawn(
        model, trajectory, points=points, lines=lines, contacts=contacts,
        surfaces=surfaces, springs=springs, forces=forces), view=view,
        origin=origin, frame=frame, constants=constants, inputs=inputs,
        trails=trails, drawn=where)
    is_own = ax is None
    figure, ax = prepared(items, ax, camera, trajectory)
    for i, k in enumerate(where[:-1]):
        items.draw(ax, k, 0.15 + 0.45*i/len(where), False, False)
    items.draw(ax, where[-1])
    if legend:
        add_legend(ax, is_own)
    unit = unit_of(trajectory, 't')
    text = ', '.join(f'{t:.3g}' for t in times[:8])
    ax.set_title(f't = {text}{", ..." if len(times) > 8 else ""}'
                 f'{unit and " " + unit}', fontsize='medium')
    return figure


# -- times ---------------------------------------------------------------

def as_drawn(model, trajectory, **given):
    """What is given, and the rest of what a ready model knows."""
    known = dict(getattr(model, 'visual', {}))
    if 'lam1' not in map(label, trajectory.multiplier_names):
        known.pop('forces', None)       # of a method with other multipliers
    return {**known, **{
        name: x for name, x in given.items() if x or x == 0}}


def ends(trajectory):
    if len(trajectory.t) < 2:
        raise ValueError(
            f"`trajectory` has {len(trajectory.t)} output times, and a "
            f"picture of a motion needs two: {trajectory.message} Simulate "
            "with more, such as `t_eval=101`.")
    return float(trajectory.t[0]), float(trajectory.t[-1])


def frame_times(trajectory, speed, fps):
    start, end = ends(trajectory)
    length = abs(end - start)
    if speed is None:
        speed = 1. if SHORTEST <= length <= LONGEST else (
            round_number(length/USUAL))
    check_sizes(speed=speed, fps=fps)
    count = floor(length/speed*fps + 1e-9) + 1
    if count < 2:
        raise ValueError(
            f"At speed {speed:g} and {fps:g} pictures a second, the motion "
            f"of length {length:.3g} has only {count} frame. Leave `speed` "
            f"out, or pass a smaller one, such as "
            f"{round_number(length/USUAL):g}.")
    return np.linspace(start, end, count), speed


def round_number(x):
    """The number 1, 2 or 5 times a power of ten that is nearest."""
    power = 10.**floor(log10(x))
    return min((k*power for k in (1, 2, 5, 10)),
               key=lambda y: abs(log10(y/x)))


# -- axes ----------------------------------------------------------------

def prepared(items, ax, camera, trajectory, layout='constrained'):
    shown = list(items.shown)
    size = (items.high - items.low)[shown]
    space = len(shown) == 3
    if ax is None:
        height = 3.6 + 1.9*slender(size) if space else (
            0.9 + 5.4*size[1]/size[0])
        figure = plt.figure(figsize=(6.5, np.clip(height, 2.4, 6.)),
                            layout=layout)
        ax = figure.add_subplot(projection='3d' if space else None)
    figure = ax.figure
    if space != hasattr(ax, 'get_zlim'):
        raise ValueError(
            "`ax` has the wrong number of dimensions for this motion, which "
            f"is seen in {'space' if space else 'a plane'}. Make it "
            f"{'with' if space else 'without'} `projection='3d'`, or pass "
            "`view`.")
    unit = unit_of(trajectory, 'length')
    for letter, k in zip('xyz', shown):
        ax.set(**{f'{letter}lim': (items.low[k], items.high[k]),
                  f'{letter}label': in_unit('xyz'[k], unit)})
    if space:
        set_space(ax, size, camera)
    else:
        ax.set_aspect('equal', adjustable='box')
        ax.grid(alpha=0.3)
    return figure, ax


def set_space(ax, size, camera):
    axes = ax.xaxis, ax.yaxis, ax.zaxis
    for axis, length in zip(axes, size):
        axis.set_major_locator(matplotlib.ticker.MaxNLocator(
            2 + round(3*length/size.max())))
    if ax.bbox.width < NARROW*ax.figure.dpi:
        for axis in axes:
            axis.set_ticklabels([])
            axis.set_label_text('')
    ax.set_box_aspect(size, zoom=1.4 - 0.3*min(1.5, slender(size)))
    angles = array(camera, 'camera')
    if angles.shape not in ((2,), (3,)):
        raise ValueError(
            f"`camera` is {camera!r}. Give elevation and azimuth in degrees.")
    ax.view_init(*angles)
    ax.zaxis.labelpad = 7 + 4*min(1.5, slender(size))
    ax.tick_params(labelsize='small')


def slender(size):
    return size[2]/size[:2].max()


def add_legend(ax, is_own):
    handles, labels = ax.get_legend_handles_labels()
    if not 0 < len(labels) <= MOST_LABELS:
        return
    if is_own:
        columns = int(ax.figure.get_figwidth()/(
            0.6 + 0.08*max(map(len, labels))))
        ax.figure.legend(handles, labels, fontsize='small', frameon=False,
                         loc='outside lower center', ncols=columns)
    else:
        ax.legend(handles, labels, fontsize='small', frameon=False,
                  loc='upper left', bbox_to_anchor=(1.02, 1.))


# -- files ---------------------------------------------------------------

def write(film, canvas, path, count, progress):
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = {'.gif': 'pillow'}.get(path.suffix.lower())
    bar = Progress(0, count, progress)
    # Otherwise the canvas draws each frame a second time.
    canvas.draw_idle = lambda: None
    try:
        film.save(path, writer=writer, dpi=DPI,
                  progress_callback=lambda k, _: bar.update(k))
    finally:
        del canvas.draw_idle
        bar.close()
