"""Histories of a trajectory, and paths."""
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from ..numeric.names import Names, label

__all__ = ['plot', 'plot_states', 'plot_residuals', 'plot_energy',
           'plot_power', 'plot_phase', 'plot_constraint_forces',
           'plot_multipliers', 'plot_reactions', 'plot_motion']

FLOOR = 1e-17           # smaller residuals are drawn here
FEW_ROWS = 4            # of more, the largest at each level is drawn


def plot(trajectory):
    """Overview: states, residuals, energy, constraint forces, multipliers.

    Parameters
    ==========

    trajectory : Trajectory

    Returns
    =======

    matplotlib.figure.Figure

    """
    panels = [(plot_states, {'names': names})
              for names in _groups(trajectory) if names]
    panels += [(draw, {}) for draw, is_needed in (
        (plot_residuals, trajectory.residuals.shape[1]),
        (plot_energy, trajectory.energy is not None),
        (plot_power, _has_power(trajectory)),
        (plot_constraint_forces, trajectory.multipliers.shape[1]),
        (plot_multipliers, trajectory.multipliers.shape[1])) if is_needed]
    figure = _panels(trajectory, panels, 2, (13, 2.8))
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
        return _panels(trajectory, [(plot_states, {'names': group})
                                    for group in _groups(trajectory)
                                    if group])
    if names is None:
        names = trajectory.states
    elif isinstance(names, str) or hasattr(names, 'free_symbols'):
        names = (names,)
    labels = list(map(label, names))
    title = next((text for text, group in zip(
        ('coordinates', 'speeds'), _groups(trajectory))
        if set(labels) <= set(map(label, group))), 'states')
    return _lines(trajectory, [trajectory[name] for name in names], labels,
                  title, ax, names)


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
    """Change of the energy, and the work done since the start.

    Without axes, nonzero power has a second panel.
    """
    if ax is None and _has_power(trajectory):
        return _panels(trajectory, [(plot_energy, {}), (plot_power, {})])
    energy = known(trajectory, 'energy')
    columns = [energy - energy[:1]]
    labels, title = ['change of energy'], 'energy balance'
    if trajectory.work is not None and trajectory.work.any():
        columns.append(trajectory.work - trajectory.work[:1])
        labels.append('work')
    error = trajectory.energy_error
    if error is not None:
        title += f', largest error {np.abs(error).max(initial=0.):.1e}'
    return _lines(trajectory, columns, labels, title, ax, 'energy')


def plot_power(trajectory, ax=None):
    """Power of known forces without a potential, and the energy's rate.

    Moving constraints make the two differ.
    """
    columns, labels = [known(trajectory, 'power')], ['power of forces']
    if trajectory.energy_rate is not None:
        columns.append(trajectory.energy_rate)
        labels.append('rate of energy')
    return _lines(trajectory, columns, labels, 'power', ax, 'power')


def plot_phase(trajectory, x, v=None, ax=None):
    """Path in a phase plane, open circle at the start, full at the end.

    Events are crosses.

    Parameters
    ==========

    trajectory : Trajectory
    x, v : SymPy object or str
        States or multipliers. By default ``v`` is the rate of the state
        ``x``.
    ax : matplotlib axes, optional

    """
    places, name = trajectory[x], label(x)
    if v is None:
        v = f"{name}'"
        i, = Names(trajectory.states, 'state').indices(x, 'x')
        speeds = trajectory.rates[:, i]
    else:
        speeds = trajectory[v]
    figure, ax = _axes(ax, (5.6, 4.6))
    _path(ax, places, speeds)
    met = [np.argmin(abs(trajectory.t - event.t))
           for event in trajectory.events]
    if met:
        ax.plot(places[met], speeds[met], 'kx', label='event')
        ax.legend(fontsize='small')
    ax.set(xlabel=in_unit(name, unit_of(trajectory, x)),
           ylabel=in_unit(label(v), unit_of(trajectory, v)),
           title=f'phase plane of {name}')
    ax.margins(0.08)
    ax.grid(alpha=0.3)
    return figure


def plot_constraint_forces(trajectory, ax=None):
    """Generalized constraint forces, one for each speed."""
    labels = [f'on {label(u)}' for u in trajectory.speeds]
    return _lines(trajectory, trajectory.constraint_forces.T, labels,
                  'generalized constraint forces', ax)


def plot_multipliers(trajectory, ax=None):
    """Multipliers of the constraints."""
    names = trajectory.multiplier_names
    return _lines(trajectory, trajectory.multipliers.T,
                  list(map(label, names)), 'multipliers', ax, names)


