"""Mechanisms that several files use, compiled once."""
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
