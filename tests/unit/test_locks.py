"""Locks in forked processes, and properties that are computed once."""
import os
import subprocess
import sys
from importlib import import_module
from multiprocessing import get_context
from threading import Event, Thread
from time import sleep

import pytest

from sympy_constrained import precision
from sympy_constrained.locks import cached_property
from sympy_constrained.numeric.codegen import native


class Slow:
    """A property that one thread computes until it is told."""

    begun, told = Event(), Event()

    def __init__(self, is_slow):
        self.is_slow = is_slow

    @cached_property
    def value(self):
        if self.is_slow:
            self.begun.set()
            self.told.wait(20)
        return 7


def take(lock):
    with lock:
        pass


def ends(target, *arguments):
    """Whether a forked process comes to its end."""
    process = get_context('fork').Process(target=target, args=arguments)
    process.start()
    process.join(20)
    process.kill()
    process.join()
    return process.exitcode == 0


def lock_of_llvm():
    pytest.importorskip('llvmlite')
    import_module('sympy_constrained.numeric.codegen.llvm_code')
    return import_module('llvmlite.binding').ffi.lib._lock


@pytest.mark.parametrize('lock', [
    lambda: precision._LOCK, lambda: native.WRITING, lock_of_llvm])
def test_a_lock_is_open_in_a_forked_process(lock):
    lock, taken = lock(), Event()

    def hold():
        with lock:
            taken.set()
            sleep(0.3)

    holding = Thread(target=hold)
    holding.start()
    taken.wait()
    assert ends(take, lock)
    holding.join()
    assert ends(take, lock)


def test_a_thread_that_forks_may_hold_a_lock():
    with native.WRITING:
        assert ends(take, native.WRITING)
    assert ends(take, native.WRITING)


def test_a_property_is_open_in_a_forked_process():
    computing = Thread(target=lambda: Slow(True).value)
    computing.start()
    Slow.begun.wait()
    assert ends(lambda: Slow(False).value)
    Slow.told.set()
    computing.join()
    found = Slow(False)
    assert found.value == 7 and vars(found)['value'] == 7


FORKING = """
import os, sys, threading
import sympy_constrained.numeric
sys.setswitchinterval(1e-6)

def fork():
    for _ in range(60):
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)

threads = [threading.Thread(target=fork) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
def test_threads_may_fork_at_the_same_time():
    subprocess.run([sys.executable, '-W', 'ignore', '-c', FORKING],
                   check=True, timeout=60)
