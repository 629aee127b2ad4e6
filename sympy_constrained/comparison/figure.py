"""One picture of a comparison, with matplotlib."""
import textwrap

import matplotlib.pyplot as plt
import numpy as np

from .result import AGREE, Verdict
from .table import brief, notes_of


# Zero has no logarithm and is drawn here.
FLOOR = 1e-17
ROW, NOTE, MARGINS = 0.22, 0.155, 1.25      # inches
WIDTH, CHARACTERS = 6.5, 100
QUIET, TROUBLE = '0.45', '#D55E00'
COLORS = {Verdict.REFERENCE: '0.2', Verdict.AGREES: '#0072B2',
          Verdict.MUST_DIFFER: '#CC79A7'}


def plot_comparison(comparison):
    """Agreement, derivation time, evaluation time and verdict of each.

    Differences are on a logarithmic axis, with zero at the left end and a
    line at the tolerance of agreement. The notes of the table are below.
    """
    found = comparison.formulations
    texts = notes_of(found)
    below = [line for k, text in enumerate(texts, 1) for line in
             textwrap.wrap(f'[{k}] {text}', CHARACTERS,
                           subsequent_indent='      ')]
    height = MARGINS + ROW*len(found)
    total = height + NOTE*len(below) + (0.1 if below else 0.)
    figure = plt.figure(figsize=(WIDTH, total))
    axes = figure.subplots(1, 3, sharey=True, gridspec_kw={
        'width_ratios': (5, 4, 4), 'left': 0.35, 'right': 0.85,
        'wspace': 0.2, 'bottom': (total - height + 0.55)/total,
        'top': 1 - 0.7/total})
    colors = [TROUBLE if f.is_trouble else COLORS.get(f.verdict, QUIET)
              for f in found]
    draw_errors(axes[0], found, colors)
    draw_bars(axes[1], [f.seconds for f in found], colors, '%.3f')
    draw_bars(axes[2], [f.microseconds for f in found], colors, '%.1f')
    axes[0].set_yticks(range(len(found)), [f.name for f in found])
    axes[0].set_ylim(len(found) - 0.5, -0.5)
    for ax, title in zip(axes, (
            'relative difference', 'derivation in s', 'one call in µs')):
        ax.set_title(title, fontsize='small')
        ax.tick_params(labelsize='small')
        ax.tick_params(axis='y', length=0)
        ax.grid(axis='x', alpha=0.3)
        for row in range(1, len(found), 2):
            ax.axhspan(row - 0.5, row + 0.5, color='0.96', zorder=0)
    for row, (f, color) in enumerate(zip(found, colors)):
        axes[2].annotate(
            brief(f, texts), (1.04, row), va='center', color=color,
            xycoords=('axes fraction', 'data'), fontsize='small')
    figure.legend(*axes[0].get_legend_handles_labels(), fontsize='small',
                  loc='upper left', frameon=False, borderaxespad=0.,
                  labelspacing=0.2,
                  bbox_to_anchor=(0.02, (total - height + 0.5)/total))
    figure.suptitle(comparison.model.title, x=0.02, ha='left',
                    y=1 - 0.12/total, va='top', fontsize='medium')
    for k, line in enumerate(below):
        figure.text(0.02, (total - height - NOTE*k)/total, line,
                    fontsize='small', va='top')
    return figure


def draw_errors(ax, found, colors):
    for name, style, label in (
            ('error', {'marker': 'o', 'markersize': 7, 'fillstyle': 'none'},
             'accelerations'),
            ('force_error', {'marker': 's', 'markersize': 4},
             'constraint forces')):
        ax.plot([], [], color='0.35', linestyle='', label=label, **style)
        for row, (f, color) in enumerate(zip(found, colors)):
            value = getattr(f, name)
            if value is not None:
                ax.plot(max(value, FLOOR), row, color=color, **style)
    ax.set_xscale('log')
    largest = max([1., *(f.error for f in found if f.error is not None)])
    ax.set_xlim(FLOOR/3, 10*largest)
    ax.set_xticks(10.**np.arange(-16, np.log10(10*largest), 8))
    ax.minorticks_off()
    ax.axvline(AGREE, color='0.4', linestyle=':', linewidth=1)
    ax.set_xlabel('agrees | differs', fontsize='small')
    ax.xaxis.set_label_coords(AGREE, -0.24/(ROW*len(found)),
                              ax.get_xaxis_transform())


def draw_bars(ax, values, colors, form):
    values = np.array(values, dtype=float)      # None becomes nan
    bars = ax.barh(range(len(values)), values, height=0.55, color=colors,
                   alpha=0.6)
    ax.bar_label(bars, fmt=form, padding=3, fontsize='small')
    ax.set_xlim(0, 1.8*np.nanmax([*values, 0.]) or 1.8)
