"""What a call of a compiled function runs: a graph with its guards, and what it keeps of weights.

By default a graph may keep what it computes from weights although they may change: storages count
the writes, and know of arrays and ``x.data`` whose writes they cannot count
(:class:`~rushlight.tensor.storage.Storage`). When a weight changes, the graph runs as it is until
the weights have been the same for some calls; a program that changes them every few calls, as one
that learns while it predicts, soon has the plain graph alone.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence

from rushlight.amp.mode import paused
from rushlight.autograd.mode import mode
from rushlight.capture.guards import Check
from rushlight.capture.plans import Plan
from rushlight.capture.quick_checks import QuickCheck
from rushlight.tensor.dispatch import stack
from rushlight.tensor.storage import storage_of

PATIENCE = 8  # calls with the same weights that make up for packing them
MOST_FAILURES = 4  # packings that did not pay, behind which there are no more
MOST_BYTES = 1 << 29  # of weights whose packed copies are kept without being asked for

_packed: weakref.WeakSet = weakref.WeakSet()  # entries that run with packed weights


def may_keep(tensors) -> bool:
    """Whether what is computed from these weights may be kept at all."""
    return not (mode.recording and any(tensor.requires_grad for tensor in tensors))


class Entry:
    """A graph with its guards; `asking`: which tensors ask for gradients, where that matters."""

    conditions: Sequence = ()  # what comparisons of numbers that are inputs gave

    def __init__(self, check: Check, plan: Plan, steps: int, frozen: list, asking=None):
        self.check, self.plan, self.steps, self.frozen = check, plan, steps, frozen
        self.asking = asking
        self.quick = QuickCheck(check, check.tensors if frozen else ())

    def run(self, leaves):
        """The result of the graph, in which casts of autocast are steps."""
        if not stack.interpreters:
            return self.plan.run(*leaves)
        with paused():
            return self.plan.run(*leaves)

    def hold(self):
        """Whether the graph may run; what was computed from weights is that of now."""
        check = self.check
        if self.asking is not None and check.asking() != self.asking:
            return False
        if self.quick():
            return True
        if not check():
            return False
        if not check.arrays_hold() or self.frozen and not check.versions_hold():
            if not check.forms_hold():
                return False
            for step in self.frozen:
                step.refresh()
            self.plan.forget()
            check.note_tensors()
        self.quick.note()
        return True


class KeepingEntry(Entry):
    """A graph in two forms: `packed`, whose steps `kept` hold what they compute from `weights`, and
    `plain`."""

    def __init__(self, check, plain, steps, packed, kept, weights):
        super().__init__(check, plain, steps, [])
        self.plain, self.packed, self.kept, self.weights = plain, packed, kept, weights
        self.bytes = sum(tensor._array.nbytes for tensor in weights)
        self.failures, self.same, self.seen = 0, 0, None
        self.wait: int | None = 0  # calls with the same weights before they are packed
        self._look()

    def hold(self):
        """Whether the graph may run; `plan` is then the form that does."""
        if self.plan is self.packed:
            if self.quick_packed():
                self.uses += 1
                return True
            if not self.check():
                return False
            if self.check.arrays_hold() and self._states() == self.seen:
                self.uses += 1
                self.quick_packed.note()
                return True
            self._unpack()
        if not super().hold():
            return False
        if self.wait is not None:
            self._look()
        return True

    def _states(self):
        """What changes when weights may have been written to."""
        storages = map(storage_of, self.weights)
        return [(storage, storage.version, storage.unseen) for storage in storages]

    def _look(self):
        """Pack the weights where they have been the same for long enough."""
        now = self._states()
        self.same = self.same + 1 if now == self.seen else 0
        self.seen = now
        if self.same < self.wait:
            return
        if not self._can_pack():
            self._put_off()
            return
        for step in self.kept:
            step.refresh()
        self.packed.forget()
        self.quick_packed = QuickCheck(self.check, self.weights)
        self.plan, self.uses = self.packed, 0
        _packed.add(self)

    def _can_pack(self):
        """Whether all writes to the weights will be seen, and copies of them are not too many."""
        if sum(entry.bytes for entry in _packed) + self.bytes > MOST_BYTES:
            return False
        return all(tensor._storage.counts_writes() for tensor in self.weights)

    def _unpack(self):
        """The plain form from now on, or until weights have been looked at."""
        self.plan, self.same = self.plain, 0
        _packed.discard(self)
        if self.uses >= PATIENCE:
            self.failures, self.wait = 0, 0
        else:
            self._put_off()

    def _put_off(self):
        """Wait longer than the time before; give up where that was often enough."""
        self.failures += 1
        self.wait = PATIENCE << self.failures
        if self.failures >= MOST_FAILURES:
            self.wait = self.packed = None
            self.kept, self.weights, self.seen = [], [], None
