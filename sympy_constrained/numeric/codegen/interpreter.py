"""Programs evaluated operation by operation.

Compiling takes as long as tens of interpreted evaluations, so code that runs
only a few times is not compiled. Each operation is rounded as in machine code
without optimisation.
"""
from __future__ import annotations

import math
import operator

__all__ = ['CALLS', 'Interpreted']

# Evaluations that take about as long as compilation
CALLS = 32
OPERATIONS = {
    'add': operator.add, 'sub': operator.sub, 'mul': operator.mul,
    'div': operator.truediv, 'neg': operator.neg, 'sqrt': math.sqrt,
    'lt': operator.lt, 'le': operator.le, 'gt': operator.gt,
    'ge': operator.ge, 'eq': operator.eq, 'ne': operator.ne,
    'and': operator.and_, 'or': operator.or_, 'not': operator.not_,
    'true': lambda: True, 'false': lambda: False,
    'select': lambda condition, x, y: x if condition else y}
# In Python they give integers.
ROUNDED = {'floor': lambda x: float(math.floor(x)),
           'ceil': lambda x: float(math.ceil(x))}


def function(name, operands):
    """The Python function of an operation, and the positions of its operands.
    """
    if name == 'call':
        name, *operands = operands
        return ROUNDED.get(name) or getattr(math, name), operands
    return OPERATIONS[name], operands


class Interpreted:
    """A program as a function of its inputs.

    ``places`` maps a letter to the position of its first input.
    """

    def __init__(self, program, places):
        self.outputs = program.outputs
        self.start = []
        self.inputs, self.steps = [], []
        for k, (name, *operands) in enumerate(program.operations):
            self.start.append(operands[0] if name == 'const' else None)
            if name == 'input':
                self.inputs.append((k, places[operands[0]] + operands[1]))
            elif name != 'const':
                self.steps.append((k, *function(name, operands)))

    def __call__(self, values):
        """The outputs, or None if Python raises or one is not finite; machine
        code then decides.
        """
        v = self.start.copy()
        for k, place in self.inputs:
            v[k] = float(values[place])
        try:
            for k, do, operands in self.steps:
                if len(operands) == 2:
                    x, y = operands
                    v[k] = do(v[x], v[y])
                else:
                    v[k] = do(*[v[x] for x in operands])
            found = [float(v[k]) for k in self.outputs]
        except (ArithmeticError, ValueError):
            return None
        return found if all(map(math.isfinite, found)) else None
