"""Quasi-velocities and the geometry they define."""
from .linear_mapping import LinearMappingMethod
from .space import MappedSpace

__all__ = ['LinearMappingMethod', 'MappedSpace']
