"""One model, every formulation that applies, side by side.

:func:`compare` derives a model with the methods of this package and with
SymPy's, and gives a :class:`Comparison`: a table, a picture, and a simulation.
:func:`check_method` checks the laws of mechanics for a class.
"""
from .checking import MethodCheck, ModelCheck, check_method
from .comparing import Comparison, compare
from .formulation import Formulation, Verdict

__all__ = ['Comparison', 'Formulation', 'MethodCheck', 'ModelCheck',
           'Verdict', 'check_method', 'compare']
