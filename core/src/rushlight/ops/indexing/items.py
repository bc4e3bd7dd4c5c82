"""Reading and writing parts of tensors by index, mask, or index tensors."""

from __future__ import annotations

import importlib
import math

from rushlight import devices, dtypes
from rushlight.autograd.mode import mode
from rushlight.errors import shape_text
from rushlight.kernels.copying import conversion, moving
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.gemm import vectors
from rushlight.kernels.indexing import indices as index_kernels
from rushlight.kernels.launch.execution import FLOAT32, holds_low_precision
from rushlight.kernels.launch.prepared import Remembered
from rushlight.kernels.resampling import padding
from rushlight.machine import memory, np
from rushlight.machine.arrays import BY_CODE, cast, dtype_of, is_array
from rushlight.machine.quiet import quietly
from rushlight.ops._calls.direct import unrecorded
from rushlight.ops._table.inplace import check_writable, written
from rushlight.ops._table.limited import check as check_limited
from rushlight.ops._table.node_names import arguments
from rushlight.ops._table.numpy_names import numpy_names
from rushlight.ops._table.op import op
from rushlight.ops._table.op import view as declare_view
from rushlight.ops._table.recording import note, record, record_view
from rushlight.ops._table.rules import number_dtype
from rushlight.ops._table.shape_rules import alike, indexed
from rushlight.ops.indexing import index_calls as place_calls
from rushlight.ops.indexing.assignment import written_at
from rushlight.ops.indexing.index_forms import (
    BOOL,
    WrappedIndex,
    arrays_of,
    explain,
    in_two_steps,
    listed,
    normalize,
    one_among_slices,
    slices,
)
from rushlight.ops.indexing.strides import indexed_without_memory, walked_strides, with_new_steps
from rushlight.tensor import construction
from rushlight.tensor.dispatch import STATE, stack, through_levels
from rushlight.tensor.memory_format import empty_iterated, same_order
from rushlight.tensor.overriding import call_by_override, overridable
from rushlight.tensor.tensor import EXACT, Tensor, make_tensor

_FEW = 64  # positions in a list that are looked at one by one
_FAR = 1 << 62


def _captured(name):
    """What an op here comes to while a program is captured."""

    def by(*values):
        return getattr(importlib.import_module("rushlight.ops.indexing.captured_items"), name)(
            *values
        )

    return by


def _last_view(node):
    """PyTorch's name of the last of the views that an index stands for, one item after another."""
    index = arguments(node)[1] or ()
    if len(index) == 1 and isinstance(index[0], slice):
        return "SliceBackward0"
    for item in reversed(index):
        if item is None:
            return "UnsqueezeBackward0"
        if isinstance(item, slice):
            if item != slice(None):
                return "SliceBackward0"
        elif item is not Ellipsis:
            return "SelectBackward0"
    return "AliasBackward0"


def _kept_of_view(node):
    """What PyTorch keeps of the view that an index of one is."""
    index = arguments(node)[1] or ()
    if len([item for item in index if item is not Ellipsis and item != slice(None)]) != 1:
        return ""
    of_name = {
        "SliceBackward0": "dim: end: self_sym_sizes start: step:",
        "SelectBackward0": "dim: index: self_sym_sizes",
        "UnsqueezeBackward0": "dim:",
    }
    return of_name[_last_view(node)]


def _part_of_view(part):
    """A part of the item that says more than "all": its dimension, or what it takes of it."""

    def read_part(read):
        index, shape = read("index"), read("self_sym_sizes")
        at, item = next(
            (i, item) for i, item in enumerate(index) if item is not ... and item != slice(None)
        )
        if part == "dim":
            skipped = len(shape) - len(index) + 1 if Ellipsis in index[:at] else 0
            return at + skipped
        return item if part == "index" else getattr(item, part)

    return read_part


