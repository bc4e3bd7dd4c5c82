"""``tensor[index]`` where gradients are recorded, and the index holds tensors of the program that
is captured: by the ops that items.py has for arrays."""

from __future__ import annotations

from rushlight.dtypes import int64
from rushlight.ops._transforms.wrapped_writes import RECORDING, lift
from rushlight.ops._transforms.wrappers import wrappers_in
from rushlight.ops.creation.tensors import tensor
from rushlight.ops.indexing import items as indexing
from rushlight.ops.indexing.index_forms import expanded, width
from rushlight.tensor.tensor import Tensor

_WHOLE = slice(None)


def recording_level(*values):
    """The deepest level that records gradients among tensors of a capture; None where there is
    none, or where examples of `vmap` are among them."""
    levels = {w._level for w in wrappers_in(values)}
    if any(level.kind == "vmap" for level in levels):
        return None
    found = [level for level in levels if level.kind in RECORDING]
    return max(found, key=lambda level: level.depth, default=None)


def getitem(self, items):
    """The elements at an index."""
    first, second = _in_two_steps(items, self.dim())
    return indexing._index(_viewed(self, first), second)


def setitem(level, self, items, value):
    """``self[items] = value`` at a level that records."""
    lift(self, level)
    if not isinstance(value, Tensor):
        value = tensor(value, dtype=self._dtype, device=self._device)
    first, second = _in_two_steps(items, self.dim())
    target = _viewed(self, first)
    if any(isinstance(item, Tensor) for item in second):
        indexing.put(target, second, value, False)
    else:
        target.copy_(indexing._drop_leading(value, target))


def index_put(self, indices, values, accumulate):
    """A copy of `self` with values written at index tensors, one for each dimension or None."""
    return indexing._index_put(self, values, _in_two_steps(indices, self.dim())[1], accumulate)


def index_put_(level, self, indices, values, accumulate):
    """Write at index tensors, one for each dimension or None."""
    lift(self, level)
    return indexing.put(self, _in_two_steps(indices, self.dim())[1], values, accumulate)


def _viewed(self, first):
    return self if all(item == _WHOLE for item in first) else indexing._slice(self, first)


def _in_two_steps(items, ndim):
    """An index as a basic one, which is applied first, and one of tensors and whole slices."""
    items = tuple(_as_tensor(item) for item in items)
    if not any(item is Ellipsis for item in items):
        items = (*items, Ellipsis)
    first: list = []
    second: list = []
    for item in expanded(items, ndim):
        if isinstance(item, Tensor):
            first += [_WHOLE] * width(item)
            second.append(item)
        else:
            first.append(item)
            second += [] if isinstance(item, int) else [_WHOLE]
    return tuple(first), tuple(second)


def _as_tensor(item):
    if isinstance(item, list | range):
        return tensor(list(item), dtype=int64)
    return item
