"""Hamel's embedding, its validity, and Voronets' equations."""
from .embedding import Validity
from .hamel import HamelEmbedding
from .voronets import VoronetsMethod

__all__ = ['HamelEmbedding', 'Validity', 'VoronetsMethod']