_MOST = 2**63 - 1  # where a slice without an end has it
_PARTS_OF_VIEW = {
    "dim": _part_of_view("dim"),
    "index": _part_of_view("index"),
    "start": lambda read: _part_of_view("start")(read) or 0,
    "step": lambda read: _part_of_view("step")(read) or 1,
    "end": lambda read: _MOST if (end := _part_of_view("stop")(read)) is None else end,
}


@declare_view(
    captured=_captured("slice_by"),
    linear=True,
    node=_last_view,
    method=False,
    samples=lambda make: [
        ((make(4, 5), (1,)), {}),
        ((make(4, 5), (slice(1, 3), slice(None, None, 2))), {}),
        ((make(4, 5), (None, ..., 2)), {}),
    ],
    tested_by="tests/tensor/test_indexing.py",
    batching="slice",
    saves=_kept_of_view,
    saves_as=_PARTS_OF_VIEW,
)
def _slice(input: Tensor, index):
    """Basic indexing: a view."""
    try:
        out = input[index]
    except IndexError as error:
        raise explain(error, input.shape, index) from None
    out = out if is_array(out) else input[(*index, ...)]
    return with_new_steps(out, input, index) if any(item is None for item in index) else out


_unsliced = Remembered()


def _embedded_slice(values, shape, index):
    """Zeros of a shape, with values where a basic index shows them."""
    dims = moving.window(shape, index)
    if dims:
        rows = values.reshape([count for _, _, count in dims])
        key = values.dtype, dims, rows.strides
        call = _unsliced.get(key, _unsliced)
        if call is _unsliced:
            call = _unsliced.keep(key, padding.unsliced(rows, dims))
        if call is not None:
            found = call(rows, 0.0)
            if found is not NotImplemented:
                return found.reshape(shape)
    out = memory.zeros(shape, values.dtype)
    out[index] = values
    return out


def _slice_gradient(grad, input_shape, index):
    if grad.numel() == math.prod(input_shape):  # all of it was shown, in its order
        return grad.reshape(tuple(input_shape))
    if unrecorded(grad):
        found = _embedded_slice(grad._array, tuple(input_shape), index)
        return make_tensor(found, grad._dtype)
    from rushlight.ops.creation.tensors import zeros
    from rushlight.ops.shape.views import view_scatter

    base = zeros(input_shape, dtype=grad._dtype, device=grad._device)
    return view_scatter(base, grad, ((_slice.op, [index]),))


_slice.gradient(input=_slice_gradient)
construction.slices_by(_slice.op)


@op(
    captured=_captured("index_by"),
    linear=True,
    meta=indexed_without_memory,
    method=False,
    samples=lambda make: [],
    tested_by="tests/tensor/test_indexing.py",
    limited="unsigned complex eight",
    batching="index",
)
def _index(input: Tensor, index):
    """Advanced indexing: a copy."""
    try:
        return _laid_out(input, index)
    except IndexError as error:
        raise explain(error, input.shape, index) from None


def _laid_out(input, index):
    """The elements at an index, in memory as PyTorch lays them out."""
    arrays = [item for item in index if is_array(item)]
    if type(input) is not np.ndarray:
        return np.asarray(input[index])
    by_rows = input.flags.c_contiguous and all(a.flags.c_contiguous for a in arrays)
    if len(arrays) == 1 and by_rows and arrays[0].dtype.kind != "b":
        place = next(i for i, item in enumerate(index) if is_array(item))
        if place and all(type(item) is slice for i, item in enumerate(index) if i != place):
            return input.take(arrays[0], place)  # NumPy's own way puts the index outermost
    found = np.asarray(input[index])
    if found.ndim < 2 or found.flags.c_contiguous and by_rows:
        return found
    out = empty_iterated(found.shape, found.dtype, walked_strides(input, index, found.ndim))
    out[...] = found
    return out


def _index_gradient(grad, input_shape, index):
    from rushlight.ops.creation.tensors import zeros

    return _index_put(zeros(input_shape, dtype=grad._dtype, device=grad._device), grad, index, True)


_index.gradient(input=_index_gradient)


