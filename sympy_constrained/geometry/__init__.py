"""Geometry of quasi-velocities: metric, connection, torsion, curvature."""
from .space import MappedSpace

__all__ = ['MappedSpace']
