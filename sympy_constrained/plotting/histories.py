"""Histories of a trajectory, and paths."""
import matplotlib.pyplot as plt
import numpy as np

from ..model.build import system_of
from ..model.call_signatures import check_choice
from ..numeric.names import Names, label
from ..numeric.tolerances import TOLERANCE
from ..scene.labels import (
    check_trajectory, in_unit, paths_of, rows_of, tex, unit_of, with_units)
from .panels import (
    HEIGHT, WIDTH, axes_for, draw_lines, draw_path, in_panels, is_noise,
    plot_path)


FLOOR = 1e-16           # smaller residuals are drawn here
FORCES = {'m/s': 'N', 'rad/s': 'N m'}
# A change of energy below this part is an error, not a motion's.
QUIET = 1e-6


def plot(trajectory, model=None):
    """Overview: states, energy, constraint forces and multipliers.

    Each kind of quantity has a panel. Two coordinates that locate a point are
    drawn as its path. Residuals below the tolerance and a constant energy have
    a line in the title instead.

    The ``model`` that was simulated, a method, a ready model or a SymPy
    object, names the picture, and knows units and paths.
    """
    trajectory = with_units(trajectory, model)
    panels, notes = _state_panels(trajectory, model), []
    if trajectory.residuals.size:
        largest = trajectory.largest_residual
        notes.append(f'constraint residuals at most {largest:.0e}')
        if largest > TOLERANCE:
            panels.append((plot_residuals, {}))
    if trajectory.energy is not None:
        quiet = _quiet_energy(trajectory)
        if quiet is None:
            panels.append((plot_energy, {}))
        else:
            notes.append(f'energy constant to {quiet:.0e}{_unit(trajectory)}')
    if trajectory.multipliers.shape[1]:
        panels += _force_panels(trajectory)
    figure = in_panels(trajectory, panels, 2)
    title = getattr(model, 'title', '') or (
        type(model).__name__ if model is not None else '')
    if not trajectory.success:
        notes.insert(0, trajectory.message)
    figure.suptitle('\n'.join(filter(None, (title, '; '.join(notes)))),
                    fontsize='medium')
    return figure


def _state_panels(trajectory, model):
    paths = [] if model is None else [
        tuple(map(label, pair)) for pair in paths_of(system_of(model))]
    alone, panels = {x for pair in paths for x in pair}, []
    for names in _groups(trajectory):
        panels += [(plot_states, {'names': group}) for group in _by_unit(
            trajectory, [x for x in names if label(x) not in alone])]
        panels += [(plot_path, {'pair': pair}) for pair in paths
                   if pair[0] in map(label, names)]
    return panels


def _force_panels(trajectory):
    """Panels of constraint forces and multipliers by unit, without noise."""
    rows = range(len(trajectory.multiplier_names))
    return [(plot_constraint_forces, {'speeds': group}) for group in
            _by_unit(trajectory, trajectory.speeds)
            if not is_noise(*_forces_on(trajectory, group))] + [
        (plot_multipliers, {'rows': group}) for group in _by_unit(
            trajectory, rows, lambda k: _row_unit(trajectory, k))
        if not is_noise(trajectory.multipliers[:, group],
                        trajectory.multipliers)]


def plot_states(trajectory, names=None, ax=None):
    """Histories of states, by SymPy object or name; all by default.

    Without names and axes, coordinates and speeds get a panel for each unit.
    """
    check_trajectory(trajectory)
    if names is None and ax is None:
        return in_panels(trajectory, [
            (plot_states, {'names': group}) for names in _groups(trajectory)
            for group in _by_unit(trajectory, names)])
    if names is None:
        names = trajectory.states
    elif isinstance(names, str) or hasattr(names, 'free_symbols'):
        names = (names,)
    labels = list(map(label, names))
    kind = next((text for text, group in zip(
        ('coordinates', 'speeds'), _groups(trajectory))
        if set(labels) <= set(map(label, group))), 'states')
    return draw_lines(
        trajectory, [trajectory[name] for name in names],
        [_name(trajectory, name) for name in names], kind, ax,
        [unit_of(trajectory, name) for name in names], scale=trajectory.x)


