"""Many runs in one picture."""
from itertools import cycle

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from sympy import Basic

from ..model.call_signatures import check_choice
from ..numeric.names import label
from ..numeric.sweeps.result import SweepRun
from ..numeric.trajectory import Trajectory
from .histories import known
from ..scene.labels import COLORS, in_unit, tex, unit_of


OTHERS = ('energy', 'work', 'power', 'energy_error', 'condition', 'rank')
MOST_CURVES = 8


def plot_sweep(result, quantity=None, show='final', parameter=None, ax=None):
    """A quantity of many runs over the parameter that varies.

    Runs that ended early are drawn as crosses or dashed. If a second parameter
    varies, each of its values has a curve.

    Examples
    ========

    >>> from sympy_constrained.plotting import plot_sweep
    >>> runs = [({'l': length}, length**0.5) for length in range(1, 9)]
    >>> figure = plot_sweep(runs)
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_title()
    ('$l$', '8 runs')

    Parameters
    ==========

    result : SweepResult or iterable
        Objects with ``parameters`` and ``trajectory``, or pairs of these: a
        mapping from names to numbers, and a Trajectory, a number or None.
    quantity : SymPy object, str or callable, optional
        A state or multiplier, ``'energy'``, ``'work'``, ``'power'``, ...,
        or a function of a Trajectory that returns a history or a number.
        Not needed for runs with numbers instead of trajectories.
    show : {'final', 'histories'}
        The last value of each history, or the histories themselves.
    parameter : SymPy object or str, optional
        The one on the axis or of the colours, if several vary.
    ax : matplotlib axes, optional

    """
    check_choice('show', show, ('final', 'histories'))
    runs = runs_of(result, quantity)
    done = [run for run in runs if run.value is not None]
    if not done:
        raise ValueError(
            f"None of the {len(runs)} runs has a result. Look at `error` of "
            "one of them for the reason.")
    key, others = varying([run.parameters for run in runs], parameter)
    if ax is None:
        _, ax = plt.subplots(figsize=(6.5, 3.6), layout='constrained')
    if show == 'histories':
        _histories(ax, done, key)
    else:
        _numbers(ax, done, key, others)
    _labels(ax, done[0], quantity, show, key)
    notes = [f'{len(runs)} runs'] + [
        f'{count} {words}' for count, words in (
            (len(runs) - len(done), 'failed'),
            (sum(not run.success for run in done), 'ended early')) if count]
    ax.set_title(', '.join(notes), fontsize='medium')
    ax.grid(alpha=0.3)
    return ax.figure


def runs_of(result, quantity):
    """Runs of a sweep, or of pairs, with a history or number as ``value``."""
    runs = list(getattr(result, 'runs', result))
    if any(isinstance(run, Trajectory) for run in runs):
        raise TypeError(
            "`result` is a list of trajectories. Give pairs of a dictionary "
            "of parameters and a trajectory.")
    # A sweep of numbers keeps the trajectories of failed runs, too.
    kept = 'value' if any(getattr(run, 'value', None) is not None
                          for run in runs) else 'trajectory'
    return [made(quantity, k, *(
        (run.parameters, getattr(run, kept))
        if hasattr(run, 'parameters') else run)) for k, run in enumerate(runs)]


def made(quantity, index, parameters, motion):
    """One run, from a trajectory, a number or None."""
    parameters = {label(k): float(x) for k, x in parameters.items()}
    if not isinstance(motion, Trajectory):
        value = None if motion is None else np.asarray(motion, dtype=float)
        return SweepRun(index, parameters, value=value)
    if quantity is None:
        raise ValueError("`quantity` is needed to draw trajectories: a "
                         "state, its name, or a function of a trajectory.")
    value = history(motion, quantity) if len(motion) else None
    return SweepRun(index, parameters, trajectory=motion, value=value,
                    error=None if motion.success else motion.message)


