"""One model, every formulation that applies, side by side.

:func:`compare` derives a model with the methods of this package and with
SymPy's, and returns a :class:`Comparison`: a table, a picture, and a
simulation. :func:`check_method` checks the laws of mechanics for a class.
"""
from .comparing import compare
from .method_check import MethodCheck, ModelCheck, check_method
from .result import Comparison, Formulation, Verdict

__all__ = ['Comparison', 'Formulation', 'MethodCheck', 'ModelCheck',
           'Verdict', 'check_method', 'compare']
