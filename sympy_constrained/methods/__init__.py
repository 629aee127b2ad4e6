"""Methods: from a constrained system to equations of motion."""
from .base import ConstrainedMethod
from .gibbs_appell import GibbsAppellMethod
from .hamel import HamelEmbedding, Validity, VoronetsMethod
from .linear_mapping import LinearMappingMethod
from .null_space import null_basis
from .pontryagin import hamiltonian_equations
from .routh import RouthMethod
from .solution import symbolic_system
from .udwadia_kalaba import UdwadiaKalabaMethod
from .vacco import VaccoMethod
from .variation import Quantity

__all__ = ['UdwadiaKalabaMethod', 'HamelEmbedding', 'Validity',
           'VoronetsMethod', 'RouthMethod', 'VaccoMethod', 'Quantity',
           'LinearMappingMethod', 'GibbsAppellMethod', 'ConstrainedMethod',
           'hamiltonian_equations', 'null_basis', 'symbolic_system']
