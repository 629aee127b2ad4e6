"""Hamel's embedding, its validity, and Voronets' equations."""
from .hamel import HamelEmbedding
from .validity import Validity
from .voronets import VoronetsMethod

__all__ = ['HamelEmbedding', 'Validity', 'VoronetsMethod']