@op(
    captured=_captured("index_put_by"),
    linear="+input,values",
    meta=alike,
    method=False,
    samples=lambda make: [],
    tested_by="tests/tensor/test_indexing.py",
    limited="complex eight",
    batching="index_put",
)
def _index_put(input: Tensor, values: Tensor, index, accumulate):
    """A copy of `input` with `values` written (or added) at an index."""
    if accumulate:
        found = place_calls.added_slices(input, index, values)
        if found is not None:
            return found
    out = same_order(input)
    _write_at(out, index, cast(values, dtype_of(out).code), accumulate)
    return out


def _write_at(out, index, values, accumulate):
    try:
        if not accumulate:
            out[index] = values
        elif any(is_array(item) and item.dtype.kind != "b" for item in index):
            _add_at(out, index, values)
        else:  # no element is shown twice
            out[index] = quietly(np.add, out[index], values)
    except IndexError as error:
        raise explain(error, out.shape, index) from None
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {shape_text(values.shape)} cannot be broadcast "
            f"to indexing result of shape {shape_text(out[index].shape)}"
        ) from None


def _add_at(out, index, values):
    """Add at index tensors, which may show an element twice; low precision is rounded once."""
    if holds_low_precision(out):
        total = conversion.cast(out, FLOAT32)
        _add_at(total, index, conversion.cast(by_rows(values), FLOAT32))
        out[...] = conversion.cast(total, out.dtype)
    elif not place_calls.add_at(out, index, values):
        quietly(np.add.at, out, index, values)


def _index_put_input(grad, values_shape, index, accumulate):
    if accumulate:
        return grad
    from rushlight.ops.creation.tensors import zeros

    values = zeros(values_shape, dtype=grad._dtype, device=grad._device)
    return _index_put(grad, values, index, False)


_index_put.gradient(
    input=_index_put_input,
    values=lambda grad, index: getitem(grad, index),
)


@op(
    captured=_captured("index_rows_by"),
    linear=True,
    node="Index",
    meta=lambda input, index, dim=0: indexed(input, slices(dim, index)),
    method=False,
    samples=lambda make: [],
    tested_by="tests/tensor/test_indexing.py",
    limited="unsigned complex eight",
    saves="indices: self_sym_sizes",
    saves_as={"indices": lambda read: (None,) * read("dim") + (read("index"),)},
)
def _index_rows(input: Tensor, index: Tensor, dim=0):
    """``input[index]`` for an index of int64: slices along a dimension."""
    at = slices(dim, index)
    try:
        return _laid_out(input, at) if dim else np.asarray(input[index])
    except IndexError as error:
        raise explain(error, input.shape, at) from None


_index_rows.cpu(
    index_kernels.checked(
        lambda x, i, dim=0: index_kernels.take_rows(x, i, dim, True) if x.ndim and i.ndim else None,
        _index_rows.op.body,
    )
)
_index_rows.gradient(
    input=lambda grad, input_shape, index, dim: _index_gradient(
        grad, input_shape, slices(dim, index._array)
    )
)


def _masked(self, mask):
    """``tensor[mask]``; None leaves it to the general path."""
    array, places = self._array, mask._array
    if type(array) is not np.ndarray or type(places) is not np.ndarray:
        return None
    found = vectors.selected(array, places)
    if found is None:
        try:
            found = array[places]
        except IndexError:
            return None  # said in other words there
    out = construction.made(found, self._dtype)
    if STATE.inference and mode.inference:
        out._inference = True
    if self._node is not None and mode.recording:
        record(_index.op, (self,), [None, (places,)], (out,))
    return out


def _elements(self, index):
    """``tensor[i, j]`` for index tensors of int64 or bool alone; None leaves it to the general
    way."""
    array = self._array
    if type(array) is not np.ndarray:
        return None
    found = arrays_of(index)
    if not found:
        return None
    recorded = self._node is not None and mode.recording
    try:
        out = _laid_out(array, found) if recorded else by_rows(array[found])
    except IndexError:
        return None  # said in other words there
    out = construction.inferred(construction.made(out, self._dtype))
    if recorded:  # by indices of its own, as in PyTorch
        note(_index.op, (self,), [None, tuple([places.copy() for places in found])], (out,))
    return out


