"""``tensor[index]`` while a program is captured: by the steps that ATen has for it."""

from __future__ import annotations

from rushlight.dtypes import bool_, int64, uint8
from rushlight.machine import np
from rushlight.machine.arrays import is_array
from rushlight.ops._table.aten import in_aten
from rushlight.ops._table.value_sized import value_sized
from rushlight.ops._transforms.capturing import Captured
from rushlight.ops._transforms.wrapped_writes import DETACHING, Item
from rushlight.ops.creation.tensors import tensor
from rushlight.ops.former.private_names import sliced
from rushlight.ops.indexing import items as indexing
from rushlight.ops.indexing import recorded_items
from rushlight.ops.indexing.index_forms import expanded, width
from rushlight.ops.indexing.items import _slice
from rushlight.ops.indexing.slicing import _as_strided, diagonal, narrow, select, unbind, unfold
from rushlight.ops.indexing.value_steps import picked_sizes
from rushlight.ops.shape.complex_views import view_as_complex, view_as_real
from rushlight.ops.shape.view_copies import (
    as_strided_scatter,
    diagonal_scatter,
    select_scatter,
    slice_scatter,
)
from rushlight.ops.shape.views import permute, t, transpose, unsqueeze, view, view_scatter
from rushlight.tensor.dispatch import captured, stack
from rushlight.tensor.memory_format import contiguous_format
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor

_END = 9223372036854775807  # what ATen's slices end at that go to the end
_WHOLE = slice(None)


def getitem(input, index):
    """The part of a captured tensor, or of a tensor by a captured index."""
    found, tensors = _by_views(input, index)
    if any(t is not None for t in tensors):
        return recorded(picked, found, _without_end(tensors))
    return recorded(alias, input) if found is input else found


def setitem(input, index, value):
    """``input[index] = value``."""
    recording = recorded_items.recording_level(value)
    if recording is not None:
        items = index if isinstance(index, tuple) else (index,)
        recorded_items.setitem(recording, input, items, value)
        return
    target, tensors = _by_views(input, index)
    if any(t is not None for t in tensors):
        value = value if isinstance(value, Tensor) else _constant(value, input)
        target.index_put_(tuple(_without_end(tensors)), value)
    elif isinstance(value, Tensor):
        target.copy_(indexing._drop_leading(value, target))
    else:
        target.fill_(value)


@in_aten("alias(Tensor(a) self) -> Tensor(a)")
def alias(self):
    """Another tensor that is the same."""
    return self.view_as(self)


@value_sized(picked_sizes)
@in_aten("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor")
def picked(self, indices):
    """The elements at index tensors, one for each dimension or None."""
    return self[tuple(_WHOLE if i is None else i for i in indices)]


@in_aten(
    "index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
    "Tensor(a!)"
)
def put(self, indices, values, accumulate=False):
    """Write elements at index tensors, one for each dimension or None."""
    if stack.levels and _is_wrapped(self, values, *indices):
        found = captured(put, (self, indices, values, accumulate), {})
        if found is not NotImplemented:
            return found
        return self.copy_(index_put(self, indices, values, accumulate))
    if self._device.type == "meta":
        return self
    return indexing.put(self, tuple(_plain(i) for i in indices), values, accumulate)


def _is_wrapped(*values):
    return any(getattr(value, "_level", None) is not None for value in values)


@in_aten(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor"
)
@overridable(as_given=True)
def index_put(self, indices, values, accumulate=False):
    """A copy with elements written at index tensors, one for each dimension or None."""
    return put(self.clone(), indices, values, accumulate)


def _plain(index):
    return _WHOLE if index is None else index._array


def recorded(function, *args):
    """A call as a step of the program that is captured."""
    found = captured(function, args, {})
    if found is NotImplemented:
        raise RuntimeError(f"{function.__name__}: no program is captured here")
    return found


def slice_by(input, index):
    """``input[index]`` for ints, slices and None."""
    return getitem(input, index)


def index_by(input, index):
    """``input[index]`` for arrays among slices."""
    return getitem(input, tuple(index))


def index_put_by(input, values, index, accumulate):
    """A copy of `input` with `values` written, or added, at an index of arrays."""
    tensors = _by_views(input, tuple(index))[1]
    return recorded(index_put, input, _without_end(tensors), values, accumulate)


def index_rows_by(input, index, dim=0):
    """``input[index]`` for an index of int64 at a dimension."""
    return recorded(picked, input, [*[None] * dim, index])


def _constant(value, like):
    return tensor(value, dtype=like._dtype, device=like._device)


def _by_views(input, index):
    """The view that ints, slices and None take, and the index tensors by dimension of it."""
    items = expanded(index if isinstance(index, tuple) else (index,), input.dim())
    dim, tensors = 0, []
    for item in items:
        if item is None or isinstance(item, bool):
            input = input.unsqueeze(dim)
            tensors.append(None if item is None else _as_index([item]))
            dim += 1
        elif isinstance(item, slice):
            input = _sliced(input, dim, item)
            tensors.append(None)
            dim += 1
        elif isinstance(item, Tensor) or is_array(item) or isinstance(item, list | tuple | range):
            item = _as_index(item)
            tensors.append(item)
            dim += width(item)
        else:
            input = select(input, dim, item)
    return input, tensors


def _sliced(input, dim, item):
    if item == _WHOLE:
        return input
    start = 0 if item.start is None else item.start
    end = _END if item.stop is None else item.stop
    return recorded(sliced, input, dim, start, end, 1 if item.step is None else item.step)