def varying(parameters, wanted):
    """The parameter on the axis, and the others that vary."""
    values = {name: {p.get(name) for p in parameters}
              for p in parameters for name in p}
    moving = [name for name, found in values.items() if len(found) > 1]
    if wanted is None and len(moving) > 1:
        raise ValueError(
            f"The parameters {', '.join(moving)} vary. Pass the one for the "
            f"axis or the colours, `parameter={moving[0]!r}`.")
    if not values:
        raise ValueError(
            "The runs have no parameters; perhaps their starts vary. Pass "
            "pairs of a mapping from a name to a number and a trajectory.")
    wanted = label(wanted) if wanted is not None else (
        moving or list(values))[0]
    return wanted, [name for name in moving if name != wanted]


def _labels(ax, run, quantity, show, key):
    text, motion = quantity_name(quantity), run.trajectory
    name = text if text in OTHERS or callable(quantity) else tex(text)
    name = in_unit(name, unit_of(motion, text))
    if show == 'histories':
        key = 't'
    elif np.ndim(run.value):
        name = f'final {name}'
    ax.set(xlabel=in_unit(tex(key), unit_of(motion, key)), ylabel=name)


def quantity_name(quantity):
    if isinstance(quantity, (str, Basic)):
        return label(quantity)
    name = getattr(quantity, '__name__', 'quantity')
    return 'quantity' if name == '<lambda>' else name


def history(motion, quantity):
    if not isinstance(quantity, (str, Basic)):
        return np.asarray(quantity(motion), dtype=float)
    states = map(label, (*motion.states, *motion.multiplier_names))
    is_other = quantity in OTHERS and quantity not in states
    return known(motion, quantity) if is_other else motion[quantity]


def _numbers(ax, done, key, others):
    """A curve of numbers for each case of the other parameters."""
    curves: dict = {}
    for run in done:
        value = run.value if np.ndim(run.value) == 0 else run.value[-1]
        case = tuple(run.parameters.get(name) for name in others)
        curves.setdefault(case, []).append(
            (run.parameters[key], float(value), run.success))
    scale = colours([case[0] for case in curves if case] or [0.])
    colors = cycle(COLORS)
    for case in sorted(curves):
        x, y, success = np.array(sorted(curves[case])).T
        text = ', '.join(f'{tex(name)} = {value:.4g}'
                         for name, value in zip(others, case))
        ax.plot(x, y, '.-', label=text or None, color=scale.to_rgba(
            case[0]) if len(others) == 1 else next(colors))
        ax.plot(x[success == 0], y[success == 0], 'x', markersize=8,
                color=COLORS[1])
    if len(others) == 1 and len(curves) > MOST_CURVES:
        ax.figure.colorbar(scale, ax=ax, label=tex(others[0]))
    elif others and len(curves) <= 2*MOST_CURVES:
        ax.legend(fontsize='small', loc='center left', frameon=False,
                  bbox_to_anchor=(1., 0.5))


def _histories(ax, done, key):
    scale = colours([run.parameters[key] for run in done])
    for run in done:
        if run.trajectory is None or np.shape(run.value) != np.shape(
                run.trajectory.t):
            raise ValueError(
                "A run has no history to draw, but an array of shape "
                f"{np.shape(run.value)}. Choose another `show`, or a "
                "`quantity` with one value for each time.")
        ax.plot(run.trajectory.t, run.value, linewidth=1.1,
                color=scale.to_rgba(run.parameters[key]),
                linestyle='-' if run.success else '--')
    ax.figure.colorbar(scale, ax=ax, label=tex(key))


def colours(values):
    # without the end that is too light on white
    colors = matplotlib.colors.LinearSegmentedColormap.from_list(
        'sweep', matplotlib.colormaps['viridis'](np.linspace(0, 0.92, 64)))
    return matplotlib.cm.ScalarMappable(
        matplotlib.colors.Normalize(min(values), max(values)), colors)
