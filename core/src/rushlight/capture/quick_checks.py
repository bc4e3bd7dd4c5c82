"""The check of guards by the words of memory in which a change would show.

Versions of dictionaries, classes of objects, items of lists, fields of functions, arrays of tensors
are compared by one call of machine code (:mod:`rushlight.machine.native_words`). Where a word has
changed, guards are checked one by one, which may find that all is as it was: a dictionary has a new
entry that nobody read. Words are then taken anew; a dictionary that goes on changing is looked at
in Python.
"""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.capture.guards import Check, Tables
from rushlight.fastpath.tensors import slot_offset
from rushlight.machine import native_words
from rushlight.machine.native_functions import is_available
from rushlight.tensor.storage import Storage
from rushlight.tensor.tensor import Tensor

MOST_NOTES = 16  # times that words are taken: what changes so often is not worth it
RESTLESS = 2  # changes after which a dictionary is looked at in Python


class QuickCheck:
    """``quick() -> bool``: whether nothing that `check` looks at can have changed, and nobody can
    have written to `weights`; False says nothing."""

    def __init__(self, check: Check, weights: Sequence[Tensor] = ()):
        self.check, self.weights = check, weights
        self.changes: dict = {}  # id of a dictionary -> how often its version was another
        self.counted: list = []  # dictionaries with their versions
        self.notes = 0
        self.note()

    def __call__(self):
        """Compare."""
        return self.unchanged() and (self.rest is None or self.rest.hold())

    def note(self):
        """Take the words as they are now, all guards being as they were."""
        self.notes += 1
        fields = native_words.function_fields() if is_available() else None
        if fields is None or self.notes > MOST_NOTES:
            self.unchanged = _never
            return
        for table, version in self.counted:
            if native_words.version_of(table) != version:
                self.changes[id(table)] = self.changes.get(id(table), 0) + 1
        self.words, self.counted = native_words.Words(), []
        tables, held = [*self._tables()], [*self._held()]
        self.rest = _Rest(tables, held) if tables or held else None
        self._add_others(fields)
        self._add_tensors()
        self.unchanged = self.words.check()

    def _tables(self):
        """Add dictionaries by their versions; gives the guards that are left to Python."""
        for guard in self.check.guards.tables.values():
            owner = guard[0]
            of_class = isinstance(owner, type)
            if not self._counts(
                native_words.table_of_class(owner) if of_class else owner, of_class
            ):
                yield guard

    def _held(self):
        """Add lists and dictionaries; gives the guards of containers that are left to Python."""
        for each in self.check.held:
            if isinstance(each.value, list):
                self.words.items(each.value)
            elif not isinstance(each.value, tuple | frozenset) and not self._counts(each.value):
                yield each

    def _counts(self, table, of_class=False):
        """Add the version of a dictionary; whether it tells of writes, and is not restless."""
        may = native_words.counts_writes_to_classes if of_class else native_words.counts_writes
        if not isinstance(table, dict) or not may() or self.changes.get(id(table), 0) >= RESTLESS:
            return False
        self.counted.append((table, native_words.version_of(table)))
        self.words.field(table, native_words.VERSION_AT)
        return True

    def _add_others(self, fields):
        words, guards = self.words, self.check.guards
        for value, _ in guards.types.values():
            words.field(value, native_words.CLASS_AT)
        for hooks in guards.empty.values():
            words.field(hooks, native_words.USED_AT)
        for function, _, _ in self.check.functions:
            for offset in fields:
                words.field(function, offset)
        for cell, _, _ in guards.cells.values():
            words.field(cell, native_words.CONTENTS_AT)

    def _add_tensors(self):
        words = self.words
        for tensor in self.check.tensors:
            words.field(tensor, slot_offset(Tensor, "_array"))
        for tensor in self.weights:
            storage = tensor._storage
            words.field(tensor, slot_offset(Tensor, "_storage"))
            if storage is not None:
                words.kept += [storage.version, storage.unseen]
                words.field(storage, slot_offset(Storage, "version"))
                words.field(storage, slot_offset(Storage, "unseen"))


class _Rest:
    """Guards that are looked at in Python."""

    def __init__(self, tables, held):
        self.tables, self.held = Tables(tables), held

    def hold(self):
        """Whether all is as it was."""
        return self.tables.hold() and all([each.holds() for each in self.held])


def _never():
    return False
