"""Locks that a forked process never finds locked.

A fork copies the locks that other threads hold and none of these threads, so
that nobody opens them in the new process. Here a fork waits until they are
open, and holds them meanwhile.
"""
from __future__ import annotations

import functools
import os
from contextlib import ExitStack, nullcontext
from threading import RLock
from typing import Any, Generic, TypeVar

__all__ = ['cached_property', 'held_at_forks', 'lock']

T = TypeVar('T')
_locks: list[Any] = []
_held = ExitStack()


def lock():
    """A lock that one thread may take several times."""
    return held_at_forks(RLock())


def held_at_forks(lock):
    """A lock, remembered; a thread takes several in the order of these calls.
    """
    _locks.append(lock)
    return lock


def _hold():
    for one in list(_locks):
        _held.enter_context(one)


def _release():
    _held.pop_all().close()             # empty before others fill it again


if hasattr(os, 'register_at_fork'):             # not on Windows
    os.register_at_fork(before=_hold, after_in_parent=_release,
                        after_in_child=_release)


class cached_property(functools.cached_property, Generic[T]):
    """That of Python 3.12 and later, which has no lock.

    Before, all objects of a class share one for each property.
    """

    def __init__(self, func):
        super().__init__(func)
        self.lock = nullcontext()
