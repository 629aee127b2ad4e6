"""Pictures of a trajectory with matplotlib.

Each function draws one picture, into axes that are given or into a figure of
its own, and returns the figure. Dotted vertical lines are events, dashed ones
changes of rank.
"""
from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np

from .numeric.names import label

__all__ = ['plot', 'plot_states', 'plot_residuals', 'plot_energy',
           'plot_constraint_forces', 'plot_multipliers', 'plot_motion']

# Zero has no logarithm: smaller residuals are drawn at this value.
FLOOR = 1e-17
# More residuals are summed up by level.
FEW_ROWS = 4


def plot(trajectory):
    """Overview: states, residuals, energy, constraint forces, multipliers.

    Parameters
    ==========

    trajectory : Trajectory

    Returns
    =======

    matplotlib.figure.Figure

    """
    coordinates, speeds = _groups(trajectory)
    panels = [(plot_states, {'names': names})
              for names in (coordinates, speeds) if names]
    if trajectory.residuals.shape[1]:
        panels.append((plot_residuals, {}))
    if trajectory.energy is not None:
        panels.append((plot_energy, {}))
    if trajectory.multipliers.shape[1]:
        panels.append((plot_constraint_forces, {}))
        panels.append((plot_multipliers, {}))
    rows = -(-len(panels)//2)
    figure, axes = plt.subplots(rows, 2, figsize=(13, 2.8*rows), sharex=True,
                                layout='constrained', squeeze=False)
    for ax, (draw, options) in zip(axes.flat, panels):
        draw(trajectory, ax=ax, **options)
    if len(panels) % 2:
        axes.flat[-1].set_axis_off()
    _time_below(axes, len(panels))
    figure.suptitle(trajectory.message, fontsize='medium')
    return figure


def plot_states(trajectory, names=None, ax=None):
    """Histories of states.

    Without names and axes, coordinates and speeds get a panel each.

    Parameters
    ==========

    trajectory : Trajectory
    names : iterable of SymPy objects or str, optional
        All states by default.
    ax : matplotlib axes, optional

    """
    if names is None and ax is None:
        groups = [group for group in _groups(trajectory) if group]
        figure, axes = plt.subplots(
            len(groups), 1, figsize=(7, 2.8*len(groups)), sharex=True,
            layout='constrained', squeeze=False)
        for ax, group in zip(axes.flat, groups):
            plot_states(trajectory, group, ax)
        _time_below(axes, len(groups))
        return figure
    if names is None:
        names = trajectory.states
    elif isinstance(names, str) or hasattr(names, 'free_symbols'):
        names = (names,)
    names = list(names)
    labels = [name if isinstance(name, str) else label(name)
              for name in names]
    title = 'states'
    for group, text in zip(_groups(trajectory), ('coordinates', 'speeds')):
        if set(labels) <= set(map(label, group)):
            title = text
    return _lines(trajectory, [trajectory[name] for name in names], labels,
                  title, ax)


def plot_residuals(trajectory, ax=None):
    """Absolute residuals of the constraints, on a logarithmic scale.

    Of many constraints, the largest residual at each level.
    """
    rows = np.maximum(np.abs(trajectory.residuals), FLOOR).T
    names = trajectory.residual_names
    if len(rows) > FEW_ROWS:
        holonomic = sum(f'rate of {name}' in names for name in names)
        levels = [('position level', rows[:holonomic]),
                  ('velocity level', rows[holonomic:])]
        levels = [level for level in levels if len(level[1])]
        names = [f'largest at {name}' for name, _ in levels]
        rows = [values.max(axis=0) for _, values in levels]
    figure = _lines(trajectory, rows, names, 'constraint residuals', ax)
    ax = ax or figure.axes[0]
    ax.set_yscale('log')
    return figure


def plot_energy(trajectory, ax=None):
    """Change of the energy beside the work done since the start."""
    if trajectory.energy is None:
        raise ValueError("`trajectory` carries no energy: it is not known "
                         "for the model.")
    columns = [trajectory.energy - trajectory.energy[:1]]
    labels, title = ['change of energy'], 'energy balance'
    if trajectory.work is not None and trajectory.work.any():
        columns.append(trajectory.work - trajectory.work[:1])
        labels.append('work')
    error = trajectory.energy_error
    if error is not None:
        title += f', largest error {np.abs(error).max(initial=0.):.1e}'
    return _lines(trajectory, columns, labels, title, ax)


def plot_constraint_forces(trajectory, ax=None):
    """Generalized constraint forces, one for each speed."""
    labels = [f'on {label(u)}' for u in trajectory.speeds]
    return _lines(trajectory, trajectory.constraint_forces.T, labels,
                  'generalized constraint forces', ax)


def plot_multipliers(trajectory, ax=None):
    """Multipliers of the constraints."""
    return _lines(trajectory, trajectory.multipliers.T,
                  list(map(label, trajectory.multiplier_names)),
                  'multipliers', ax)


def plot_motion(points, ax=None):
    """Paths of points in a plane, each with its start and its end.

    Parameters
    ==========

    points : mapping
        Name -> pair of arrays, the history of both coordinates.
    ax : matplotlib axes, optional

    Examples
    ========

    >>> import numpy as np
    >>> from sympy_constrained.visual import plot_motion
    >>> angle = np.linspace(0, 3)
    >>> figure = plot_motion({'bob': (np.sin(angle), -np.cos(angle))})
    >>> figure.axes[0].get_xlabel()
    'x'

    """
    if not isinstance(points, Mapping):
        raise TypeError("`points` must map names to pairs of arrays, not be "
                        f"a {type(points).__name__}.")
    figure, ax = _axes(ax, (7, 5))
    for name, (x, y) in points.items():
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        if x.ndim != 1 or x.shape != y.shape:
            raise ValueError(
                f"`points[{name!r}]` has arrays of shapes {x.shape} and "
                f"{y.shape}; two of equal length are needed.")
        line, = ax.plot(x, y, label=str(name))
        ax.plot(x[:1], y[:1], 'o', mfc='none', color=line.get_color())
        ax.plot(x[-1:], y[-1:], 'o', color=line.get_color())
    ax.set(xlabel='x', ylabel='y',
           title='paths: open circle at the start, full at the end')
    ax.set_aspect('equal', adjustable='box')
    ax.grid(alpha=0.3)
    _legend(ax, len(points))
    return figure


def _groups(trajectory):
    """Coordinates (and other states), then speeds."""
    speeds = [x for x in trajectory.states if x in trajectory.speeds]
    return [x for x in trajectory.states if x not in speeds], speeds


def _time_below(axes, count):
    """Numbers and name of the time axis only where no panel is below."""
    columns = axes.shape[1]
    for i, ax in enumerate(axes.flat[:count]):
        last = i + columns >= count
        ax.tick_params(labelbottom=last)
        ax.set_xlabel('t' if last else '')


def _axes(ax, size=(7, 3.5)):
    if ax is not None:
        return ax.figure, ax
    return plt.subplots(figsize=size, layout='constrained')


def _lines(trajectory, columns, labels, title, ax):
    figure, ax = _axes(ax)
    styles = [('-', 2.2)] + [('--', 1.3), ('-', 1.3)]*len(columns)
    for values, text, (style, width) in zip(columns, labels, styles):
        # the first is wide and every other dashed: equal lines stay visible
        ax.plot(trajectory.t, values, label=text, linestyle=style,
                linewidth=width)
    for event in trajectory.events:
        ax.axvline(event.t, color='0.6', linestyle=':', linewidth=1)
    for change in trajectory.rank_changes:
        ax.axvline(change.t, color='0.4', linestyle='--', linewidth=1)
    ax.set(xlabel='t', title=title)
    ax.grid(alpha=0.3)
    _legend(ax, len(labels))
    return figure


def _legend(ax, count):
    if count:
        ax.legend(fontsize='small', loc='center left', frameon=False,
                  bbox_to_anchor=(1.0, 0.5), ncols=1 + count//20)
