"""Pictures of a motion with matplotlib, one call each.

Each ``plot_...`` draws one picture, into axes that are given or into a figure
of its own, and returns the figure. :func:`animate` moves the bodies,
:func:`plot_snapshots` shows them at some times in one picture,
:func:`plot_sweep` draws many runs, and :func:`scene` hands a model to
symmeplot. Dotted vertical lines are events, dashed ones changes of rank. Where
a trajectory has ``units``, a mapping from names to texts, they are written to
the axes.
"""
from .animation import animate, plot_snapshots
from .histories import (
    plot, plot_constraint_forces, plot_energy, plot_motion, plot_multipliers,
    plot_phase, plot_power, plot_residuals, plot_states)
from .sweeps import plot_sweep
from .symmeplot_scene import scene

__all__ = ['plot', 'plot_states', 'plot_residuals', 'plot_energy',
           'plot_power', 'plot_phase', 'plot_constraint_forces',
           'plot_multipliers', 'plot_motion', 'plot_sweep', 'animate',
           'plot_snapshots', 'scene']
