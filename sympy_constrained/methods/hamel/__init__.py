"""Hamel's embedding of constraints, and when it is valid."""
from .hamel import HamelEmbedding
from .validity import Validity

__all__ = ['HamelEmbedding', 'Validity']
