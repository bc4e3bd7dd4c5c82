"""Order: sort, topk, unique, searchsorted."""

from __future__ import annotations

import importlib
import math

from rushlight import dtypes
from rushlight.errors import argument_error, shape_text
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.launch.execution import FLOAT32, REFERENCE, is_low_precision
from rushlight.kernels.launch.prepared import by_layout, by_layouts, nothing, of_copies
from rushlight.kernels.scan_sort import lines as line
from rushlight.kernels.scan_sort import ordering, search
from rushlight.machine import np
from rushlight.machine.arrays import bfloat16, dtype_of
from rushlight.machine.processors import compresses_slowly
from rushlight.ops._calls.direct import tensor_of
from rushlight.ops._table.node_names import arguments
from rushlight.ops._table.op import Whole, composite, op
from rushlight.ops._table.rules import number_dtype, refuse_unordered, result_type
from rushlight.ops._table.shape_rules import checked, chosen, chosen_after
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.reduction.distinct import captured_unique
from rushlight.ops.reduction.sums_and_extremes import selected_back
from rushlight.tensor import construction
from rushlight.tensor.dispatch import STATE, captured_part, is_dispatching, stack
from rushlight.tensor.memory_format import as_input, empty_like
from rushlight.tensor.overriding import overridable
from rushlight.tensor.shape import as_int, wrap_dim
from rushlight.tensor.tensor import EXACT, Tensor, make_tensor

_SORTED = 1 << 18  # elements up to which sorting is the way to distinct ones
_TABLED, _TABLE = 512, 1 << 12  # elements from which, and range up to which, a table always is
_MOVED = 100  # elements along another dimension than the last that are worth copying


def sortable(array):
    """`array` in a dtype whose order NumPy knows: it sorts bfloat16's nan anywhere."""
    return array.astype(np.float32) if array.dtype == bfloat16 else array


def _ordered_along(array, axis, descending):
    """Elements in order along a dimension and their positions, by compiled loops; or None."""
    if axis == array.ndim - 1 and array.flags.c_contiguous:
        return ordering.ordered(array, descending)
    if array.shape[axis] < _MOVED:
        return None
    rows = by_rows(np.moveaxis(array, axis, -1))
    found = ordering.ordered(rows, descending)
    return found and tuple([np.moveaxis(part, -1, axis) for part in found])


def _order(array, axis, descending):
    """A stable argsort; nan counts as the largest."""
    array = sortable(array)
    found = _ordered_along(array, axis, descending) if type(array) is np.ndarray else None
    if found is not None:
        return found[1]
    if not descending:
        return np.argsort(array, axis=axis, kind="stable")
    flipped = np.flip(array, axis)
    found = np.flip(np.argsort(flipped, axis=axis, kind="stable"), axis)
    return array.shape[axis] - 1 - found


def _refuse_complex(name, array):
    if array.dtype.kind == "c":
        raise RuntimeError(f"{name}: complex numbers have no order; got {array.dtype}")


def _samples(make):
    return [((make(3, 5),), {}), ((make(3, 5), 0, True), {}), ((make(), 0), {})]


def _meta_sort(input, dim=-1, descending=False, stable=False):
    wrap_dim(dim, input.ndim)
    return [empty_like(input, kind) for kind in (input.dtype, np.dtype(np.int64))]


@op(
    schemas=(
        "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor, Tensor)",
        "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> "
        "(Tensor, Tensor)",
    ),
    batching="dims", result="values indices", samples=_samples, meta=_meta_sort,
    limited="unsigned",
    barred="complex", aten="default stable values_stable values Tensor any",
    saves="dim indices:result1 self_sym_sizes",
)  # fmt: skip
def sort(input: Tensor, dim=-1, descending=False, stable=False):
    """The elements in order along `dim`, and where they were.

    >>> rushlight.sort(rushlight.tensor([3, 1, 2])).values
    tensor([1, 2, 3])
    """
    _refuse_complex("sort", input)
    axis = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return [input.copy(), np.zeros((), np.int64)]
    order = _order(input, axis, descending)
    found = np.take_along_axis(input, order, axis)
    if type(input) is not np.ndarray:
        return found, order
    return as_input(input, found), as_input(input, order)


