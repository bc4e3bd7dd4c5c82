"""Keys of dicts and members of sets: what hashing and comparing them costs, and what is refused.

The hashes of tuples, frozensets and complex numbers are not seeded, so a file can hold thousands
with one hash, which a dict compares pair by pair; here they are charged for that. Texts are hashed
once, with a seed, but compared with equal ones in full. Numbers whose hashes differ can still be
made to search the same long path of a large dict, which only shows in the time that it takes: large
containers are charged for that, so much less than for memory that it counts against files made for
it alone.
"""

from __future__ import annotations

import functools
import time

_LARGEST = 1 << 60  # numbers beyond can collide in their hashes
_LONG_TEXT = 1 << 7  # bytes that are compared for one of the budget
_IN_TUPLE = 16  # for hashing one member of a tuple
_IN_SET = 110  # bytes of a member while a set grows
_RECORD = 160  # for the record of a hash
_COMPARISON = 32
_LARGE = 4096  # members from which on time is charged for
_PIECE = 1024  # members that are put at a time
_NANOSECONDS = 64  # of the thread's time for one of the budget


class Keys:
    """The keys that one load has used; `budget` is charged."""

    def __init__(self, budget):
        self.budget = budget
        self.hashes: dict = {}  # (id of a container, hash) -> how many keys have it there

    def put(self, mapping, items):
        """Put keys and values, one after the other, into a dict, whose entries are charged for."""
        self._paced(len(mapping), functools.partial(self._put, mapping), items)

    def add(self, found, items):
        """Add members to a set, and charge for them."""
        self.budget.charge(_IN_SET * len(items))
        self._paced(len(found), functools.partial(self._add, found), items)

    def _paced(self, size, insert, items):
        """Insert `items` into a container of `size`; if it is large, charge for the time as well,
        piece by piece."""
        if size + len(items) <= _LARGE:
            insert(items)
            return
        for at in range(0, len(items), _PIECE):
            started = time.thread_time_ns()
            insert(items[at : at + _PIECE])
            self.budget.charge((time.thread_time_ns() - started) // _NANOSECONDS)

    def _put(self, mapping, items):
        use, where = self._use, id(mapping)
        for key, value in zip(items[::2], items[1::2], strict=True):
            use(key, where)
            mapping[key] = value

    def _add(self, found, items):
        for item in items:
            self._use(item, id(found))
            found.add(item)

    def _use(self, key, where):
        """Charge for `key` before it goes into the container with the id `where`, or refuse it."""
        kind = type(key)
        if kind is str or kind is bytes:
            if len(key) > _LONG_TEXT:
                self.budget.charge(len(key) // _LONG_TEXT)
        elif kind is int or kind is float:
            _check_number(key)
        elif key is not None and kind is not bool:
            self._walk(key)
            self._count((where, hash(key)))

    def _walk(self, key):
        """The members of a key, however deep, each as often as it is hashed."""
        waiting, seen = [(key, 0)], 0
        while waiting:
            value, depth = waiting.pop()
            seen += 1
            if seen > 1000 or depth > 20:
                raise ValueError("a key is a deeply nested or very long tuple")
            if isinstance(value, tuple | frozenset):
                if seen + len(waiting) + len(value) > 1000:
                    raise ValueError("a key is a deeply nested or very long tuple")
                waiting.extend((item, depth + 1) for item in value)
            elif isinstance(value, str | bytes):
                self.budget.charge(len(value) // _LONG_TEXT)
            elif isinstance(value, int | float):
                _check_number(value)
        self.budget.charge(_IN_TUPLE * seen)

    def _count(self, slot):
        count = self.hashes.get(slot, 0)
        self.budget.charge(_COMPARISON * count if count else _RECORD)
        self.hashes[slot] = count + 1


def _check_number(value):
    if not -_LARGEST < value < _LARGEST and value - value == 0:
        raise ValueError("a key is a number beyond 2**60")
