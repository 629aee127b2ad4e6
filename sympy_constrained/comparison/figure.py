"""One picture of a comparison, with matplotlib."""
from __future__ import annotations

import textwrap

import matplotlib.pyplot as plt
import numpy as np

from .result import AGREE, Verdict
from .table import brief, notes_of

__all__ = ['plot_comparison']

# Zero has no logarithm and is drawn here.
FLOOR = 1e-17
ROW, NOTE, MARGINS = 0.28, 0.19, 1.25       # inches
WIDTH, CHARACTERS = 12., 150
QUIET = '0.55'
COLORS = {Verdict.REFERENCE: '0.35', Verdict.AGREES: 'tab:blue',
          Verdict.MUST_DIFFER: 'tab:orange'}


def plot_comparison(comparison):
    """Agreement, derivation time, evaluation time and verdict of each.

    Differences are on a logarithmic axis, with a line at the tolerance of
    agreement; zero is drawn at the left end. The notes of the table are
    below.

    Parameters
    ==========

    comparison : Comparison

    Returns
    =======

    matplotlib.figure.Figure

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
        'width_ratios': (5, 3, 3), 'left': 0.23, 'right': 0.84,
        'wspace': 0.13, 'bottom': (total - height + 0.55)/total,
        'top': 1 - 0.7/total})
    colors = list(map(color_of, found))
    draw_errors(axes[0], found, colors)
    draw_bars(axes[1], [f.seconds for f in found], colors, '%.3f')
    draw_bars(axes[2], [f.microseconds for f in found], colors, '%.1f')
    axes[0].set_yticks(range(len(found)), [f.name for f in found])
    axes[0].set_ylim(len(found) - 0.5, -0.5)
    for ax, title in zip(axes, (
            'relative difference; left of the line it agrees',
            'derivation, CPU s', 'one evaluation, µs')):
        ax.set_title(title, fontsize='medium')
        ax.tick_params(axis='y', length=0)
        ax.grid(axis='x', alpha=0.3)
        for row in range(1, len(found), 2):
            ax.axhspan(row - 0.5, row + 0.5, color='0.96', zorder=0)
    for row, (f, color) in enumerate(zip(found, colors)):
        axes[2].annotate(
            brief(f, texts), (1.04, row), va='center', color=color,
            xycoords=('axes fraction', 'data'))
    model = comparison.model
    figure.suptitle(f'{model.name}: {model.title}', x=0.02, ha='left',
                    y=1 - 0.12/total, va='top')
    for k, line in enumerate(below):
        figure.text(0.02, (total - height - NOTE*k)/total, line,
                    fontsize='small', va='top')
    return figure


def color_of(formulation):
    if formulation.is_trouble or formulation.verdict is Verdict.DIFFERS:
        return 'tab:red'
    return COLORS.get(formulation.verdict, QUIET)


def draw_errors(ax, found, colors):
    """Points for accelerations and for forces."""
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
    ax.set_xticks(10.**np.arange(-16, np.log10(10*largest), 4))
    ax.minorticks_off()
    ax.axvline(AGREE, color='0.6', linestyle=':', linewidth=1)
    ax.legend(fontsize='small', loc='upper center', ncols=2, frameon=False,
              bbox_to_anchor=(0.5, -0.25/(ROW*len(found))))


def draw_bars(ax, values, colors, form):
    """Bars with their values."""
    values = np.array(values, dtype=float)      # None becomes nan
    bars = ax.barh(range(len(values)), values, height=0.55, color=colors,
                   alpha=0.6)
    ax.bar_label(bars, fmt=form, padding=3, fontsize='small')
    ax.set_xlim(0, 1.3*np.nanmax([*values, 0.]) or 1.3)
