"""Steps of a fixed length: their code and their loop."""
from contextlib import suppress

import numpy as np

from ...errors import ConstrainedDynamicsError, NotFiniteError
from ..codegen.native import NativeFunction, arguments_of
from ..codegen.python_code import Generated
from ..integrate.blocks import is_compiled
from .schemes import IMPULSE, LATER, Scheme


def symmetric(*half):
    """Parts of a step, the middle one between both halves."""
    return np.array([*half, 1 - 2*sum(half), *half[::-1]])


# Order -> parts of a composed step.
PARTS = {
    2: np.ones(1),
    4: symmetric(*[1/(4 - 4**(1/3))]*2),
    6: symmetric(0.39216144400731413928, 0.33259913678935943860,
                 -0.70624617255763935981, 0.08221359629355080023)}
# Newton steps of the interpreted loop.
MOST, SMALL, REDUNDANT, TINY = 50, 1e-6, 1e-11, 1e-300


class Steps:
    """The loop over steps, compiled if possible; ``x`` is the work array."""

    def __init__(self, compiled, name, order):
        is_composed = name == 'discrete-gradient'
        parts, stages = (order, 1) if is_composed else (2, order//2)
        self.compiled, self.parts = compiled, PARTS[parts]
        self.scheme = scheme = compiled.kept(
            ('scheme', name, stages), lambda: Scheme(compiled, name, stages))
        self.states = scheme.states
        sizes = [len(some) for some in scheme.guesses]
        self.x = np.zeros(scheme.known + sum(sizes))
        self.guesses = np.array([IMPULSE]*scheme.known + [
            k for some in scheme.guesses for k in some])
        self.layout = np.array([
            scheme.states, len(compiled.tables), *sizes,
            *[0]*(2 - len(sizes)), len(compiled.states)])
        self.tables = list(compiled.tables.values())
        self.p = np.array(compiled.parameters(), dtype=float)
        self.history = np.zeros((len(self.parts), 3, len(self.x)))
        self.age, self.is_compiled = 0, True
        if compiled.backend != 'numpy':
            with suppress(ConstrainedDynamicsError):    # functions of users
                self.use_machine_code(('scheme code', name, stages))
                return
        self.loop = Interpreted(self, self.made(
            ('scheme in Python', name, stages), Generated))

    def outputs(self):
        """Graphs and names of outputs, in the order of the code."""
        for graph in self.scheme.phases:
            yield graph, ('residual',)
            yield graph, ('residual', 'slopes')
        yield self.scheme.end, ('out',)

    def made(self, key, make):
        compiled = self.compiled
        arguments = arguments_of(compiled.equations.t, self.scheme.inputs,
                                 compiled.constants, ())
        return compiled.kept(key, lambda: [
            make(graph, names, arguments, {})
            for graph, names in self.outputs()])

    def use_machine_code(self, key):
        from ..integrate.loop import Code, packed
        from .kernel import advance
        codes = [Code(native.function)
                 for native in self.made(key, NativeFunction)]
        codes = [*codes[:2], *codes[-3:]]       # a phase may be missing
        tables = packed(self.tables)

        def loop(parts, origin, h, begin, age, x, history, states):
            return advance(
                *codes, self.layout, self.guesses,
                np.uintp(self.p.ctypes.data), self.scheme.nodes, tables, parts,
                origin, h, begin, age, x, history, states)

        self.loop = loop
        self.is_compiled = is_compiled(advance)

    def advance(self, origin, h, begin, count):
        """Ends of steps from ``x``, up to one that fails; evaluations made."""
        states = np.empty((count, self.states))
        made, evaluations = self.loop(
            self.parts, origin, h, begin, self.age, self.x, self.history,
            states)
        self.age += made
        return states[:made], evaluations

    def within(self, t, h, state):
        """The end of a step from another state, or None; evaluations."""
        x, states = self.x.copy(), np.empty((1, self.states))
        x[:self.states] = state
        made, evaluations = self.loop(
            self.parts, t, h, 0, 0, x, np.zeros_like(self.history),
            states)
        return (states[0] if made else None), evaluations


class Interpreted:
    """The loop of :mod:`.kernel` in Python, with least-squares solutions."""

    def __init__(self, steps, codes):
        self.steps, self.codes = steps, codes

    def __call__(self, parts, origin, h, begin, age, x, history, states):
        first, total = self.steps.scheme.known, 0
        guesses = self.steps.guesses[first:]
        for i in range(len(states)):
            t = origin + (begin + i)*h
            for part in parts:
                x[first:] = np.where(guesses < 0, 0., x[guesses])
                try:
                    total += self.one(t, part*h, x)
                except (NotFiniteError, np.linalg.LinAlgError):
                    return i, total
                t += part*h
            states[i] = x[:states.shape[1]]
        return len(states), total

    def one(self, t, h, x):
        """One step in place; raises if it fails."""
        steps, first, total = self.steps, self.steps.scheme.known, 0
        n = steps.states
        x[n:first] = [h, *(table(t + node*h) for node in steps.scheme.nodes
                           for table in steps.tables)]
        for k, some in enumerate(steps.scheme.guesses):
            here = slice(first, first + len(some))
            first = here.stop
            kinds, last, change = np.array(some), np.inf, np.zeros(len(some))
            is_main, use = kinds >= 0, np.flatnonzero(kinds != LATER)
            for total in range(total + 1, total + MOST):
                out = self.codes[2*k + 1].scalar(t, *x, *steps.p)
                change[use] = least_squares(
                    out['slopes'][np.ix_(use, use)], out['residual'][use, 0])
                x[here] -= change
                use = np.arange(len(some))
                size = np.abs(x[:steps.layout[4]]).max() + np.abs(
                    x[here][is_main]).max()
                far = np.abs(change[is_main]).max()
                if far <= SMALL*size and far >= last/2 or far == 0:
                    break
                last = far
            else:
                raise np.linalg.LinAlgError
        x[:n] = self.codes[-1].scalar(t, *x, *steps.p)['out'][:, 0]
        return total


def least_squares(matrix, right):
    """The least solution in equations and unknowns of comparable size."""
    rows = np.abs(matrix).max(axis=1) + TINY
    columns = (np.abs(matrix)/rows[:, None]).max(axis=0) + TINY
    return np.linalg.lstsq(matrix/np.outer(rows, columns), right/rows,
                           REDUNDANT)[0]/columns
