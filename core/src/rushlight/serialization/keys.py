"""Keys of dicts and members of sets: what hashing and comparing them costs, and what is refused.

The hashes of tuples, frozensets and complex numbers are not seeded, so a file can hold thousands
with one hash, which a dict compares pair by pair; here they are charged for that. Texts are hashed
once, with a seed, but compared with equal ones in full.
"""

from __future__ import annotations

_LARGEST = 1 << 60  # numbers beyond can collide in their hashes
_LONG_TEXT = 1 << 7  # bytes that are compared for one of the budget
_IN_TUPLE = 16  # for hashing one member of a tuple
_IN_SET = 110  # bytes of a member while a set grows
_RECORD = 160  # for the record of a hash
_COMPARISON = 32


class Keys:
    """The keys that one load has used; `budget` is charged."""

    def __init__(self, budget):
        self.budget = budget
        self.hashes: dict = {}  # (number of a container, hash) -> how many keys have it there
        self.calls = 0

    def members(self, items, where=None):
        """Charge for members of the set with the id `where`, or of a new one."""
        self.budget.charge(_IN_SET * len(items))
        if where is None:
            self.calls += 1
            where = -self.calls
        for item in items:
            self.use(item, where)

    def use(self, key, where):
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
