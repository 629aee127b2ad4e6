"""Motions of least cost between given states."""
from .optimal_motion import OptimalMotion, optimal_motion

__all__ = ['optimal_motion', 'OptimalMotion']
