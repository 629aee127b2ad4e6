"""Contact and rolling of two bodies: surfaces in, constraints out."""
from .curves import CircularRim, ParametricCurve, VertexPoint
from .geometry import ContactGeometryBase
from .parametric_surface import ParametricSurface
from .point_contact import PointContact
from .surfaces import (
    ConeSurface, CylinderSurface, EllipsoidSurface, PlaneSurface,
    SphereSurface, SurfaceOfRevolution, TorusSurface)

__all__ = [
    'ContactGeometryBase', 'ParametricSurface', 'PlaneSurface',
    'SphereSurface', 'CylinderSurface', 'ConeSurface', 'TorusSurface',
    'EllipsoidSurface', 'SurfaceOfRevolution', 'ParametricCurve',
    'CircularRim', 'VertexPoint', 'PointContact',
]