def _as_index(item):
    if isinstance(item, Tensor):
        return item
    array = np.asarray(item)
    return tensor(array if array.dtype == bool else array.astype(np.int64))


def _without_end(tensors):
    last = max(i for i, t in enumerate(tensors) if t is not None)
    tensors = tensors[: last + 1]
    return [t if t is None or t._dtype in (bool_, uint8, int64) else t.long() for t in tensors]


def scattered(base, value, path):
    """A copy of `base` in which the view that `path` describes holds `value`."""
    if not path:
        return value
    if any(step is _as_strided.op for step, _ in path[1:]):
        raise RuntimeError(
            "a write to what as_strided() gives of a view has no form by values: take the window "
            "of the tensor itself, or clone() it before writing to it"
        )
    (step, values), rest = path[0], path[1:]
    if isinstance(step, Item):
        return _with_one(base, value, step, values, rest)
    inner = step.replay(base, values)
    return _back(base, scattered(inner, value, rest), step, values)


def _back(base, value, step, values):
    """A copy of `base` in which the view that a step takes is `value`."""
    if step is _slice.op:
        return _with_part(base, value, values[0])
    if step is select.op:
        return select_scatter(base, value, *values)
    if step is narrow.op:
        dim, start, length = values
        return slice_scatter(base, value, dim, start, start + length)
    if step is diagonal.op:
        return diagonal_scatter(base, value, *values)
    if step is unfold.op:
        return _with_windows(base, value, *values)
    if step is _as_strided.op:
        size, stride, start, *_ = values
        _check_apart(size, stride)
        return as_strided_scatter(base, value, list(size), list(stride), start)
    back = _BACK.get(step)
    if back is not None:
        return back(value, *values)
    if step is view.op and value.is_contiguous():
        return value.view(base.shape)
    return value.reshape(base.shape)


def _with_one(base, value, step, values, rest):
    """A copy of `base` in which one of several parts, or a view of it, is `value`."""
    parts = step.op.replay(base, values)
    value = scattered(parts[step.number], value, rest)
    if step.op is unbind.op:
        return select_scatter(base, value, *values, step.number)
    dim = values[-1]
    start = sum(part.shape[dim] for part in parts[: step.number])
    return slice_scatter(base, value, dim, start, start + value.shape[dim])


def _with_windows(base, value, dim, size, step):
    """A copy of `base` in which the windows of `size` elements, `step` apart, are `value`."""
    if size > step and value.shape[dim % max(base.dim(), 1)] > 1:
        raise RuntimeError(_SHARED.format(unfold.op.name))
    if not base.dim():
        return value.reshape(())
    dim %= base.dim()
    count = value.shape[dim]
    if size == step:
        order = list(range(base.dim()))
        order.insert(dim + 1, base.dim())
        shape = [*base.shape[:dim], count * size, *base.shape[dim + 1 :]]
        if order[-1] != base.dim() or not value.is_contiguous():
            value = permute(value, order).clone(memory_format=contiguous_format)
        rows = value.view(shape)
        return slice_scatter(base, rows, dim, 0, count * size)
    for place in range(size):
        end = place + (count - 1) * step + 1
        base = slice_scatter(base, value.select(-1, place), dim, place, end, step)
    return base


_SHARED = (
    "{}() gives elements several times, and the program writes to them: what they become is not "
    "defined; clone() the result before writing to it"
)


def _check_apart(size, stride):
    """Raise where a window has an element of the memory several times."""
    reach = 0
    for step, count in sorted((s, n) for n, s in zip(size, stride, strict=True) if n > 1):
        if step <= reach:
            raise RuntimeError(_SHARED.format(_as_strided.op.name.strip("_")))
        reach += step * (count - 1)


def _with_part(base, value, index):
    """A copy of `base` in which ``base[index]``, of ints, slices and None, is `value`."""
    items, dim = expanded(index if isinstance(index, tuple) else (index,), base.dim()), 0
    for at, item in enumerate(items):
        if item is None:
            return _with_part(base, value.squeeze(dim), (*items[:at], *items[at + 1 :]))
        if isinstance(item, slice) and item == _WHOLE:
            dim += 1
            continue
        before = (_WHOLE,) * dim
        inner = getitem(base, (*before, item))
        left = items[at + 1 :]
        if isinstance(item, slice):
            value = _with_part(inner, value, (*before, _WHOLE, *left))
            return slice_scatter(base, value, dim, item.start, item.stop, item.step or 1)
        value = _with_part(inner, value, (*before, *left))
        return select_scatter(base, value, dim, item)
    return value


# Views whose inverse is no reshape.
_BACK = {
    permute.op: lambda value, dims: value.permute(
        [sorted(range(len(dims)), key=lambda i: dims[i] % len(dims))[d] for d in range(len(dims))]
    ),
    transpose.op: lambda value, dim0, dim1: value.transpose(dim0, dim1),
    t.op: lambda value: value.t(),
    view_as_real.op: lambda value: view_as_complex(value),
    view_as_complex.op: lambda value: view_as_real(value),
    DETACHING: lambda value: value,
    unsqueeze.op: lambda value, dim: value.squeeze(dim),
}


# What reads and writes parts while a program is captured, bound as items.py binds Tensor's.
Captured.__getitem__, Captured.__setitem__ = getitem, setitem
Captured.index_put_ = lambda self, indices, values, accumulate=False: recorded(
    put, self, list(indices), values, accumulate
)
Captured.index_put = lambda self, indices, values, accumulate=False: recorded(
    index_put, self, list(indices), values, accumulate
)
view_scatter.op.options["captured"] = scattered