def plot_residuals(trajectory, ax=None):
    """The largest residuals of positions and velocities, and the tolerance."""
    check_trajectory(trajectory)
    rows = np.maximum(np.abs(trajectory.residuals), FLOOR).T
    names = trajectory.residual_names
    count = sum(f'rate of {name}' in names for name in names)
    levels = [('of positions', rows[:count]), ('of velocities', rows[count:])]
    levels = [(name, values.max(axis=0)) for name, values in levels
              if len(values)]
    figure = draw_lines(trajectory, [values for _, values in levels], [
        name for name, _ in levels], 'largest residual', ax)
    ax = ax or figure.axes[0]
    ax.axhline(TOLERANCE, color='0.3', linewidth=0.8, label='_tolerance')
    ax.annotate('tolerance', (1, TOLERANCE), (-2, 2), ha='right',
                xycoords=('axes fraction', 'data'), fontsize='small',
                textcoords='offset points', color='0.3')
    ax.set_yscale('log')
    return figure


def plot_energy(trajectory, ax=None):
    """Change of the energy, the work since the start and, unless axes are
    given, nonzero power.
    """
    energy = known(trajectory, 'energy')
    if ax is None and _has_power(trajectory):
        return in_panels(trajectory, [(plot_energy, {}), (plot_power, {})])
    columns, labels = [energy - energy[:1]], ['change of energy']
    error = trajectory.energy_error
    if error is not None and _quiet_energy(trajectory) is None:
        columns.append(trajectory.work - trajectory.work[:1])
        labels.append(f'work, within {np.abs(error).max(initial=0.):.0e}'
                      + _unit(trajectory))
    return draw_lines(
        trajectory, columns, labels, 'energy', ax,
        [unit_of(trajectory, 'energy')], scale=_energy_scale(trajectory))


def plot_power(trajectory, ax=None):
    """Power of known forces without a potential, and the energy's rate.

    Moving constraints make the two differ.
    """
    columns, labels = [known(trajectory, 'power')], ['power of forces']
    if trajectory.energy_rate is not None:
        columns.append(trajectory.energy_rate)
        labels.append('rate of energy')
    return draw_lines(trajectory, columns, labels, 'power', ax,
                      [unit_of(trajectory, 'power')])


def plot_phase(trajectory, x, v=None, ax=None):
    """Path in a phase plane, from an open circle to a full one; events are
    crosses.

    ``x`` and ``v`` are states or multipliers, by SymPy object or name; ``v``
    is by default the rate of the state ``x``.
    """
    check_trajectory(trajectory)
    places = trajectory[x]
    if v is None:
        v = f"{label(x)}'"
        i, = Names(trajectory.states, 'state').indices(label(x), 'x')
        speeds = trajectory.rates[:, i]
    else:
        speeds = trajectory[v]
    figure, ax = axes_for(ax, (4., 3.4))
    draw_path(ax, places, speeds)
    met = [np.argmin(abs(trajectory.t - event.t))
           for event in trajectory.events]
    if met:
        ax.plot(places[met], speeds[met], 'kx', label='event')
        ax.legend(fontsize='small')
    ax.set(xlabel=in_unit(tex(x), unit_of(trajectory, x)),
           ylabel=in_unit(tex(v), unit_of(trajectory, v)))
    ax.margins(0.08)
    ax.grid(alpha=0.3)
    return figure


def plot_constraint_forces(trajectory, ax=None, speeds=None):
    """Generalized constraint forces, one for each speed, or for some."""
    check_trajectory(trajectory)
    speeds = trajectory.speeds if speeds is None else speeds
    units = [FORCES.get(unit_of(trajectory, u), '') for u in speeds]
    forces, scale = _forces_on(trajectory, speeds)
    return draw_lines(
        trajectory, forces.T, [f'on {tex(u)}' for u in speeds],
        'generalized constraint force', ax, units, 'constraint ', scale)


def plot_multipliers(trajectory, ax=None, rows=None):
    """Multipliers of the constraints, or of some rows; of least norm where
    rows are redundant.
    """
    check_trajectory(trajectory)
    rows = range(len(trajectory.multiplier_names)) if rows is None else rows
    names = rows_of(trajectory)
    labels = [': '.join(filter(None, (
        tex(trajectory.multiplier_names[k]), names[k]))) for k in rows]
    full = len(trajectory.speeds) + len(names)
    is_redundant = trajectory.rank.max(initial=0) < full
    kind = 'multiplier of\nleast norm' if is_redundant else 'multiplier'
    return draw_lines(
        trajectory, trajectory.multipliers[:, list(rows)].T, labels, kind, ax,
        [_row_unit(trajectory, k) for k in rows], None,
        trajectory.multipliers)


