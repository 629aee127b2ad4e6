"""What every test may use: repeatable numbers and an untouched precision."""
import gc
from random import Random

import kkt
import last_bit
import mpmath
import pytest
import sympy

last_bit.apply()
# SymPy makes many small objects; frequent collections take a seventh of the
# processor time.
gc.set_threshold(100_000, 50, 50)


def pytest_report_header():
    return f'sympy {sympy.__version__}, mpmath {mpmath.__version__}'


@pytest.fixture
def rng():
    """A generator of random numbers that are the same in every run."""
    return Random(20161)


@pytest.fixture(autouse=True)
def restored_precision():
    """Give mpmath's working precision back after each test."""
    with mpmath.workprec(mpmath.mp.prec):
        yield


@pytest.fixture
def digits():
    """Digits for the algebra of a test: `usefixtures('digits')`."""
    with mpmath.workdps(kkt.WORK):
        yield


@pytest.fixture
def single(monkeypatch):
    """The times of steps that are made in Python."""
    from sympy_constrained.numeric.integrate.stepper import Run
    times, step = [], Run.step

    def noted(run, solver):
        times.append(solver.t)
        return step(run, solver)

    monkeypatch.setattr(Run, 'step', noted)
    return times