def _slices_at(self, index):
    """``tensor[:, i]``: one tensor of int64 or a mask of one dimension among slices; None leaves it
    to the general path."""
    if self._device is not devices.cpu:
        return None
    found = one_among_slices(index, self._array.ndim)
    if found is None:
        return None
    first, dim, at = found
    if at._array.dtype == BOOL:
        if len(at._array) != self._array.shape[dim]:
            return None  # said in other words there
        at = make_tensor(at._array.nonzero()[0], dtypes.int64)
    return _index_rows(self if first is None else _slice(self, first), at, dim)


def _few_positions(index):
    """A list of ints as a tensor, any other list itself."""
    for place in index:
        if type(place) is not int or not -_FAR < place < _FAR:
            return index
    return make_tensor(np.array(index, np.int64), dtypes.int64) if index else index


def getitem(self, index):
    """``tensor[index]``: a view for ints, slices, None and ...; a copy for masks and tensors."""
    if type(self) in EXACT and not STATE.modes:
        out = construction.indexed(self, index)
        if out is not NotImplemented:
            if STATE.inference and mode.inference:
                construction.seen(self, out)
            if self._node is not None and mode.recording:
                items = index if type(index) is tuple else (index,)
                record_view(_slice.op, self, [None, items], out)
            return out
    if type(index) is list:
        index = listed(index)
    if type(self) in EXACT and not STATE.modes:
        if type(index) is list and len(index) <= _FEW:
            index = _few_positions(index)
        if type(index) is Tensor and self._array.ndim and index._array.ndim:
            if index._dtype is dtypes.int64:
                if self._device is index._device is devices.cpu:
                    return _index_rows(self, index)
            elif index._dtype is dtypes.bool_:
                out = _masked(self, index)
                if out is not None:
                    return out
        if type(index) is tuple and not STATE.levels:
            out = _elements(self, index)
            out = _slices_at(self, index) if out is None else out
            if out is not None:
                return out
    if _of_subclass(*_items(index)):
        found = call_by_override(getitem, _items(index), {}, (self, index))
        if found is not NotImplemented:
            return found
    try:
        plain, basic = normalize(index)
    except WrappedIndex:
        from rushlight.ops._transforms.wrappers import getitem as getitem_wrapped

        return getitem_wrapped(self, index)
    except (AttributeError, IndexError, TypeError):
        found = call_by_override(getitem, (self, *_parts(index)), {}, (self, index))
        if found is NotImplemented:
            raise
        return found
    if basic:
        return _slice(self, plain)
    first, second = in_two_steps(plain, self.dim())
    return _index(self if first is None else _slice(self, first), _kept(second, self))


def _items(index):
    return index if type(index) is tuple else (index,)


def _of_subclass(*values):
    """Whether one of these is a tensor of a subclass, which may override what it is given to."""
    return any(isinstance(value, Tensor) and type(value) not in EXACT for value in values)


def _parts(index):
    """What may override an index: its items, and the bounds of slices."""
    for item in _items(index):
        yield from (item.start, item.stop, item.step) if type(item) is slice else (item,)


def _kept(index, *tensors):
    """An index of arrays that a graph may keep: in memory that nobody writes to afterwards."""
    for tensor in tensors:
        if tensor._node is not None and mode.recording:
            return tuple([item.copy() if is_array(item) else item for item in index])
    return index


def _finite_or_not(value, dtype):
    """A number to write by index: unlike elsewhere it is rounded to a half-width dtype first, and
    so infinite where it is beyond it."""
    if dtype.category != dtypes.FLOAT or dtype.itemsize != 2 or not isinstance(value, int | float):
        return value
    with np.errstate(over="ignore"):
        return float(np.float64(value).astype(BY_CODE[dtype.code]))


