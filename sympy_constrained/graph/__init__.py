"""The shared expression graph on which all equations are made.

A mechanism's equations are a small graph of shared operations and a monstrous
tree. SymPy expressions are read into the graph once (:mod:`.reading`),
differentiated and solved there (:mod:`.calculus`, :mod:`.linalg`), and
written back when somebody reads a property (:mod:`.writing`). This package
knows SymPy and nothing of mechanics.
"""
from .builder import GraphBuilder
from .calculus import (
    Derivation, gradient, jacobian, substitute, time_derivative, without)
from .graph import Graph
from .matrix import GraphMatrix, block_matrix, stack
from .reading import derivative, is_function_of, read, real_derivative

__all__ = ['Graph', 'GraphBuilder', 'GraphMatrix', 'Derivation',
           'block_matrix', 'derivative', 'gradient', 'is_function_of',
           'jacobian', 'read', 'real_derivative', 'stack', 'substitute',
           'time_derivative', 'without']