def _sort_kernel(input, dim=-1, descending=False, stable=False):
    """By compiled loops over dense rows."""
    if -input.ndim <= dim < input.ndim:
        found = _ordered_along(input, dim % input.ndim, descending)
        if found is not None:
            return tuple([as_input(input, part) for part in found])
    return sort.op.body(input, dim, descending, stable)


_sort_kernel.general = sort.op.body
sort.cpu(_sort_kernel)


def _sort_gradient(grad, out1, input_shape, dim):
    from rushlight.ops.creation.tensors import zeros

    if not input_shape:
        return grad
    return zeros(input_shape, dtype=grad._dtype, device=grad._device).scatter_add(dim, out1, grad)


sort.gradient(input=_sort_gradient)


@composite(
    schemas=(
        "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
        "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
    ),
    samples=[(), (0, True)],
    differentiable=False,
    aten="default stable stable_out",
)
def argsort(input: Tensor, dim=-1, descending=False, stable=False):
    """The indices that sort along `dim`."""
    return sort(input, dim, descending, stable)[1]


def _topk_samples(make):
    return [((make(3, 5), 2), {}), ((make(3, 5), 2, 0, False), {})]


def _check_top(input, k, dim):
    """The dimension, which has `k` elements at least."""
    axis = wrap_dim(dim, input.ndim)
    size = input.shape[axis] if input.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError(
            f"selected index k out of range: k is {k}, dimension {dim} has size {size}"
        )
    return axis


def _meta_topk(input, k, dim=-1, largest=True, sorted=True):
    axis = _check_top(input, k, dim)
    shape = tuple(k if i == axis else n for i, n in enumerate(input.shape))
    return [(shape, dtype_of(input)), (shape, dtypes.int64)]


@op(
    schemas=(
        "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> "
        "(Tensor, Tensor)",
    ),
    batching="dims", result="values indices", samples=_topk_samples,
    meta=_meta_topk, sweep=(2,),
    barred="complex", aten="default values",
    saves="dim indices:result1 self_sym_sizes",
)  # fmt: skip
def topk(input: Tensor, k, dim=-1, largest=True, sorted=True):
    """The `k` largest (or smallest) elements along `dim`, and where they were.

    >>> rushlight.topk(rushlight.tensor([3, 1, 2]), 2).values
    tensor([3, 2])
    """
    _refuse_complex("topk", input)
    k = as_int(k.item() if isinstance(k, Tensor) else k, "k", "topk")
    axis = _check_top(input, k, dim)
    if not input.ndim:
        return [input.copy(), np.zeros((), np.int64)]
    order = np.take(_order(input, axis, largest), np.arange(k), axis)
    return [np.take_along_axis(input, order, axis), order]


def _prepared_top(input, k, dim, largest, sorted):
    if type(k) is not int or type(dim) is not int or not input.ndim:
        return None
    return line.prepare_top(input, k, largest) if dim in (-1, input.ndim - 1) else None


_tops = by_layout(of_copies(_prepared_top), topk.op.body)


def _topk_kernel(input, k, dim=-1, largest=True, sorted=True):
    """Few of the last dimension by one call; a number that is a tensor is for the body."""
    if input.ndim and is_low_precision(input.dtype):
        values, order = _topk_kernel(cast(input, FLOAT32), k, dim, largest, sorted)
        return [cast(values, input.dtype), order]
    kernel = _tops if type(k) is int else _tops.general
    return kernel(input, k, dim, largest, sorted)


_topk_kernel.general, _topk_kernel.short = topk.op.body, _tops.short
topk.cpu(_topk_kernel)
topk.gradient(input=_sort_gradient)


@composite(samples=lambda make: [(make(4),), (make(3, 4),)])
def msort(input: Tensor):
    """The elements in order along the first dimension."""
    return sort(input, 0)[0]


def _chosen(input, axis, k):
    """The k-th smallest elements of the last dimension and their positions, or None."""
    if type(input) is not np.ndarray or axis != input.ndim - 1:
        return None
    return ordering.chosen(input, k)


