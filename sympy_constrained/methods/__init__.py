"""Methods: from a constrained system to equations of motion."""
from .gibbs_appell.gibbs_appell import GibbsAppellMethod
from .hamel.hamel import HamelEmbedding
from .hamel.validity import Validity
from .lagrangian import Quantity
from .linear_mapping.linear_mapping import LinearMappingMethod
from .routh import RouthMethod
from .udwadia_kalaba import UdwadiaKalabaMethod
from .vacco import VaccoMethod

__all__ = ['UdwadiaKalabaMethod', 'HamelEmbedding', 'Validity',
           'RouthMethod', 'VaccoMethod', 'Quantity', 'LinearMappingMethod',
           'GibbsAppellMethod']
