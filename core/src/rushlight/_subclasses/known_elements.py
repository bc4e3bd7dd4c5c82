"""Elements that are known although tensors pretend: those of ``tensor(3.0)`` and what small
computations make of them, so that programs can ask for them."""

from __future__ import annotations

import weakref

from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree

MOST = 1  # elements of a result that are computed


class KnownElements:
    """The tensors with elements behind those of one mode that pretend."""

    def __init__(self):
        # storage -> those that are known by it, under their ids: tensors compare by elements
        self.by_memory = weakref.WeakKeyDictionary()

    def keep(self, fake, constant):
        """Note that `fake` has the elements of `constant`, which nobody else has."""
        fake.constant = constant
        known = self.by_memory.setdefault(storage_of(constant), weakref.WeakValueDictionary())
        known[id(fake)] = fake

    def forget(self, fake):
        """The memory of a tensor was written to by what nobody knows."""
        if fake.constant is not None:
            for each in list(self.by_memory.pop(storage_of(fake.constant), {}).values()):
                each.constant = None

    @staticmethod
    def of(fakes):
        """Whether all these are known, and there is one."""
        return bool(fakes) and all(fake.constant is not None for fake in fakes)

    def compute(self, call, fakes, results):
        """Do a call on what is known, and keep what it gives where that is small or was known."""
        found = call()
        for fake, value in zip(results, pytree.tree_leaves(found), strict=True):
            if isinstance(value, Tensor) and (value.numel() <= MOST or _is_shared(value, fakes)):
                self.keep(fake, value)


def _is_shared(value, fakes):
    return any(storage_of(value) is storage_of(fake.constant) for fake in fakes)