def _kth_samples(make):
    x = make(3, 5)
    return [((x, 2), {}), ((x, 1, 0, True), {}), ((make(), 1), {}), ((make(2, 4, 3), 3, -2), {})]


def _check_kth(input, k, dim=-1, keepdim=False):
    """The dimension, which has a k-th element."""
    axis = wrap_dim(dim, input.ndim)
    size = input.shape[axis] if input.ndim else 1
    if size == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {axis} to have non-zero size.")
    if not 1 <= k <= size:
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {dim}: k is {k}, the "
            f"dimension has size {size}"
        )
    return axis


@op(
    schemas=(
        "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)",
    ),
    batching="dims", meta=checked(lambda *given: _check_kth(*given), chosen_after),
    result="values indices", samples=_kth_samples, sweep=(2,),
    aten="default values",
    saves="dim indices:result1 keepdim self_sym_sizes",
)  # fmt: skip
def kthvalue(input: Tensor, k, dim=-1, keepdim=False):
    """The k-th smallest element along `dim` (k from 1), and where it was."""
    _refuse_complex("kthvalue", input)
    axis = _check_kth(input, k, dim)
    if not input.ndim:
        return [input.copy(), np.zeros((), np.int64)]
    found = _chosen(input, axis, k - 1)
    if found is not None:
        return [f[..., None] for f in found] if keepdim else list(found)
    order = np.take(_order(input, axis, False), [k - 1], axis)
    found = [np.take_along_axis(input, order, axis), order]
    return found if keepdim else [f.squeeze(axis) for f in found]


kthvalue.gradient(input=selected_back)