def setitem(self, index, value):
    """``tensor[index] = value``: numbers and tensors, broadcast."""
    if type(index) is list:
        index = listed(index)
    if type(self) in EXACT and written_at(self, index, value):
        return
    if _of_subclass(value, *_items(index)):
        found = call_by_override(setitem, (value, *_items(index)), {}, (self, index, value))
        if found is not NotImplemented:
            return
    try:
        plain, basic = normalize(index)
    except WrappedIndex:
        importlib.import_module("rushlight.ops._transforms.batching_indices").setitem(
            self, index, value
        )
        return
    if not isinstance(value, Tensor):
        if number_dtype(value) is None:
            from rushlight.ops.creation.tensors import tensor

            found = call_by_override(setitem, (value, *_parts(index)), {}, (self, index, value))
            if found is not NotImplemented:
                return
            value = tensor(value)
        elif basic:
            _slice(self, plain).fill_(_finite_or_not(value, self._dtype))
            return
        else:
            value = dtypes.held(_finite_or_not(value, self._dtype), self._dtype)
            value = make_tensor(np.asarray(value, self._array.dtype), self._dtype)
    if basic:
        target = _slice(self, plain)
        target.copy_(_drop_leading(value, target))
        return
    first, second = in_two_steps(plain, self.dim())
    put(self if first is None else _slice(self, first), second, value, False)


def _drop_leading(value, target):
    """Leading extents of one beyond the target's dimensions are allowed on assignment."""
    while value.dim() > target.dim() and value.shape[0] == 1:
        value = value.squeeze(0)
    return value


def put(self, index, values, accumulate):
    """Write at an advanced index in place."""
    if STATE.levels and stack.levels:
        found = through_levels(put, (self, values), (self, index, values, accumulate), {})
        if found is not NotImplemented:
            return found
    check_limited(_index_put.op, self._dtype)
    recording = mode.recording and (self._node is not None or values._node is not None)
    check_writable(self, recording)
    node = None
    if recording:
        index = _kept(index, self, values)
        attributes = [None, None, index, accumulate]
        out = make_tensor(self._array, self._dtype)
        node = record(_index_put.op, (self, values), attributes, (out,))
    _write_at(self._array, index, cast(values._array, self._dtype.code), accumulate)
    written(self, node)
    return self


@overridable(as_given=True)
def index_put_(self, indices, values, accumulate=False):
    """Write (or add) `values` at a tuple of index tensors, in place."""
    if stack.levels and any(getattr(i, "_level", None) is not None for i in indices):
        batching = importlib.import_module("rushlight.ops._transforms.batching_indices")
        return batching.index_put_(self, tuple(indices), values, accumulate)
    return put(self, normalize(tuple(indices))[0], values, accumulate)


@overridable(as_given=True)
@numpy_names
def index_put(input, indices, values, accumulate=False):
    """A copy of `input` with `values` written (or added) at a tuple of index tensors."""
    if stack.levels and any(getattr(i, "_level", None) is not None for i in indices):
        batching = importlib.import_module("rushlight.ops._transforms.batching_indices")
        return batching.index_put(input, tuple(indices), values, accumulate)
    index = _kept(normalize(tuple(indices))[0], input, values)
    return _index_put(input, values, index, accumulate)


getitem.__name__, getitem.variant = "__getitem__", "operator"
setitem.__name__, setitem.variant = "__setitem__", "operator"
Tensor.__getitem__, Tensor.__setitem__ = getitem, setitem
Tensor.index_put_, Tensor.index_put = index_put_, index_put


from rushlight.ops.indexing.gathering import (  # noqa: E402, F401 - they build on what is above
    argwhere,
    gather,
    index_add,
    index_copy,
    index_fill,
    index_select,
    nonzero,
    scatter,
    scatter_add,
)
from rushlight.ops.indexing.masking import masked_fill, masked_select  # noqa: E402, F401
from rushlight.ops.indexing.taking import take, take_along_dim  # noqa: E402, F401
