"""What a load may spend: memory for what it makes, and work by the same measure.

The promise of a restricted load is a peak of memory of at most the file's size and 64 MB, and time
in proportion to the file. One budget keeps it: the file's size and `SPARE` bytes. Storages, the
archive's directory, every object of the pickle and every function that a pickle may call are
charged to it, before they allocate; so is work that a small file could ask for again and again,
such as hashing one long tuple.
"""

from __future__ import annotations

import contextlib
import threading

# Of the 64 MB; the rest is for buffers, the allocator's fragments and modules that are imported.
SPARE = 56 << 20
ASIDE = 8 << 20
_ENDLESS = 1 << 100


class Budget:
    """How many bytes are left; of `limit` at first, which trusted files never reach.

    `complete` says whether storages have their elements, which in the old format come after the
    pickle; `again` that something was read that needs them, so that the pickle is read again.
    """

    __slots__ = ("again", "complete", "left")

    def __init__(self, limit=_ENDLESS):
        self.left, self.complete, self.again = limit, True, False

    def charge(self, amount):
        """Take `amount` bytes."""
        self.left -= amount
        if self.left < 0:
            exceeded()

    @contextlib.contextmanager
    def passing(self, amount):
        """A block that needs `amount` bytes as long as it runs."""
        self.charge(amount)
        yield
        self.left += amount


def exceeded():
    """Refuse what does not fit."""
    raise MemoryError(
        "its objects need far more memory than the file has bytes; if that is what it should hold, "
        "let the load take so many bytes more than the file has by spare=, say spare=1 << 30"
    )


class _Current(threading.local):
    """The budget of the load that runs in this thread."""

    budget = Budget()


_current = _Current()


def current() -> Budget:
    """The budget of the load that is running; without one, an endless one."""
    return _current.budget


@contextlib.contextmanager
def spending(budget):
    """A load that is charged to `budget`."""
    before, _current.budget = _current.budget, budget
    try:
        yield budget
    finally:
        _current.budget = before
