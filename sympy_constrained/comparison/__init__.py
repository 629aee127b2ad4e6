"""Compare all formulations of a model; check the laws for a method."""
from .comparing import compare
from .method_check import MethodCheck, ModelCheck, check_method
from .result import Comparison, Formulation, Verdict

__all__ = ['Comparison', 'Formulation', 'MethodCheck', 'ModelCheck',
           'Verdict', 'check_method', 'compare']
