"""Check a method class against the laws of mechanics on ready models."""
import warnings
from dataclasses import dataclass, field
from inspect import signature

import numpy as np
from scipy.linalg import null_space

from ..errors import ConstrainedDynamicsError, check_kind
from ..methods import UdwadiaKalabaMethod
from ..models import MODELS, Model, model as ready_model
from ..numeric import Reason, compile_equations, consistent_state, simulate
from ..numeric.codegen.native import has_llvm
from .comparing import random_states


STATES = 3
TOLERANCE = 1e-7                # relative, of accelerations and forces
DURATION = 0.1                  # of the simulation of a model


@dataclass(frozen=True)
class ModelCheck:
    """Result for one model.

    ``errors`` maps laws to the largest relative error over states and
    backends. ``reason`` is the error, or why the model was ``refused``, by a
    :class:`.ConstrainedDynamicsError` or for want of an option.
    """

    model: str
    errors: dict = field(default_factory=dict)
    reason: str = ''
    refused: bool = False

    @property
    def passed(self):
        """Whether the model was refused, or all laws hold."""
        return self.refused or not self.reason and all(
            error < TOLERANCE for error in self.errors.values())

    def __str__(self):
        verdict = ('refused' if self.refused else
                   'passed' if self.passed else 'FAILED')
        errors = ', '.join(f'{law} {error:.0e}' for law, error
                           in self.errors.items())
        return f'{self.model:24} {verdict:8} {errors or self.reason}'


@dataclass(frozen=True)
class MethodCheck:
    """Result of :func:`check_method`, a :class:`ModelCheck` for each model;
    ``print`` it for a table.
    """

    models: tuple

    @property
    def passed(self):
        """Whether no model failed and not all were refused."""
        return all(check.passed for check in self.models) and not all(
            check.refused for check in self.models)

    @property
    def failures(self):
        """The checks that failed."""
        return tuple(x for x in self.models if not x.passed)

    def __str__(self):
        return '\n'.join(map(str, self.models))

    __repr__ = __str__


def check_method(cls, models=None, *, seed=0) -> MethodCheck:
    r"""Check the laws of mechanics for a method class on models.

    Each model is formed and compiled with NumPy and LLVM. At random states on
    the constraints,

    ===============  ====================================================
    law              relative error of
    ===============  ====================================================
    constraints      :math:`A\dot u = b`
    d'Alembert       :math:`S^T(M\dot u - Q - C) = 0` with :math:`AS = 0`
    forces           ``constraint_forces`` as :math:`M\dot u - Q`
    multipliers      ``multipliers`` in :math:`Q_c = C + A^T\lambda`
    simulation       :math:`q` after a short motion, compared with
                     UdwadiaKalabaMethod
    ===============  ====================================================

    These laws determine the motion; vakonomic motion and invalid Hamel's
    equations break them. Methods whose speeds are not those of the model
    count as refused. A simulation that ends at a singular configuration does
    not count.

    Examples
    ========

    >>> from sympy_constrained import RouthMethod
    >>> from sympy_constrained.comparison import check_method
    >>> found = check_method(RouthMethod, ['cartesian_pendulum'])
    >>> found.passed
    True

    Parameters
    ==========

    cls : type
        A subclass of :class:`.ConstrainedMethod`.
    models : str, Model or iterable of them, optional
        All ready models by default, which takes some minutes.
    seed : int
        Of the random states.

    """
    check_kind('cls', cls, type, "Give a class of methods.")
    if isinstance(models, (str, Model)):
        models = [models]
    return MethodCheck(tuple(
        check_model(cls, ready_model(x) if isinstance(x, str) else x,
                    seed)
        for x in (models or MODELS)))


def check_model(cls, model: Model, seed):
    known = {*cls._accepts, *signature(cls.__init__).parameters, 'sample'}
    strange = [name for name in model.extra if name not in known
               and name != 'acceleration_constraints']
    if strange:
        return ModelCheck(model.name, reason=(
            f'no option {", ".join(strange)}'), refused=True)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        equations = None
        try:
            method = model.form(cls)
            equations = method.equations_of_motion
            errors = law_errors(method, model, seed)
        except Exception as error:
            text = f'{type(error).__name__}: {" ".join(str(error).split())}'
            return ModelCheck(model.name, reason=text, refused=(
                equations is None
                and isinstance(error, ConstrainedDynamicsError)))
    if not errors:
        return ModelCheck(model.name, refused=True, reason=(
            'The speeds are not those of the model, so no law was checked.'))
    return ModelCheck(model.name, errors)


def law_errors(method, model, seed):
    equations = method.equations_of_motion
    numbers = model.parameters, model.inputs or None
    reference = compile_equations(
        model.form(UdwadiaKalabaMethod), *numbers, 'numpy')
    states = random_states(model, reference, seed)[:STATES]
    errors: dict = {}
    for backend in ['numpy'] + ['llvm']*has_llvm():
        compiled = compile_equations(method, *numbers, backend)
        found = []
        if tuple(equations.u) == tuple(method.system.u):
            found = [pair for t, x in states
                     for pair in at_state(compiled, method, reference, t, x)]
        if tuple(equations.states) == tuple(reference.states):
            found += simulated(compiled, reference, *states[0])
        for law, error in found:
            errors[law] = max(errors.get(law, 0.), float(error))
    return errors


def simulated(compiled, reference, t, x):
    """The error after a short motion, unless it becomes singular."""
    start = consistent_state(reference, x, t=t)
    motions = [simulate(form, (t, t + DURATION), start, t_eval=2, throw=False)
               for form in (compiled, reference)]
    if Reason.SINGULAR in [motion.reason for motion in motions]:
        return []
    own, wanted = (motion.x[-1] for motion in motions)
    return [('simulation', relative(own - wanted, wanted)/10)]


def at_state(compiled, method, reference, t, x):
    """Pairs of a law and its relative error at one state."""
    known = dict(zip(reference.states, x))
    for y, rate in zip(reference.states, reference.rhs(t, x)):
        known.setdefault(y.diff(reference.equations.t), rate)
    own = np.array([known[y] for y in compiled.states])
    rates = compiled.accelerations(t, own)
    M, Q, C, A, b = (compiled.output(method.system.graph, name)(t, own)
                     for name in ('M', 'Q', 'C', 'A', 'b'))
    Q, C, b = Q[:, 0], C[:, 0], b[:, 0]
    forces = M@rates - Q
    if len(b):
        yield 'constraints', relative(A@rates - b, A*rates, b)
    basis = null_space(A, rcond=1e-10) if len(b) else np.eye(len(rates))
    yield "d'Alembert", relative(basis.T@(forces - C), M*rates, Q, C)
    for law, name, reaction in (
            ('forces', 'constraint_forces', lambda found: found),
            ('multipliers', 'multipliers', lambda found: A.T@found + C)):
        if name in method.closed_form.outputs and (
                name == 'constraint_forces' or len(b)):
            found = compiled.output(method.closed_form, name)(t, own)[..., 0]
            yield law, relative(reaction(found) - forces, M*rates, Q, C)


def relative(error, *terms):
    """Largest error relative to the largest term, at least 1e-6."""
    size = max((np.abs(x).max(initial=0.) for x in terms), default=0.)
    return np.abs(error).max(initial=0.)/max(size, 1e-6)
