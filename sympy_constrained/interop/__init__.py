"""The equations for other programs and languages."""
from .casadi import to_casadi
from .heyoka import to_heyoka
from .jax import to_jax
from .latex import to_latex
from .opty import FirstOrder, to_opty
from .pydy import to_pydy
from .source_code import to_source

__all__ = ['to_casadi', 'to_jax', 'to_heyoka', 'to_pydy', 'to_opty',
           'FirstOrder', 'to_source', 'to_latex']
