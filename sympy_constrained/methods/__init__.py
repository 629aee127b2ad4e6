"""Methods: from a constrained system to equations of motion."""
from .base import ConstrainedMethod
from .gibbs_appell import GibbsAppellMethod
from .hamel import HamelEmbedding, Validity
from .lagrangian import Quantity
from .linear_mapping import LinearMappingMethod
from .null_space import null_basis
from .routh import RouthMethod
from .udwadia_kalaba import UdwadiaKalabaMethod
from .vacco import VaccoMethod

__all__ = ['UdwadiaKalabaMethod', 'HamelEmbedding', 'Validity',
           'RouthMethod', 'VaccoMethod', 'Quantity', 'LinearMappingMethod',
           'GibbsAppellMethod', 'ConstrainedMethod', 'null_basis']
