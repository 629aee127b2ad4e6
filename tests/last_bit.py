"""Change the last bit of numbers, to show that no test depends on it.

``LAST_BIT`` names what to change: ``sse2`` compiles for a processor without
FMA and without wide vectors, ``start`` moves each number of the start of a
simulation, except zeros, to one of its neighbours. ``make last-bit`` sets
both, and disables the vector instructions of NumPy.
"""
import os
from functools import wraps


def apply():
    wanted = os.environ.get('LAST_BIT', '').split()
    if 'sse2' in wanted:
        compile_for_sse2()
    if 'start' in wanted:
        move_starts()


def compile_for_sse2():
    import llvmlite.binding as llvm
    llvm.get_host_cpu_name = lambda: 'x86-64'
    llvm.get_host_cpu_features = lambda: llvm.FeatureMap({'sse2': True})


def move_starts():
    import numpy as np

    from sympy_constrained.numeric.integrate.stepper import Run
    make = Run.__init__

    @wraps(make)
    def moved(self, compiled, span, x, *args, **kwargs):
        way = np.where(np.arange(len(x)) % 2, np.inf, -np.inf)
        with np.errstate(all='ignore'):
            x = np.where(x, np.nextafter(x, way), x)
        make(self, compiled, span, x, *args, **kwargs)

    Run.__init__ = moved
