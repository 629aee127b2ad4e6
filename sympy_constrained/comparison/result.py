"""The result of a comparison and of each formulation in it."""
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np

from ..analysis.constraint_rank import ConstraintReport, described
from ..errors import ConstrainedDynamicsError
from ..methods.base import ConstrainedMethod
from ..models import Model
from ..numeric import CompiledEquations, Trajectory
from ..numeric.names import label
from .table import as_text, wrapped


# Largest relative difference that counts as agreement.
AGREE = 1e-8


class Verdict(Enum):
    """Outcome of a formulation; the value begins its sentence."""

    REFERENCE = 'reference'
    AGREES = 'agrees'
    MUST_DIFFER = 'differs as it must'
    DIFFERS = 'DIFFERS'
    REFUSES = 'refuses'
    RAISES = 'raises'
    NO_VALUE = 'has no value'
    STOPPED = 'stopped'
    NOT_TRIED = 'not tried'
    INTERRUPTED = 'interrupted'


@dataclass(frozen=True, eq=False)
class Formulation:
    """Result of one formulation; ``print`` it for a sentence.

    What was not reached is None.

    Attributes
    ==========

    reason : str
        Why it differs, refuses or has no value, or which choices it made.
    is_ours : bool
        Whether it belongs to this package and is expected to agree.
    seconds : float
        Processor time of the derivation.
    operations : int
        In the equations, shared parts counted once.
    states, accelerations_count, multipliers : int
        Sizes of the state and of the two parts of the unknowns.
    microseconds : float
        Median time of one evaluation of the rates of all states.
    error, force_error : float
        Largest difference of accelerations and of generalized constraint
        forces, relative to the largest.
    accelerations : ndarray, shape (number of states, o)
        Rates of the speeds of the reference.

    """

    name: str
    verdict: Verdict
    reason: str = ''
    is_ours: bool = True
    seconds: float | None = None
    operations: int | None = None
    states: int | None = None
    accelerations_count: int | None = None
    multipliers: int | None = None
    microseconds: float | None = None
    error: float | None = None
    force_error: float | None = None
    accelerations: np.ndarray | None = None

    @property
    def is_trouble(self):
        """Whether it is wrong; errors of SymPy's methods do not count."""
        return self.verdict in (Verdict.DIFFERS, Verdict.INTERRUPTED) or (
            self.is_ours and self.verdict in (
                Verdict.RAISES, Verdict.NO_VALUE))

    def __str__(self):
        joint = ' ' if self.verdict in (
            Verdict.RAISES, Verdict.STOPPED) else ': '
        reason = joint + self.reason if self.reason else ''
        return f'{self.name} {self.verdict.value}{reason}'


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of :func:`compare`; ``print`` it for a table.

    Attributes
    ==========

    method, compiled : ConstrainedMethod, CompiledEquations
        The reference.
    formulations : tuple of Formulation
        The first is the reference.
    states : list of (t, x)
        Where they are compared.
    trajectory : Trajectory or None
    moved : dict
        State -> displacement of the start onto the constraints.

    """

    model: Model
    method: ConstrainedMethod
    report: ConstraintReport
    compiled: CompiledEquations
    formulations: tuple
    states: list
    trajectory: Trajectory | None
    moved: dict

    @property
    def agrees(self):
        """Whether all formulations agree that must, among those that finished.
        """
        return not any(f.is_trouble for f in self.formulations)

    @property
    def interrupted(self):
        """Whether it was interrupted from the keyboard."""
        return any(f.verdict is Verdict.INTERRUPTED
                   for f in self.formulations)

    def __getitem__(self, name):
        return {f.name: f for f in self.formulations}[name]

    def __str__(self):
        system = self.method.system
        count = system.graph.operation_count(('M', 'Q', 'A', 'b'))
        facts = [*described(system, self.report),
                 f'M, Q, A, b have {count} operations']
        return '\n'.join([
            *wrapped([f'{self.model.name}: {self.model.title}']),
            *wrapped(f'  {x}' for x in facts), '',
            as_text(self.formulations), '',
            *wrapped(f'  {x}' for x in self._motion())])

    def _motion(self):
        """Lines on the simulation, or on the states compared instead."""
        if self.moved:
            yield 'start moved onto the constraints: ' + ', '.join(
                f'{label(x)} by {by:.3g}' for x, by in self.moved.items())
        motion = self.trajectory
        if motion is None:
            yield (f'compared at {len(self.states)} random states on the '
                   'constraints')
            return
        yield f'simulated to t = {motion.t[-1]:g}: {motion.reason.value}'
        if motion.residuals.size:
            yield f'largest constraint residual {motion.largest_residual:.1e}'
        error = motion.energy_error
        if error is not None:
            yield (f'energy balance holds to {np.abs(error).max():.1e}, the '
                   f'energy changes by {np.ptp(motion.energy):.3g} and the '
                   f'work by {np.ptp(motion.work):.3g}')
        yield ('largest generalized constraint force '
               f'{np.abs(motion.constraint_forces).max():.4g}')

    def figure(self):
        """One picture of the table; see :func:`.plot_comparison`."""
        from .figure import plot_comparison
        return plot_comparison(self)

    def _figures(self):
        """Name -> figure: of the comparison, and of the motion, if any."""
        from ..plotting import plot, plot_snapshots
        figures = {'comparison': self.figure()}
        if self.trajectory is None:
            return figures
        figures['overview'] = plot(self.trajectory, self.model)
        with suppress(ValueError, ConstrainedDynamicsError):
            # the positions of the bodies may be unknown
            figures['motion'] = plot_snapshots(self.trajectory, self.model)
        return figures

    def save(self, folder):
        """Write pictures of the comparison and of the motion, if any.

        Returns their paths.
        """
        import matplotlib.pyplot as plt
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name, figure in self._figures().items():
            written.append(folder/f'{self.model.name}_{name}.png')
            figure.savefig(written[-1], dpi=160)
            plt.close(figure)
        return written
