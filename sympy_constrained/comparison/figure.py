"""One picture of a comparison, with matplotlib."""
from __future__ import annotations

import textwrap

import matplotlib.pyplot as plt
import numpy as np

from .report import brief, notes_of
from .result import AGREE, Verdict

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
    axes = panels(figure, found, total, height)
    for row, f in enumerate(found):
        axes[2].annotate(
            brief(f, texts), (1.04, row), va='center', color=color_of(f),
            xycoords=('axes fraction', 'data'))
    model = comparison.model
    figure.suptitle(f'{model.name}: {model.title}', x=0.02, ha='left',
                    y=1 - 0.12/total, va='top')
    for k, line in enumerate(below):
        figure.text(0.02, (total - height - NOTE*k)/total, line,
                    fontsize='small', va='top')
    return figure


def panels(figure, found, total, height):
    """The three panels, with a row for each formulation."""
    grid = figure.add_gridspec(
        1, 3, width_ratios=(5, 3, 3), left=0.23, right=0.84, wspace=0.13,
        bottom=(total - height + 0.55)/total, top=1 - 0.7/total)
    first = figure.add_subplot(grid[0, 0])
    axes = [first, *(figure.add_subplot(grid[0, k], sharey=first)
                     for k in (1, 2))]
    rows = np.arange(len(found))
    draw_errors(first, found, rows)
    draw_bars(axes[1], found, rows, 'seconds', '{:.3f}')
    draw_bars(axes[2], found, rows, 'microseconds', '{:.1f}')
    first.set_yticks(rows, [f.name for f in found])
    first.set_ylim(len(found) - 0.5, -0.5)
    for ax, title in zip(axes, (
            'relative difference; left of the line it agrees',
            'derivation, CPU s', 'one evaluation, µs')):
        ax.set_title(title, fontsize='medium')
        ax.tick_params(axis='y', length=0, labelleft=ax is first)
        for row in rows[1::2]:
            ax.axhspan(row - 0.5, row + 0.5, color='0.96', zorder=0)
    return axes


def color_of(formulation):
    if formulation.is_trouble or formulation.verdict is Verdict.DIFFERS:
        return 'tab:red'
    return COLORS.get(formulation.verdict, QUIET)


def draw_errors(ax, found, rows):
    """Points for accelerations and for forces."""
    for name, style, label in (
            ('error', {'marker': 'o', 'markersize': 7, 'fillstyle': 'none'},
             'accelerations'),
            ('force_error', {'marker': 's', 'markersize': 4},
             'constraint forces')):
        ax.plot([], [], color='0.35', linestyle='', label=label, **style)
        for row, f in zip(rows, found):
            value = getattr(f, name)
            if value is not None:
                ax.plot(max(value, FLOOR), row, color=color_of(f),
                        linestyle='', **style)
    ax.set_xscale('log')
    largest = max([1., *(f.error for f in found if f.error is not None)])
    ax.set_xlim(FLOOR/3, 10*largest)
    ax.set_xticks(10.**np.arange(-16, np.log10(10*largest), 4))
    ax.minorticks_off()
    ax.axvline(AGREE, color='0.6', linestyle=':', linewidth=1)
    ax.legend(fontsize='small', loc='upper center', ncols=2, frameon=False,
              bbox_to_anchor=(0.5, -0.25/(ROW*len(rows))))
    ax.grid(axis='x', alpha=0.3)


def draw_bars(ax, found, rows, name, form):
    """Bars with their values."""
    values = [getattr(f, name) for f in found]
    largest = max((x for x in values if x is not None), default=1.)
    for row, value, f in zip(rows, values, found):
        if value is not None:
            ax.barh(row, value, height=0.55, color=color_of(f), alpha=0.6)
            ax.annotate(form.format(value), (value, row), (3, 0),
                        textcoords='offset points', va='center',
                        fontsize='small')
    ax.set_xlim(0, 1.3*largest)
    ax.grid(axis='x', alpha=0.3)
