"""Mechanisms that several files use, compiled once."""
import signal

import pytest

import mechanisms


@pytest.fixture(scope='session')
def pendulum():
    return mechanisms.pendulum()


@pytest.fixture(scope='session')
def doubled():
    return mechanisms.doubled_pendulum()


@pytest.fixture(scope='session')
def cranks():
    return mechanisms.parallel_cranks()


@pytest.fixture(autouse=True)
def keyboard():
    """Interrupts arrive, also where tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
