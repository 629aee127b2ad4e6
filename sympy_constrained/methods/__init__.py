"""Methods: from a constrained system to equations of motion."""
from .hamel import HamelEmbedding
from .udwadia_kalaba import UdwadiaKalabaMethod
from .validity import Validity

__all__ = ['UdwadiaKalabaMethod', 'HamelEmbedding', 'Validity']
