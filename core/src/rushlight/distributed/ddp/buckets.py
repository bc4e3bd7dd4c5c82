"""Buckets: the gradients of several parameters in one flat tensor, reduced by one call."""

from __future__ import annotations

from typing import Any

from rushlight.machine import np
from rushlight.ops.creation.tensors import zeros

FIRST_BYTES = 1 << 20  # of the first bucket, so that communication starts early


def divided(parameters, capacity: int) -> list:
    """Parameters in the order in which gradients come (the last layer's first), in lists of one
    dtype and device, and of at most `capacity` bytes."""
    found: list = []
    size, limit = 0, min(FIRST_BYTES, capacity)
    for parameter in reversed(parameters):
        nbytes = parameter.numel() * parameter.dtype.itemsize
        fits = found and _alike(found[-1][0], parameter) and size + nbytes <= limit
        if fits:
            found[-1].append(parameter)
            size += nbytes
            continue
        if found:
            limit = capacity
        found.append([parameter])
        size = nbytes
    return found


def _alike(first, second):
    return first.dtype is second.dtype and first.device == second.device


class Bucket:
    """The gradients of some parameters, one behind the other."""

    def __init__(self, index: int, parameters):
        self.index, self.parameters = index, parameters
        first = parameters[0]
        count = sum(p.numel() for p in parameters)
        self.tensor = zeros(count, dtype=first.dtype, device=first.device)
        self.views = []
        start = 0
        for parameter in parameters:
            end = start + parameter.numel()
            self.views.append(self.tensor[start:end].view(parameter.shape))
            start = end
        self.missing = len(parameters)
        self.work: Any = None
        self.launched = False

    def begin(self) -> None:
        """Expect all gradients anew."""
        self.missing, self.work, self.launched = len(self.parameters), None, False

    def fill(self, place: int, grad, factor: float) -> None:
        """Take in a gradient times a factor; None counts as zeros."""
        view = self.views[place]._array
        if grad is None:
            view.fill(0)
        elif np.may_share_memory(view, grad._array):
            if factor != 1:
                np.multiply(view, view.dtype.type(factor), out=view)
        else:
            np.multiply(grad._array, view.dtype.type(factor), out=view)


class GradBucket:
    """What a communication hook gets: a bucket whose gradients are there."""

    def __init__(self, bucket: Bucket, is_last: bool):
        self._bucket, self._is_last = bucket, is_last
        self._buffer = bucket.tensor

    def index(self) -> int:
        """Which of the buckets it is, in the order of reduction."""
        return self._bucket.index

    def buffer(self):
        """All gradients as one flat tensor."""
        return self._buffer

    def gradients(self) -> list:
        """The gradients, in the shapes of their parameters."""
        found, start = [], 0
        for view in self._bucket.views:
            found.append(self._buffer[start : start + view.numel()].view(view.shape))
            start += view.numel()
        return found

    def parameters(self) -> list:
        """The parameters whose gradients it holds."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Whether no other bucket comes after it in this backward."""
        return self._is_last

    def set_buffer(self, buffer) -> None:
        """Replace the flat tensor."""
        self._buffer = buffer
