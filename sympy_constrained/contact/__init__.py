"""Contact and rolling of two bodies: surfaces in, constraints out."""
from .geometry import ContactGeometryBase
from .parametric_surface import ParametricSurface
from .point_contact import PointContact
from .surfaces import (
    CircularRim, ConeSurface, CylinderSurface, EllipsoidSurface,
    ParametricCurve, PlaneSurface, SphereSurface, SurfaceOfRevolution,
    TorusSurface, VertexPoint)

__all__ = [
    'ContactGeometryBase', 'ParametricSurface', 'PlaneSurface',
    'SphereSurface', 'CylinderSurface', 'ConeSurface', 'TorusSurface',
    'EllipsoidSurface', 'SurfaceOfRevolution', 'ParametricCurve',
    'CircularRim', 'VertexPoint', 'PointContact',
]
