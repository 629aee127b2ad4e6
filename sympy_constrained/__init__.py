"""Constrained dynamics for SymPy's ``physics.mechanics``.

A model that is written for ``KanesMethod``, ``LagrangesMethod`` or as a
``System`` gets, with one changed class name, the formulations SymPy lacks.
A model becomes a :class:`.ConstrainedSystem` (what the physics is), a method
turns that into :class:`.EquationsOfMotion` (``W z = r``), and
:mod:`sympy_constrained.numeric` compiles and integrates those. Importing this
package loads neither NumPy nor SciPy.
"""
from .analysis.constraint_rank import ConstraintReport, constraint_report
from .analysis.integrability.classification import classify_constraints
from .analysis.integrability.verdicts import ConstraintClassification
from .contact import (
    CircularRim, ConeSurface, ContactGeometryBase, CylinderSurface,
    EllipsoidSurface, ParametricCurve, ParametricSurface, PlaneSurface,
    PointContact, SphereSurface, SurfaceOfRevolution, TorusSurface,
    VertexPoint)
from .errors import (
    ConstrainedDynamicsError, ConstraintError, InconsistentConstraintsError,
    KinematicsError, MissingIngredientError, NotFiniteError,
    RedundantConstraintsError, SimulationError, SingularEquationsError,
    UnsupportedFeatureError)
from .methods import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod, Quantity,
    RouthMethod, UdwadiaKalabaMethod, VaccoMethod, Validity, VoronetsMethod)
from .model.equations import EquationsOfMotion
from .model.loops import Loop
from .model.mass_loads import internal_flow_loads, momentum_loads, thrust
from .model.system import ConstrainedSystem
from .model.variable_mass import reactive_terms

__version__ = '0.2.0'

__all__ = [
    'UdwadiaKalabaMethod', 'HamelEmbedding', 'VoronetsMethod', 'RouthMethod',
    'VaccoMethod', 'LinearMappingMethod', 'GibbsAppellMethod', 'Validity',
    'Quantity',
    'thrust', 'momentum_loads', 'internal_flow_loads', 'reactive_terms',
    'ConstrainedSystem', 'EquationsOfMotion', 'Loop',
    'ConstraintReport', 'constraint_report',
    'ConstraintClassification', 'classify_constraints',
    'PointContact', 'ContactGeometryBase', 'ParametricSurface',
    'PlaneSurface', 'SphereSurface', 'CylinderSurface', 'ConeSurface',
    'TorusSurface', 'EllipsoidSurface', 'SurfaceOfRevolution',
    'ParametricCurve', 'CircularRim', 'VertexPoint',
    'ConstrainedDynamicsError', 'ConstraintError',
    'InconsistentConstraintsError', 'KinematicsError',
    'MissingIngredientError', 'NotFiniteError',
    'RedundantConstraintsError', 'SimulationError',
    'SingularEquationsError', 'UnsupportedFeatureError',
]
