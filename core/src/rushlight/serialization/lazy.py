"""Tensors that PyTorch has marked as conjugates or negatives of what their storage holds.

Here a tensor's elements are what they are, so they are computed when the tensor is read: in the
storage itself where the first tensor over it fills it, which takes no memory, else in a copy.
Nothing is compiled for a file.
"""

from __future__ import annotations

import math

from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.serialization.budget import current

_NONE = (False, False)


def marks_of(metadata):
    """Whether the metadata of a tensor say that it is a conjugate, and a negative."""
    if not isinstance(metadata, dict):
        return _NONE
    return metadata.get("conj") is True, metadata.get("neg") is True


def computed(array, marks, out=None):
    """The elements that marked ones stand for."""
    if marks[0]:
        array = np.conjugate(array, out=out)
    return np.negative(array, out=out) if marks[1] else array


def plain(storage):
    """A storage whose elements are the file's, whatever a marked tensor has made of them."""
    shared = storage.shared
    if getattr(shared, "held", None) is None:
        return storage
    if shared.plain is None:
        current().charge(storage.array.nbytes)
        dtype, marks = shared.held
        flat = storage.array.reshape(-1).view(BY_CODE[dtype.code])
        shared.plain = computed(flat.copy(), marks)
    return storage.over(shared.plain.view(BY_CODE[storage.dtype.code]))


def fill(storage, dtype, size, marks):
    """Compute the marked elements of a tensor in its storage, if it is the first one there and
    fills it. The storage is then one of such elements: those with the same marks need no more."""
    whole = math.prod(size) == storage.count and storage.dtype is dtype
    if not whole or storage.device.type != "cpu" or not storage.untouched():
        return
    flat = storage.array.reshape(-1)
    computed(flat, marks, flat)
    storage.shared.held = (dtype, marks)
