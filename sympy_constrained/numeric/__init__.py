"""From equations of motion to numbers: the layer that needs NumPy and SciPy.

:func:`compile_equations` makes functions of ``(t, x, p)``,
:func:`consistent_state` a start on the constraints, :func:`simulate` a
:class:`Trajectory`. Inside, ``names`` translates between symbols and arrays,
``generate`` and ``evaluation`` between expressions and functions, ``program``,
``native``, ``llvm_code`` and ``c_code`` make machine code of them, with the
sines and cosines of ``angles``, ``interpreted`` does without for a few calls,
``solved`` writes the solution into it, ``linear`` and ``sampling`` solve for
accelerations where that fails or rows may be redundant, and ``projection``
returns states to the constraints,
``correction`` quickly and ``stabilizing`` by way of the equations; ``dae`` is
for solvers that take equations and constraints together. :func:`sweep` makes
many runs, in the processes of ``workers``. ``export`` and ``first_order`` hand
the equations to other programs.
"""
from .compiled import CompiledEquations, compile_equations
from .export import to_casadi, to_jax
from .first_order import FirstOrder, to_opty, to_pydy
from .integrate.dae import DAEForm, dae_form
from .integrate.events import singular_event
from .integrate.simulate import simulate
from .integrate.singular_configurations import (
    SingularConfiguration, singular_configurations)
from .integrate.vakonomic import Matching, boundary_value, matching_multipliers
from .manifold.consistent_state import consistent_state
from .sweeps.result import SweepResult, SweepRun
from .sweeps.sweep import grid, sweep
from .table import Table
from .trajectory import Event, RankChange, Reason, Trajectory

__all__ = [
    'compile_equations', 'CompiledEquations', 'consistent_state', 'simulate',
    'Trajectory', 'Reason', 'Event', 'RankChange', 'Table', 'singular_event',
    'singular_configurations', 'SingularConfiguration',
    'dae_form', 'DAEForm',
    'sweep', 'grid', 'SweepResult', 'SweepRun',
    'matching_multipliers', 'Matching', 'boundary_value',
    'to_casadi', 'to_jax', 'to_pydy', 'to_opty', 'FirstOrder',
]