def plot_reactions(trajectory, names=None, ax=None):
    """Forces and moments in joints, of a run with ``reactions``.

    Of one joint or row of the ``names`` the components, of several or all the
    magnitudes. ``ax`` is a pair for forces and moments; without it those that
    vanish have no panel.
    """
    check_trajectory(trajectory)
    if not trajectory.reactions:
        raise ValueError(
            "`trajectory` has no reactions. Pass `reactions="
            "method.joint_reactions()` to `simulate`.")
    names = [names] if isinstance(names, str) else list(
        names or trajectory.reactions)
    for name in names:
        check_choice('names', name, list(trajectory.reactions))
    scale = np.array([trajectory.reactions[name] for name in names])
    kinds = [(kind, scale[..., part]) for kind, part in (
        ('force', slice(3)), ('moment', slice(3, None)))]
    if ax is None:
        kinds = [(kind, parts) for kind, parts in kinds
                 if not is_noise(parts, scale)] or kinds[:1]
        ax = plt.subplots(len(kinds), 1, figsize=(WIDTH, HEIGHT*len(kinds)),
                          sharex=True, layout='constrained', squeeze=False
                          )[1][:, 0]
    for (kind, parts), place in zip(kinds, ax):
        draw_lines(trajectory, *_components(kind, parts, names), kind, place,
                   [unit_of(trajectory, kind)], scale=scale)
    for upper in ax[:-1]:
        upper.set_xlabel('')
    for lower in ax[1:] if len(names) > 1 else ():
        lower.get_legend().remove()     # the same as above
    return ax[0].figure


def _components(kind, parts, names):
    """Components of one vector or magnitudes of several, and labels."""
    if len(names) > 1:
        return np.linalg.norm(parts, axis=2), names
    return parts[0].T, [f'${kind[0].upper()}_{axis}$ in {names[0]}'
                        for axis in 'xyz']


def known(trajectory, name):
    """The energy or power of a trajectory."""
    check_trajectory(trajectory)
    values = getattr(trajectory, name)
    if values is None:
        raise ValueError(
            f"`trajectory` has no {name}: it is unknown for the model. Build "
            "that from bodies and loads, or from a Lagrangian.")
    return values


# -- quantities ----------------------------------------------------------

def _groups(trajectory):
    speeds = [x for x in trajectory.states if x in trajectory.speeds]
    return [x for x in trajectory.states if x not in speeds], speeds


def _forces_on(trajectory, speeds):
    """Generalized constraint forces, and those of all speeds."""
    forces = trajectory.constraint_forces
    return forces[:, Names(trajectory.speeds, 'speed').indices(
        map(label, speeds), 'speeds')], forces


def _has_power(trajectory):
    power = trajectory.power
    return power is not None and not is_noise(
        power*np.ptp(trajectory.t), _energy_scale(trajectory))


def _energy_scale(trajectory):
    """The largest energy, also of those that constraint forces exchange."""
    forces = trajectory.constraint_forces.T
    speeds = np.reshape([trajectory[u] for u in trajectory.speeds],
                        forces.shape)
    exchanged = forces*speeds*np.ptp(trajectory.t)
    return max(np.abs(x).max(initial=0.) for x in (
        trajectory.energy, exchanged))


def _by_unit(trajectory, names, unit=None):
    """Lists of names whose quantities have the same unit."""
    groups = {}
    for name in names:
        groups.setdefault(unit(name) if unit else unit_of(
            trajectory, name), []).append(name)
    return list(groups.values())


def _row_unit(trajectory, k):
    return unit_of(trajectory, trajectory.multiplier_names[k]) or unit_of(
        trajectory, f'multiplier of {rows_of(trajectory)[k]}')


def _unit(trajectory):
    unit = unit_of(trajectory, 'energy')
    return unit and f' {unit}'


def _name(trajectory, x):
    """A state in mathematical type, with the rate that it is."""
    if label(x).endswith("'") or x not in trajectory.speeds:
        return tex(x)
    values = trajectory[x]
    rate = next((q for q, rates in zip(trajectory.states, trajectory.rates.T)
                 if np.array_equal(rates, values)), None)
    same = '' if rate is None else ' = ' + tex(label(rate) + "'")
    return tex(x) + same


def _quiet_energy(trajectory):
    """The change of an energy that is constant but for errors, or None."""
    change, error = np.ptp(trajectory.energy), trajectory.energy_error
    if error is None:
        return None
    largest = QUIET*max(1., np.abs(trajectory.energy).max(initial=0.))
    is_quiet = change <= largest and np.ptp(trajectory.work) <= largest
    return change if is_quiet else None
