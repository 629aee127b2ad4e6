"""Pictures of a motion with matplotlib, one call each.

Each ``plot_...`` draws into given axes or a new figure, and returns the
figure. Dotted vertical lines are events, dashed ones changes of rank. Axes
have the ``units`` of a trajectory, a mapping from names to texts.
"""
from .animation import animate, plot_snapshots
from .families import plot_family
from .fits import plot_fit
from .histories import (
    plot, plot_constraint_forces, plot_energy, plot_multipliers, plot_phase,
    plot_power, plot_reactions, plot_residuals, plot_states)
from .sweeps import plot_sweep

__all__ = ['plot', 'plot_states', 'plot_residuals', 'plot_energy',
           'plot_power', 'plot_phase', 'plot_constraint_forces',
           'plot_multipliers', 'plot_reactions', 'plot_sweep',
           'plot_family', 'plot_fit', 'animate', 'plot_snapshots']