def plot_reactions(trajectory, names=None, ax=None):
    """Forces and moments in joints, of a run with ``reactions``.

    Of one joint the components, of several the magnitudes.

    Parameters
    ==========

    trajectory : Trajectory
    names : str or iterable of str, optional
        Joints or rows; all by default.
    ax : pair of matplotlib axes, optional
        For forces and moments.

    """
    if not trajectory.reactions:
        raise ValueError(
            "`trajectory` has no reactions. Pass `reactions="
            "method.joint_reactions()` to `simulate`.")
    names = [names] if isinstance(names, str) else list(
        names or trajectory.reactions)
    if ax is None:
        ax = plt.subplots(2, 1, figsize=(7, 5.6), sharex=True,
                          layout='constrained')[1]
    for k, (kind, place) in enumerate(zip(('force', 'moment'), ax)):
        parts = [trajectory.reactions[name][:, 3*k:3*k + 3] for name in names]
        if len(names) == 1:
            columns, labels = parts[0].T, 'xyz'
            title = f'{kind} in {names[0]}'
        else:
            columns, labels = [np.linalg.norm(part, axis=1)
                               for part in parts], names
            title = f'{kind}s in joints'
        _lines(trajectory, columns, labels, title, place, kind)
    ax[0].set_xlabel('')
    return ax[0].figure


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
    >>> from sympy_constrained.plotting import plot_motion
    >>> angle = np.linspace(0, 3)
    >>> figure = plot_motion({'bob': (np.sin(angle), -np.cos(angle))})
    >>> figure.axes[0].get_xlabel()
    'x'

    """
    figure, ax = _axes(ax, (7, 5))
    for name, (x, y) in points.items():
        _path(ax, x, y, str(name))
    ax.set(xlabel='x', ylabel='y',
           title='paths: open circle at the start, full at the end')
    ax.set_aspect('equal', adjustable='box')
    ax.grid(alpha=0.3)
    _legend(ax, len(points))
    return figure


def known(trajectory, name):
    """The energy or power of a trajectory."""
    values = getattr(trajectory, name)
    if values is None:
        raise ValueError(
            f"`trajectory` has no {name}: it is unknown for the model. Build "
            "that from bodies and loads, or from a Lagrangian.")
    return values


def unit_of(trajectory, key):
    """Text of the unit of a quantity, or an empty one.

    ``trajectory.units`` maps states, or ``'t'``, ``'energy'``, ``'power'``,
    ``'force'``, ``'moment'`` and ``'length'``, to texts.
    """
    units = getattr(trajectory, 'units', None) or {}
    return {label(name): text for name, text in units.items()}.get(
        label(key), '')


def in_unit(name, unit):
    """Text of an axis."""
    return f'{name} in {unit}' if unit else name


def _groups(trajectory):
    """Coordinates (and other states), then speeds."""
    speeds = [x for x in trajectory.states if x in trajectory.speeds]
    return [x for x in trajectory.states if x not in speeds], speeds


def _has_power(trajectory):
    return trajectory.power is not None and trajectory.power.any()


def _panels(trajectory, panels, columns=1, size=(7, 2.8)):
    """A figure with a panel for each pair of a function and its options."""
    rows = -(-len(panels)//columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(size[0], size[1]*rows), sharex=True,
        layout='constrained', squeeze=False)
    for k, (ax, (draw, options)) in enumerate(zip(axes.flat, panels)):
        draw(trajectory, ax=ax, **options)
        is_lowest = k + columns >= len(panels)
        ax.tick_params(labelbottom=is_lowest)
        if not is_lowest:
            ax.set_xlabel('')
    for ax in axes.flat[len(panels):]:
        ax.set_axis_off()
    return figure


def _path(ax, x, y, name=None):
    """A line with an open circle at its start, a full one at its end."""
    line, = ax.plot(x, y, label=name)
    ax.plot(x[:1], y[:1], 'o', mfc='none', color=line.get_color())
    ax.plot(x[-1:], y[-1:], 'o', color=line.get_color())


def _axes(ax, size=(7, 3.5)):
    if ax is not None:
        return ax.figure, ax
    return plt.subplots(figsize=size, layout='constrained')


def _lines(trajectory, columns, labels, title, ax, keys=()):
    """Histories; ``keys`` are those of :func:`unit_of`, one for all or each.
    """
    figure, ax = _axes(ax)
    units = [unit_of(trajectory, key) for key in (
        [keys] if isinstance(keys, str) else keys)]
    if len(set(units)) == 1 and units[0]:
        ax.set_ylabel(f'in {units[0]}')
    elif any(units):
        labels = list(map(in_unit, labels, units))
    styles = [('-', 2.2)] + [('--', 1.3), ('-', 1.3)]*len(columns)
    for values, text, (style, width) in zip(columns, labels, styles):
        # the first is wide and every other dashed: equal lines stay visible
        ax.plot(trajectory.t, values, label=text, linestyle=style,
                linewidth=width)
    for marks, color, style, text in (
            ([event.t for event in trajectory.events], '0.6', ':', 'event'),
            ([change.t for change in trajectory.rank_changes], '0.4', '--',
             'change of rank'),
            (trajectory.passages, '0.8', '-.', 'singular')):
        for i, mark in enumerate(marks):
            ax.axvline(mark, color=color, linestyle=style, linewidth=1,
                       label='_' if i else text)
    ax.set(xlabel=in_unit('t', unit_of(trajectory, 't')), title=title)
    ax.grid(alpha=0.3)
    _legend(ax, len(labels))
    return figure


def _legend(ax, count):
    if count:
        ax.legend(fontsize='small', loc='center left', frameon=False,
                  bbox_to_anchor=(1.0, 0.5), ncols=1 + count//20)
