"""The result of a comparison: text, table, pictures."""
from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..analysis.constraint_rank import ConstraintReport, described
from ..errors import ConstrainedDynamicsError
from ..methods.base import ConstrainedMethod
from ..models import Model
from ..numeric import CompiledEquations, Trajectory
from ..numeric.names import label
from .report import as_table, wrapped
from .result import Verdict

__all__ = ['Comparison']


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of :func:`compare`; ``print`` it for a table.

    Attributes
    ==========

    model : Model
    method : ConstrainedMethod
        The reference.
    report : ConstraintReport
    compiled : CompiledEquations
        Of the reference.
    formulations : tuple of Formulation
        The first is the reference.
    states : list of (t, x)
        Where they are compared.
    trajectory : Trajectory or None
        None if nothing was simulated.
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
        """Whether all formulations agree that must.

        Refusals, formulations stopped at the limit and errors of SymPy's
        methods do not count.
        """
        return not any(f.is_trouble for f in self.formulations)

    @property
    def interrupted(self):
        """Whether it was interrupted from the keyboard."""
        return any(f.verdict is Verdict.INTERRUPTED
                   for f in self.formulations)

    def __getitem__(self, name):
        """The formulation of a name."""
        by_name = {f.name: f for f in self.formulations}
        if name not in by_name:
            raise KeyError(f"{name!r} was not compared. Choose one of "
                           f"{', '.join(map(repr, by_name))}.")
        return by_name[name]

    def __str__(self):
        return '\n'.join([
            *wrapped(self.headline()), '', as_table(self.formulations), '',
            *wrapped(self.motion())])

    def table(self, format='text'):
        """The table alone, as ``'text'`` or ``'markdown'``."""
        return as_table(self.formulations, format)

    def to_markdown(self):
        """The text of ``print`` in Markdown."""
        title, *lines = self.headline()
        return '\n\n'.join([
            f'## {title}', '\n'.join(f'- {x.strip()}' for x in lines),
            self.table('markdown'),
            '\n'.join(f'- {x.strip()}' for x in self.motion())])

    def as_rows(self):
        """A dictionary for each formulation."""
        return [f.as_row() for f in self.formulations]

    def headline(self):
        """Lines that describe the model."""
        graph = self.method.system.graph
        return [
            f'{self.model.name}: {self.model.title}',
            *(f'  {line}' for line in described(
                self.method.system, self.report)),
            '  M, Q, A, b have '
            f'{graph.operation_count(("M", "Q", "A", "b"))} operations']

    def motion(self):
        """Lines on the simulation, or on the states compared instead."""
        lines = []
        if self.moved:
            lines.append('  start moved onto the constraints: ' + ', '.join(
                f'{label(x)} by {by:.3g}' for x, by in self.moved.items()))
        found = self.trajectory
        if found is None:
            lines.append(f'  compared at {len(self.states)} random states '
                         'on the constraints')
            return lines
        lines.append(f'  simulated to t = {found.t[-1]:g}: '
                     f'{found.reason.value}')
        if found.residuals.size:
            lines.append('  largest constraint residual '
                         f'{found.largest_residual:.1e}')
        error = found.energy_error
        if error is not None:
            lines.append(
                f'  energy balance holds to {np.abs(error).max():.1e}, the '
                f'energy changes by {np.ptp(found.energy):.3g} and the work '
                f'by {np.ptp(found.work):.3g}')
        forces = np.abs(found.constraint_forces)
        return [*lines, '  largest generalized constraint force '
                f'{forces.max():.4g}']

    def figure(self):
        """One picture of the table; see :func:`.plot_comparison`."""
        from .figure import plot_comparison
        return plot_comparison(self)

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
            figure.savefig(written[-1], dpi=110)
            plt.close(figure)
        return written

    def _figures(self):
        """Name -> figure."""
        from ..plotting import plot, plot_multipliers, plot_snapshots
        figures = {'comparison': self.figure()}
        if self.trajectory is None:
            return figures
        figures['overview'] = plot(self.trajectory)
        if self.trajectory.multipliers.shape[1]:
            figures['multipliers'] = plot_multipliers(self.trajectory)
        with suppress(ValueError, ConstrainedDynamicsError):
            # the positions of the bodies may be unknown
            figures['motion'] = plot_snapshots(self.trajectory, self.model)
        return figures