# ------------------------------------------------------------------------------------------ medians
def _middle(name, input, axis, skip_nan):
    """Where the lower median was before a stable sort along the last dimension."""
    size = input.shape[-1]
    if not size:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    order = np.argsort(sortable(input), axis=-1, kind="stable")
    place = np.full((*input.shape[:-1], 1), (size - 1) // 2)
    if input.dtype.kind not in "biu":
        present = size - np.isnan(input).sum(-1, keepdims=True)
        if skip_nan:
            place = np.maximum(present - 1, 0) // 2
        else:
            place = np.where(present < size, present, place)
    return np.take_along_axis(order, place, -1)


def _median_over(name, input, dim, keepdim, skip_nan):
    if input.dtype.kind in "cb":
        raise RuntimeError(f'"{name}" not implemented for dtype {input.dtype}')
    axis = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return [input.copy(), np.zeros((), np.int64)]
    whole = input.dtype.kind in "iu"
    if not REFERENCE and input.size and (whole or not np.isnan(input).any()):
        found = _chosen(input, axis, (input.shape[axis] - 1) // 2)
        if found is not None:
            return [f[..., None] for f in found] if keepdim else list(found)
    moved = np.moveaxis(input, axis, -1)
    index = _middle(name, moved, axis, skip_nan)
    values = np.take_along_axis(moved, index, -1)
    found = [np.moveaxis(values, -1, axis), np.moveaxis(index, -1, axis)]
    return [by_rows(f if keepdim else f.squeeze(axis)) for f in found]


def _median_samples(make):
    x = make(3, 5)
    return [((x, 1), {}), ((x, 0, True), {}), ((make(), 0), {}), ((make(2, 4, 3), -2), {})]


@op(
    node="MedianBackward1",
    batching="dims", meta=chosen, result="values indices",
    samples=_median_samples, method=False, label="median",
    saves="dim indices:result1 keepdim self_sym_sizes",
)  # fmt: skip
def _median(input: Tensor, dim: Whole, keepdim: bool = False):
    """The lower median along `dim` and where it was; nan wins."""
    return _median_over("median", input, dim, keepdim, False)


@op(
    node="NanmedianBackward1",
    batching="dims", meta=chosen, result="values indices",
    samples=_median_samples, method=False, label="nanmedian",
    saves="dim indices:result1 keepdim self_sym_sizes",
)  # fmt: skip
def _nanmedian(input: Tensor, dim: Whole, keepdim: bool = False):
    """The lower median along `dim` of what is not nan, and where it was."""
    return _median_over("nanmedian", input, dim, keepdim, True)


_median.gradient(input=selected_back)
_nanmedian.gradient(input=selected_back)


@op(
    node=lambda node: f"{'Nanmedian' if arguments(node)[1] else 'Median'}Backward0",
    samples=lambda make: [((make(3, 5),), {}), ((make(),), {})],
    method=False,
    meta=lambda input, skip_nan=False: ((), dtype_of(input)),
    batching="median_of_all",
)
def _median_of_all(input: Tensor, skip_nan=False):
    """The lower median of all elements."""
    flat = input.reshape(-1)
    if not flat.size and flat.dtype.kind in "biu":
        raise RuntimeError(f"median(): an empty {dtype_of(input)} tensor has no median")
    if not flat.size:
        return np.full((), np.nan, input.dtype)
    if not REFERENCE and (flat.dtype.kind in "iu" or not np.isnan(flat).any()):
        found = _chosen(flat, 0, (flat.size - 1) // 2)
        if found is not None:
            return found[0]
    return _median_over("nanmedian" if skip_nan else "median", flat, 0, False, skip_nan)[0]


def _median_gradient(grad, input, out):
    found = (input == out) | ((input != input) & (out != out))
    return where(found, grad / found.sum(), 0.0)


_median_of_all.gradient(input=_median_gradient)


@composite(
    samples=[(), (1,), (0, True)], aten="default dim dim_values out",
    schemas=(
        "median(Tensor self) -> Tensor",
        "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    ),
)  # fmt: skip
def median(input: Tensor, dim=None, keepdim=False):
    """The lower median of all elements, or ``(values, indices)`` along `dim`; nan wins.

    >>> rushlight.median(rushlight.tensor([3.0, 1.0, 2.0, 4.0]))
    tensor(2.)
    """
    return _median_of_all(input) if dim is None else _median(input, dim, keepdim)


@composite(
    samples=[(), (1,), (0, True)], aten="default dim dim_values out",
    schemas=(
        "nanmedian(Tensor self) -> Tensor",
        "nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    ),
)  # fmt: skip
def nanmedian(input: Tensor, dim=None, keepdim=False):
    """The lower median of the elements that are not nan, or ``(values, indices)`` along `dim`."""
    return _median_of_all(input, True) if dim is None else _nanmedian(input, dim, keepdim)


@overridable
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements (or slices along `dim`), in order; with inverse indices and counts.

    >>> rushlight.unique(rushlight.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    if not isinstance(input, Tensor):
        raise argument_error("unique", "input", "Tensor", input)
    axis = None if dim is None else wrap_dim(dim, input.dim())
    told = STATE.dispatching and stack.dispatches and is_dispatching(input)
    if told or stack.levels and captured_part(input) is not None:
        return captured_unique(input, sorted, return_inverse, return_counts, axis)
    array = input._array
    refuse_unordered("unique", array)
    if input.is_cuda:
        return _unique_on_gpu(input, axis, return_inverse, return_counts)
    found = None
    if dim is None and array.dtype.kind in "iu" and array.size:
        found = _distinct(array, return_inverse, return_counts)
    if found is None:
        found = np.unique(
            array,
            return_inverse=return_inverse,
            return_counts=return_counts,
            axis=axis if array.ndim else None,
            equal_nan=False,
        )
    if not isinstance(found, tuple):
        return make_tensor(found, input._dtype)
    values, rest = found[0], list(found[1:])
    if return_inverse:
        rest[0] = rest[0].reshape(array.shape if axis is None else -1)
    return (
        make_tensor(values, input._dtype),
        *[make_tensor(np.asarray(r, np.int64), dtypes.int64) for r in rest],
    )


def _distinct(array, inverse, counts):
    """What np.unique gives of integers: by a table of what there is where they are close together,
    by a sort otherwise; None where neither is the way."""
    if array.size >= _TABLED:
        low, high = int(array.min()), int(array.max())
        if high - low < max(_TABLE, 2 * array.size):
            return _tabled(array, low, high - low + 1, inverse, counts)
    if not (inverse or counts) and array.size < (_MOVED if compresses_slowly() else _SORTED):
        return _runs(np.sort(array, axis=None))[0]
    found = ordering.ordered(array.reshape(-1), False)
    if found is None:
        return None
    values, first = _runs(found[0])
    results = [values]
    if inverse:
        runs = np.empty(array.size, np.int64)
        runs[found[1]] = np.cumsum(first) - 1
        results.append(runs.reshape(array.shape))
    if counts:
        results.append(np.diff(np.flatnonzero(first), append=array.size))
    return tuple(results) if inverse or counts else values


def _runs(ordered):
    """The distinct elements of a sorted array, and which elements are the first of their kind."""
    first = np.empty(ordered.shape, np.bool_)
    first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first], first


def _tabled(array, low, size, inverse, counts):
    """The distinct of integers in ``low ... low + size - 1``, in order; on request where each
    element's is, and how many there are of each."""
    wide = np.dtype(np.uint64 if array.dtype == np.uint64 else np.int64)
    places = (array.astype(wide, copy=False) - wide.type(low)).astype(np.intp, copy=False)
    if counts:
        numbers = np.bincount(places.reshape(-1), minlength=size)
        there = numbers > 0
    else:
        there = np.zeros(size, np.bool_)
        there[places.reshape(-1)] = True
    found = np.flatnonzero(there)
    results = [(found.astype(wide, copy=False) + wide.type(low)).astype(array.dtype, copy=False)]
    if inverse:
        results.append((np.cumsum(there) - 1)[places])
    if counts:
        results.append(numbers[found])
    return tuple(results) if inverse or counts else results[0]


def _unique_on_gpu(input, axis, return_inverse, return_counts):
    """By a sort; waits for the device, since how many there are is data."""
    if axis is not None:
        raise NotImplementedError(
            "unique: slices along a dim, on a GPU; compute it on the CPU: "
            "input.cpu().unique(dim=...)"
        )
    kernels = importlib.import_module("rushlight.kernels.scan_sort.cuda_sort")
    values, inverse, counts = kernels.unique(input._array)
    found = [make_tensor(values, input._dtype)]
    found += [make_tensor(inverse, dtypes.int64)] if return_inverse else []
    found += [make_tensor(counts, dtypes.int64)] if return_counts else []
    return found[0] if len(found) == 1 else tuple(found)


Tensor.unique = unique


# ----------------------------------------------------------------- positions in sorted sequences
def _check_sequence(sequence, values, side, right, sorter):
    if side not in (None, "left", "right"):
        raise RuntimeError(f"searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "searchsorted(): side and right can't be set to opposites, got side of left while "
            "right was True"
        )
    if not sequence.ndim:
        raise RuntimeError(
            "searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if sequence.ndim > 1 and sequence.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
            "of boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{shape_text(sequence.shape)} and input value tensor {shape_text(values.shape)}"
        )
    if sorter is not None and (sorter.shape != sequence.shape or sorter.dtype != np.int64):
        raise RuntimeError(
            "searchsorted(): sorter must be an int64 tensor of the boundaries' shape "
            f"{shape_text(sequence.shape)}, got {sorter.dtype} of shape {shape_text(sorter.shape)}"
        )


def _places(sequence, values, right):
    """Positions on the CPU; of dtypes of 8 and 16 bits as those of wider ones."""
    wide = {1: np.int32, 2: np.float32 if sequence.dtype.kind in "fV" else np.int32}
    dtype, shape = wide.get(sequence.dtype.itemsize, sequence.dtype), values.shape
    sequence, values = (np.ascontiguousarray(a, dtype) for a in (sequence, values))
    found = search.places(sequence, values, right)
    return (search.halved(sequence, values, right) if found is None else found).reshape(shape)


def _meta_searchsorted(sorted_sequence, input, out_int32, right, side, sorter):
    _check_sequence(sorted_sequence, input, side, right, sorter)
    return input.shape, dtypes.int32 if out_int32 else dtypes.int64


@op(
    method=False, differentiable=False, tested_by="tests/ops/reduction/test_sorting.py",
    samples=lambda make: [], meta=_meta_searchsorted, batching="searchsorted",
)  # fmt: skip
def _searchsorted(
    sorted_sequence: Tensor, input: Tensor, out_int32, right, side, sorter: Tensor | None = None
):
    """Where each element of `input` belongs in each row of a sorted sequence."""
    _check_sequence(sorted_sequence, input, side, right, sorter)
    way, kind = ("right" if right or side == "right" else "left"), np.int64
    sorted_sequence, input = sortable(sorted_sequence), sortable(input)
    if sorter is not None:
        sorted_sequence = np.take_along_axis(sorted_sequence, sorter, -1)
    if type(input) is np.ndarray:
        found = _places(sorted_sequence, input, way == "right")
        return found.astype(np.int32) if out_int32 else found
    if sorted_sequence.ndim == 1:
        found = np.searchsorted(sorted_sequence, input, way)
    else:
        count = math.prod(sorted_sequence.shape[:-1])
        rows = sorted_sequence.reshape(count, sorted_sequence.shape[-1])
        values = input.reshape(len(rows), -1) if input.size else input.reshape(0, 1)
        pairs = zip(rows if input.size else rows[:0], values, strict=True)
        found = np.asarray([np.searchsorted(r, v, way) for r, v in pairs], kind)
    return np.asarray(found, np.int32 if out_int32 else kind).reshape(input.shape)


def _prepared_search(sorted_sequence, input, out_int32, right, side, sorter=None):
    _check_sequence(sorted_sequence, input, side, right, sorter)
    if sorter is not None or out_int32 or sorted_sequence.dtype.itemsize < 4:
        return None
    return search.prepare(sorted_sequence, input, right or side == "right")


_searchsorted.cpu(by_layouts(of_copies(_prepared_search, 2), _searchsorted.op.body))


def _beside_number(sequence, value):
    """A sequence and a number to look up, both of the dtype that they promote to; a whole number
    wraps around in it, a larger one of floats is infinite."""
    from rushlight.ops.creation.tensors import zeros

    if number_dtype(value) is None:
        raise argument_error(searchsorted.op.name, "input", "Tensor or Number", value)
    dtype = result_type([sequence], [value])
    return sequence.to(dtype), zeros((), dtype=dtype, device=sequence.device) + value


def _prepared_plain_search(sorted_sequence, input, right):
    if sorted_sequence.dtype.itemsize < 4 or not sorted_sequence.ndim:
        return None
    if sorted_sequence.ndim > 1 and sorted_sequence.shape[:-1] != input.shape[:-1]:
        return None
    return search.prepare(sorted_sequence, input, right)


_search = by_layouts(_prepared_plain_search, nothing)
_search_known = _search.short


def _searched_at_once(sorted_sequence, input, right):
    """The positions of a plain tensor's elements by one call, where a kernel takes both tensors;
    else NotImplemented."""
    if type(input) not in EXACT or type(sorted_sequence) not in EXACT or STATE.modes:
        return NotImplemented
    out = _search_known.call(sorted_sequence, input, right)
    if out is not NotImplemented:
        return construction.inferred(out)
    arrays = sorted_sequence._array, input._array
    if type(arrays[0]) is not np.ndarray or type(arrays[1]) is not np.ndarray:
        return NotImplemented
    if sorted_sequence._dtype is not input._dtype or type(right) is not bool:
        return NotImplemented
    found = _search(*arrays, right)
    return found if found is NotImplemented else tensor_of(found)


def _searched(sorted_sequence, input, out_int32, right, side=None, sorter=None):
    if out_int32 is False and side is None and sorter is None:
        found = _searched_at_once(sorted_sequence, input, right)
        if found is not NotImplemented:
            return found
    values = input
    if not isinstance(input, Tensor):
        sorted_sequence, values = _beside_number(sorted_sequence, input)
    elif not isinstance(sorted_sequence, Tensor):
        raise argument_error(searchsorted.op.name, "sorted_sequence", "Tensor", sorted_sequence)
    for tensor in (sorted_sequence, values):
        refuse_unordered(searchsorted.op.name, tensor._array)
    if values._dtype is not sorted_sequence._dtype:
        dtype = result_type([sorted_sequence, values])
        sorted_sequence, values = sorted_sequence.to(dtype), values.to(dtype)
    return _searchsorted(sorted_sequence, values, out_int32, right, side, sorter)


@composite(
    schemas=(
        "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, "
        "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
        "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, "
        "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
    ),
    sweep=(0, 1, 2),
    method=False,
    samples=lambda make: [
        (make(5).sort()[0], make(3, 4)),
        (make(2, 5).sort()[0], make(2, 3), {"right": True}),
    ],
    differentiable=False,
    aten="Tensor Tensor_out Scalar Scalar_out",
)
def searchsorted(
    sorted_sequence: Tensor, input, *, out_int32=False, right=False, side=None, sorter=None
):
    """Where each element of `input` (or a number) would be inserted into the (last dimension of a)
    sorted sequence: before equal elements, or after them with ``right=True``.

    >>> rushlight.searchsorted(rushlight.tensor([1, 3, 5]), rushlight.tensor([3, 4]))
    tensor([1, 2])
    """
    return _searched(sorted_sequence, input, out_int32, right, side, sorter)


@composite(
    schemas=(
        "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool "
        "right=False) -> Tensor",
        "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool "
        "right=False) -> Tensor",
    ),
    sweep=(0, 1, 2),
    method=False,
    numbers="all",
    samples=lambda make: [(make(3, 4), make(5).sort()[0]), (1, make(5).sort()[0], {"right": True})],
    differentiable=False,
    aten="Tensor Scalar Tensor_out Scalar_out",
)
def bucketize(input: Tensor, boundaries: Tensor, *, out_int32=False, right=False):
    """The index of the bucket between sorted `boundaries` that each element falls into."""
    if not isinstance(boundaries, Tensor):
        raise argument_error("bucketize", "boundaries", "Tensor", boundaries)
    if boundaries.dim() != 1:
        raise RuntimeError(
            f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})"
        )
    return _searched(boundaries, input, out_int32, right)


def _bin_sizes(draw, input, weights=None, minlength=0):
    """As many as the greatest number says, and `minlength` at least."""
    dtype = dtypes.int64
    if weights is not None:
        dtype = weights._dtype if weights._dtype is dtypes.float32 else dtypes.float64
    return input.new_empty((draw(minlength),), dtype=dtype)


@op(
    differentiable=False,
    samples=lambda make: [
        (make.integers(0, 5, (6,)), make.integers(0, 3, (6,)), 7),
        (make.integers(0, 5, (6,)),),
    ],
    value_sized=_bin_sizes,
)
def bincount(input: Tensor, weights: Tensor | None = None, minlength=0):
    """How often each non-negative integer occurs, or the sums of `weights` at each."""
    if input.ndim != 1 or input.dtype.kind not in "iu" or (input.size and input.min() < 0):
        raise RuntimeError(
            "bincount only supports 1-d non-negative integral inputs; got "
            f"{input.dtype} of shape {shape_text(input.shape)}"
        )
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, got {minlength}")
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError(
            f"weights should have the same shape as input: {shape_text(weights.shape)} and "
            f"{shape_text(input.shape)}"
        )
    if weights is None:
        return np.bincount(input.astype(np.int64, copy=False), None, minlength)
    kind = np.float32 if weights.dtype == np.float32 else np.float64
    return np.bincount(input.astype(np.int64), weights, minlength).astype(kind)


def _counted(input, weights=None, minlength=0):
    """NumPy says itself what it does not count."""
    if weights is None and input.dtype is _INT64 and not REFERENCE:
        try:
            return np.bincount(input, None, minlength)
        except (TypeError, ValueError):
            pass
    return bincount.op.body(input, weights, minlength)


_INT64 = np.dtype(np.int64)
_counted.general = bincount.op.body
bincount.cpu(_counted)
