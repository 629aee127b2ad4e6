"""What a run keeps so that derivatives can be carried back over its steps.

These are the times of all steps, and the state at the begin of each block of
them. The states between are computed again.
"""
from typing import NamedTuple

import numpy as np

from ...errors import UnsupportedFeatureError
from .blocks import Blocks
from .rodas import Rodas5P


class Part(NamedTuple):
    """Consecutive steps from the state ``y``, and how they end."""

    begins: np.ndarray
    ends: np.ndarray
    y: np.ndarray
    solver: object              # of the equations
    rows: object                # independent ones for the projection, or None
    t: float                    # the end, perhaps within the last step
    x: np.ndarray               # state there
    event: object = None        # the function that vanishes there
    after: np.ndarray | None = None     # state after a jump


class Tape:
    """The steps of a run, in parts; ``fault`` says why they do not do."""

    def __init__(self, compiled, method):
        self.compiled, self.method = compiled, method
        self.parts: list[Part] = []
        self.fault = ''

    @classmethod
    def of(cls, run, method):
        """An empty one, or an error if derivatives are not available."""
        if method is Rodas5P or not Blocks.apply_to(run, method):
            raise UnsupportedFeatureError(
                "Gradients are available for steps by 'DOP853', 'RK45' or "
                "'RK23' in machine code: they need the packages numba and "
                "llvmlite, no Python functions as inputs, no 'braun-goldfarb' "
                "stabilization, and no accelerations or multipliers as "
                "states. Use `sensitivities` or differences of motions.")
        return cls(run.compiled, method)

    def add(self, run, begins, ends, y, t, x):
        solver, n = run.rank.solver, run.size
        self.parts.append(Part(
            begins, ends, y[:n].copy(), solver, run.projector
            and run.projector.rows(solver, begins[0], y[:n]), t, x[:n].copy()))

    def end_with(self, **what):
        self.parts[-1] = self.parts[-1]._replace(**what)
