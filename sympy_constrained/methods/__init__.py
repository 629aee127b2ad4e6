"""Methods: from a constrained system to equations of motion."""
from .gibbs_appell import GibbsAppellMethod
from .hamel import HamelEmbedding
from .lagrangian import Quantity
from .linear_mapping import LinearMappingMethod
from .routh import RouthMethod
from .udwadia_kalaba import UdwadiaKalabaMethod
from .vacco import VaccoMethod
from .validity import Validity

__all__ = ['UdwadiaKalabaMethod', 'HamelEmbedding', 'Validity',
           'RouthMethod', 'VaccoMethod', 'Quantity', 'LinearMappingMethod',
           'GibbsAppellMethod']
