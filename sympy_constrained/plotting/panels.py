"""Panels: axes with histories or a path, and their legends."""
import matplotlib.pyplot as plt
import numpy as np

from ..scene.labels import COLORS, in_unit, tex, unit_of, visible


WIDTH, HEIGHT = 6.5, 2.1    # of a page, and of a panel, in inches
# Of more curves, three are in the legend and colours run along them.
MOST = 9
LETTER, SAMPLE = 0.07, 0.45     # widths in a legend, in inches
LONGEST = 20            # letters at an axis
STYLES = ('-', '--', '-.', ':')
QUANTITIES = {
    'rad': 'angle', 'm': 'position', 'rad/s': 'angular velocity',
    'm/s': 'velocity', 'N': 'force', 'N m': 'moment'}
# Quantities below this part of the largest of their kind are rounding errors.
NOISE = 1e-11


def is_noise(values, scale):
    """Whether values are rounding errors of those of the same kind."""
    return np.abs(values).max(initial=0.) <= NOISE*np.abs(scale).max(
        initial=0.)


def in_panels(trajectory, panels, columns=1):
    """A figure with a panel for each pair of a function and its options."""
    columns = min(columns, len(panels))
    rows = -(-len(panels)//columns)
    places = np.arange(rows*columns).clip(max=len(panels) - 1)
    figure, axes = plt.subplot_mosaic(      # the last one fills the row
        places.reshape(rows, columns).tolist(), figsize=(WIDTH, HEIGHT*rows),
        layout='constrained')
    axes = [axes[k] for k in range(len(panels))]
    for ax, (draw, options) in zip(axes, panels):
        draw(trajectory, ax=ax, **options)
        ax.tick_params(labelsize='small')
    for upper, lower in zip(axes, axes[columns:]):
        if upper.get_xlabel() == lower.get_xlabel():
            upper.set_xlabel('')
    return figure


def plot_path(trajectory, pair, ax):
    x, y = pair
    unit = unit_of(trajectory, x)
    draw_path(ax, trajectory[x], trajectory[y], color=COLORS[0])
    ax.set(xlabel=in_unit(tex(x), unit), ylabel=in_unit(tex(y), unit))
    ax.set_aspect('equal', adjustable='datalim')
    ax.grid(alpha=0.3)


def draw_path(ax, x, y, color=None):
    line, = ax.plot(x, y, color=color)
    ax.plot(x[:1], y[:1], 'o', mfc='none', color=line.get_color())
    ax.plot(x[-1:], y[-1:], 'o', color=line.get_color())


def axes_for(ax, size=(WIDTH, 2.8)):
    if ax is not None:
        return ax.figure, ax
    return plt.subplots(figsize=size, layout='constrained')


def draw_lines(trajectory, columns, labels, kind, ax, units=(), before='',
               scale=0.):
    """Histories of quantities of one unit, or with the unit of each.

    The axis is named by its quantity, after ``before``, or by the ``kind``.
    Rounding errors of quantities of the size ``scale`` are drawn as zero.
    """
    figure, ax = axes_for(ax)
    if is_noise(columns, scale):
        columns = np.zeros_like(columns)
    unit, name = '', kind
    if len(set(units)) == 1:
        unit = units[0]
        if before is not None and unit in QUANTITIES:
            name = before + QUANTITIES[unit]
    elif units:
        labels = list(map(in_unit, labels, units))
    if len(columns) == 1 and labels[0].endswith('$'):
        name, labels = f'{name} {labels[0]}', ['_']
    name = in_unit(name, unit)
    if len(name) > LONGEST:
        name = name.replace(' in ', '\nin ')
    ax.set_ylabel(name)
    draw_curves(ax, trajectory.t, columns, labels)
    draw_marks(ax, trajectory)
    ax.set_xlabel(in_unit('$t$', unit_of(trajectory, 't')))
    ax.grid(alpha=0.3)
    legend_above(ax)
    return figure


def draw_curves(ax, t, columns, labels):
    count = len(columns)
    if count > MOST:
        shown, colors = {0, count//2, count - 1}, plt.get_cmap('viridis')
        for k, (values, text) in enumerate(zip(columns, labels)):
            ax.plot(t, values, label=text if k in shown else '_',
                    color=colors(0.9*k/count), linewidth=1.3)
        return
    # the first is wide and the others dashed: equal lines stay visible
    for k, (values, text) in enumerate(zip(columns, labels)):
        ax.plot(t, values, label=text, color=COLORS[k % len(COLORS)],
                linewidth=1.3 if k else 2.2,
                linestyle=STYLES[k % len(STYLES)])


def draw_marks(ax, trajectory):
    """Vertical lines at events, changes of rank and singular times."""
    for marks, color, style, text in (
            ([event.t for event in trajectory.events], '0.6', ':', 'event'),
            ([change.t for change in trajectory.rank_changes], '0.4', '--',
             'change of rank'),
            (trajectory.passages, '0.8', '-.', 'singular')):
        for i, mark in enumerate(marks):
            ax.axvline(mark, color=color, linestyle=style, linewidth=1,
                       label='_' if i else text)


def legend_above(ax):
    """A legend above the axes, in as many columns as there is room for."""
    handles, labels = ax.get_legend_handles_labels()
    if not labels:
        return
    room = ax.bbox.width/ax.figure.dpi
    column = SAMPLE + LETTER*max(map(visible, labels))
    ax.legend(handles, labels, fontsize='small', loc='lower left',
              frameon=False, bbox_to_anchor=(0., 1.), borderaxespad=0.1,
              handlelength=1.8, handletextpad=0.4, columnspacing=0.8,
              labelspacing=0.2, ncols=max(1, int(room/column)))
