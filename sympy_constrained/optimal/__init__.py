"""Motions of least cost between given states.

:func:`optimal_motion` makes a discrete problem by ``collocation`` of second
order, and IPOPT, which comes with casadi, solves it.
"""
from .optimal_motion import OptimalMotion, optimal_motion

__all__ = ['optimal_motion', 'OptimalMotion']
