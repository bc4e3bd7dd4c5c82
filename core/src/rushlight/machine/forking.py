"""The locks of the whole process, in the order in which threads take them, and forks.

A child must not meet a lock that a thread of its parent held: a fork takes them all first, so that
what they guard is whole in the child. Kernels run and are compiled under the outer ones; under
leaves nothing is waited for. A fork waits for imports too, since one that another thread had begun
never ends in the child. All is registered here, once: what another thread registers during a fork
would run after it without having run before.
"""

from __future__ import annotations

import functools
import importlib
import operator
import os
import threading
import time

ACCUMULATION = threading.RLock()  # of gradients
DRAWING = threading.RLock()  # from the default generator
POOL = threading.RLock()  # making the worker pool, and its number of threads
COMPILING = threading.RLock()
LEAVES = INTERNING, MODES = threading.RLock(), threading.RLock()

# What stops the worker pool before a fork and lets jobs in after it; filled under POOL.
STOPPED: list = []
RESUMED: list = []

PATIENCE = 2.0  # seconds that a fork waits for another thread's import
# CPython's, by name; a module has one while it is looked for and executed.
_module_locks = getattr(importlib._bootstrap, "_module_locks", {})
_endless: set = set()  # imports that a fork has waited for in vain
_taken: list = []  # leaves that a fork holds


class lazy:
    """An attribute that is computed at first need. :class:`functools.cached_property` holds a lock
    while it computes, before Python 3.12."""

    def __init__(self, compute):
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.compute(instance)
        return value


def importing() -> set:
    """The modules that other threads import: they hold their locks."""
    me = threading.get_ident()
    locks = {name: found() for name, found in list(_module_locks.items())}
    return {n for n, lock in locks.items() if getattr(lock, "owner", None) not in (None, me)}


def _take_leaves():
    limit = time.monotonic() + PATIENCE
    while importing() - _endless and time.monotonic() < limit:
        time.sleep(0.001)
    _endless.update(importing())
    for lock in LEAVES:
        lock.acquire()
        _taken.append(lock)


def _release_leaves():
    while _taken:
        _taken.pop().release()


def _each(callables):
    """What calls each of a list, now or later in it; built-in, so that Ctrl-C cannot come between.
    The list may hold one: two results would be compared."""
    return functools.partial(sorted, callables, key=operator.methodcaller("__call__"))


def _register():
    """What is registered first is taken last and released first."""
    register = os.register_at_fork
    register(before=_take_leaves, after_in_parent=_release_leaves, after_in_child=_release_leaves)
    resume = _each(RESUMED)
    for lock in (COMPILING, POOL, DRAWING, ACCUMULATION):
        if lock is POOL:
            register(before=_each(STOPPED), after_in_parent=resume, after_in_child=resume)
        register(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


if hasattr(os, "register_at_fork"):
    _register()
