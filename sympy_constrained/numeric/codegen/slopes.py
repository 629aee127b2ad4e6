"""Derivatives of the rates by time and states, from ``W z = r``.

With a solution ``z`` its derivative is that of ``W dz = dr - dW z``, so no
solved expression is differentiated.
"""
from contextlib import suppress

import numpy as np

from ...errors import ConstrainedDynamicsError
from ...graph import Graph, gradient, jacobian
from .native import with_given
from .solution import power, rows_of, select


class Slopes:
    """Machine code for the terms of the derivatives, and their assembly.

    The outputs of ``code`` are, row by row, the derivatives of the rates that
    are known, those of ``r - W z``, the matrix ``W``, and the derivatives of
    the power of the ``work``, by time, states and accelerations. The values of
    ``z`` follow the constants. ``sizes`` are the numbers of states, of rates
    that are known, of accelerations, of rows of ``W`` in use, and of works.
    """

    def __init__(self, compiled, rows, work):
        equations = compiled.equations
        use = rows_of(equations, rows)
        graph = slopes_graph(equations, compiled.inputs.given, use, work)
        self.code = compiled.native(graph, 'out', None, equations.unknowns)
        states = len(compiled.states)
        self.sizes = (states, states - compiled.motion, compiled.motion,
                      len(use), int(bool(work)))

    @classmethod
    def of(cls, compiled, rows, work):
        """Those of a model, or None if they cannot be compiled."""
        with suppress(ConstrainedDynamicsError):    # a function of the user
            return cls(compiled, rows, work)

    def __call__(self, t, x, p, z):
        """Derivatives by time and states, (n, ns + 1); None if not finite."""
        states, known, motion, count, works = self.sizes
        values = self.code.bound((states,), np.append(p, z))(t, x)
        if values is None:
            return None
        terms, W, slopes = np.split(values, np.cumsum(
            [(known + count)*(states + 1), count*count]))
        terms = terms.reshape(-1, states + 1)
        rates = np.linalg.solve(W.reshape(count, count), terms[known:])
        rows = [terms[:known], rates[:motion]]
        if works:
            rows.append(slopes[None, :states + 1]
                        + slopes[None, states + 1:]@rates[:motion])
        return np.concatenate(rows)


def slopes_graph(equations, given, use, work):
    names = 'rates', 'W', 'r', *work
    g, out = with_given(equations.graph, names, given).load(None, names)
    by = [g.input(x, dynamic=True) for x in (equations.t, *equations.states)]
    z = [g.input(x, dynamic=True) for x in equations.unknowns]
    W, r = select(out, use)
    rest = [g.sub(right, g.dot(row, [z[i] for i in use]))
            for row, right in zip(W, r)]
    rows = jacobian(g, [x for x, in out['rates']] + rest, by) + W
    if work:
        accelerations = z[:len(equations.states) - len(out['rates'])]
        rows.append(gradient(g, power(
            g, out, equations, out['rates'] + [[x] for x in accelerations]),
            by + accelerations))
    return Graph.freeze(g, {'out': [x for row in rows for x in row]})
