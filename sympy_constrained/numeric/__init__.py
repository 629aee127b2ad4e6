"""From equations of motion to numbers: the layer that needs NumPy and SciPy.

:func:`compile_equations` makes functions of ``(t, x, p)``,
:func:`consistent_state` a start on the constraints, :func:`simulate` a
:class:`Trajectory`, :func:`sweep` many of them, :func:`linearize` matrices,
:func:`steady_motions` families, :func:`sensitivities` derivatives of a motion.

``names`` and ``inputs`` translate between symbols and arrays, ``evaluation``
between expressions and functions. ``codegen`` writes and compiles code,
``linear`` decides the rank and solves for accelerations, ``manifold`` returns
states to the constraints, ``integrate`` computes motions, ``sweeps`` runs them
in processes, ``steady`` finds steady motions, ``sensitivity`` differentiates
motions and fits them.
"""
from .compiled import CompiledEquations, compile_equations
from .integrate.crossing import Crossing
from .integrate.dae import DAEForm, dae_form
from .integrate.events import singular_event
from .integrate.simulate import simulate
from .integrate.singular_configurations import (
    SingularConfiguration, singular_configurations)
from .integrate.vakonomic import Matching, boundary_value, matching_multipliers
from .linearization import Linearization, linearize
from .manifold.consistent_state import consistent_state
from .outcome import Event, RankChange, Reason
from .sensitivity.adjoint import Gradient
from .sensitivity.identification import Identification, Measurement
from .sensitivity.identify import identify
from .sensitivity.sensitivities import Sensitivities, sensitivities
from .steady.family import Critical, Family
from .steady.steady_motion import SteadyMotion, equilibria, steady_motions
from .sweeps.result import SweepResult, SweepRun
from .sweeps.sweep import sweep
from .table import Table
from .trajectory import Trajectory

__all__ = [
    'compile_equations', 'CompiledEquations', 'consistent_state', 'simulate',
    'Trajectory', 'Reason', 'Event', 'RankChange', 'Table', 'Crossing',
    'singular_event',
    'singular_configurations', 'SingularConfiguration',
    'dae_form', 'DAEForm', 'linearize', 'Linearization',
    'sensitivities', 'Sensitivities', 'Gradient', 'identify', 'Identification',
    'Measurement',
    'equilibria', 'steady_motions', 'SteadyMotion', 'Family', 'Critical',
    'sweep', 'SweepResult', 'SweepRun',
    'matching_multipliers', 'Matching', 'boundary_value',
]
