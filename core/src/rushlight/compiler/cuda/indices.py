"""NumPy's indexing, sorting and running functions on device arrays, by the handwritten kernels.

Like `cuda_words`, for what moves elements instead of computing with them. What gives None here is
left to array code.
"""

from __future__ import annotations

import functools
import importlib
import math

from rushlight.compiler.cuda import array_code
from rushlight.compiler.cuda.device_array import DeviceArray, empty
from rushlight.compiler.cuda.words import where
from rushlight.compiler.storage import NAME
from rushlight.machine import np

used = {"moved": 0}


@functools.cache
def _kernels(name):
    return importlib.import_module("rushlight.kernels." + name)


def _is_array(value):
    return type(value) is DeviceArray or type(value) is np.ndarray and value.ndim > 0


def _index(value):
    """An index array on the device as int64; a mask as what it is."""
    if type(value) is np.ndarray:
        value = array_code._uploaded(value)
    return value if value.dtype.kind == "b" else value.astype(np.int64, copy=False)


def _ready(array):
    return type(array) is DeviceArray and array.size and NAME.get(array.dtype) is not None


class _Plan:
    """An advanced index taken apart: the array with the indexed dimensions side by side at `axis`,
    and one index of all of them."""

    __slots__ = ("array", "axis", "back", "index")

    def __init__(self, array, index):
        items = list(index) if type(index) is tuple else [index]
        self.array = None
        if any(i is None or isinstance(i, (int, np.integer)) for i in items):
            return
        items = _spread(items, array.ndim)
        if items is None or not any(_is_array(i) for i in items):
            return
        whole = slice(None)
        if any(isinstance(i, slice) and i != whole for i in items):
            return
        dims = [d for d, i in enumerate(items) if _is_array(i)]
        arrays = [_index(items[d]) for d in dims]
        if any(a.dtype.kind == "b" for a in arrays):
            return
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        if 0 in shape:
            return
        side_by_side = dims[-1] - dims[0] + 1 == len(dims)
        order = list(range(array.ndim))
        self.axis = dims[0] if side_by_side else 0
        if not side_by_side:
            order = dims + [d for d in order if d not in dims]
        self.back = order
        self.array = array if side_by_side else array.transpose(order)
        sizes = [array.shape[d] for d in dims]
        self.index = _joined([a.broadcast_to(shape) for a in arrays], sizes)

    def merged(self, array, count):
        """The array with the indexed dimensions as one."""
        shape = array.shape
        rest = shape[self.axis + count :]
        return array.reshape(
            *shape[: self.axis], math.prod(shape[self.axis : self.axis + count]), *rest
        )


def _spread(items, ndim):
    """The items with ... written out; None where they do not fit."""
    used_up = sum(
        1 if not (_is_array(i) and i.dtype.kind == "b") else i.ndim
        for i in items
        if i is not Ellipsis
    )
    missing = ndim - used_up
    if missing < 0:
        return None
    if Ellipsis in [i for i in items if not _is_array(i)]:
        at = next(n for n, i in enumerate(items) if i is Ellipsis)
        return items[:at] + [slice(None)] * missing + items[at + 1 :]
    return items + [slice(None)] * missing


def _joined(arrays, sizes):
    """One index, negative numbers counted from the end."""
    strides, step = [0] * len(sizes), 1
    for d in range(len(sizes) - 1, -1, -1):
        strides[d], step = step, step * sizes[d]
    return _kernels("indexing.cuda").joined_indices(arrays, sizes, strides)


def _count(index):
    items = index if type(index) is tuple else (index,)
    return sum(1 for i in items if _is_array(i))


def _mask(array, index):
    """The mask of an index that is one mask of the array's shape, or None."""
    item = index[0] if type(index) is tuple and len(index) == 1 else index
    if not _is_array(item) or item.dtype.kind != "b" or item.shape != array.shape:
        return None
    return _index(item)


def getitem(array, index):
    """``array[index]`` with arrays in the index, or None."""
    if not _ready(array):
        return None
    mask = _mask(array, index)
    if mask is not None:
        used["moved"] += 1
        return _kernels("indexing.cuda").masked_select(array, mask)
    plan = _Plan(array, index)
    if plan.array is None:
        return None
    used["moved"] += 1
    source = plan.merged(plan.array.contiguous(), _count(index))
    return _kernels("indexing.cuda").take_rows(source, plan.index, plan.axis)


def _values(value, shape, array):
    """What is written, as a device array of a shape."""
    if type(value) is not DeviceArray:
        value = array_code.from_host(np.asarray(value, array.dtype), array.device)
    return value.astype(array.dtype, copy=False).broadcast_to(shape)


def setitem(array, index, value):
    """``array[index] = value`` with arrays in the index; True, or None where it is not done."""
    if not _ready(array) or array.dtype.kind == "c":
        return None
    mask = _mask(array, index)
    if mask is not None:
        single = not isinstance(value, (DeviceArray, np.ndarray)) or value.ndim == 0
        if single:
            number = value.item() if type(value) is np.ndarray else value
            made = where(mask, number, array)
            if made is None:
                return None
        else:
            made = _kernels("indexing.cuda").masked_scatter(array, mask, value)
        array[...] = made
        used["moved"] += 1
        return True
    return _write(array, index, value, "put_rows")


def _write(array, index, value, how, **options):
    """Write or combine rows at an index; True, or None where it is not done."""
    plan = _Plan(array, index)
    if plan.array is None:
        return None
    used["moved"] += 1
    dense = plan.array.contiguous()
    merged = plan.merged(dense, _count(index))
    rows = (*merged.shape[: plan.axis], *plan.index.shape, *merged.shape[plan.axis + 1 :])
    values, axis = _values(value, rows, array), plan.axis
    kernels, flat = _kernels("indexing.cuda"), plan.index.reshape(-1)
    if how == "put_rows":
        kernels.put_rows(merged, plan.index, values, axis)
    else:
        values = values.reshape(*rows[:axis], flat.size, *merged.shape[axis + 1 :])
        kernels.combined_rows(merged, flat, values, how, axis, **options)
    if dense is not plan.array or plan.array.block is not array.block:
        plan.array[...] = dense
    return True


_COMBINED = {np.add: "sum", np.maximum: "amax", np.minimum: "amin", np.multiply: "prod"}


def ufunc_at(function, inputs, kwargs):
    """``function.at(array, index, values)``; True, or None where it is not done."""
    if kwargs or len(inputs) != 3 or not _ready(inputs[0]):
        return None
    array, index, values = inputs
    if function is np.subtract and array.dtype.kind == "f":
        function, values = np.add, -values
    kind = _COMBINED.get(function)
    if kind is None:
        return None
    if array.dtype.kind == "c" or kind not in _kernels("indexing.cuda").KINDS:
        return None
    return _write(array, index, values, kind)


def ufunc_accumulate(function, inputs, kwargs):
    """``function.accumulate(array, axis)``, or None."""
    array, *rest = inputs
    axis = rest[0] if rest else kwargs.get("axis", 0)
    if not array.size and array.dtype.kind == "f":
        return array.copy()
    if not _ready(array) or any(k != "axis" for k in kwargs) or array.dtype.kind == "c":
        return None
    if function in (np.add, np.multiply):
        return _kernels("scan_sort.cuda_scan").scanned(
            array, axis, function is np.multiply, array.dtype
        )
    if function is np.logaddexp and array.dtype.kind == "f":
        return _kernels("scan_sort.cuda_scan").logcumsumexp(array, axis)
    if function in (np.maximum, np.minimum):
        return _kernels("scan_sort.cuda_scan").cumulative_extremes(
            array, axis, function is np.maximum
        )[0]
    return None


# ----------------------------------------------------------------------------------------- moving
def take(array, indices, axis=None, out=None, mode="raise"):
    """``np.take``, or None."""
    if not _ready(array) or out is not None:
        return None
    if axis is None:
        array, axis = array.reshape(-1), 0
    if isinstance(indices, list):
        indices = np.asarray(indices, np.int64)
    if isinstance(indices, (int, np.integer)):
        return array[(*(slice(None),) * (axis % array.ndim), indices)].copy()
    if not _is_array(indices) or not indices.size:
        return None
    used["moved"] += 1
    return _kernels("indexing.cuda").take_rows(array, _index(indices), axis, True)


def take_along_axis(array, indices, axis=-1):
    """``np.take_along_axis``, or None."""
    if not _ready(array) or axis is None or not _is_array(indices) or not indices.size:
        return None
    index = _index(indices)
    others = [n for d, n in enumerate(array.shape) if d != axis % array.ndim]
    if [n for d, n in enumerate(index.shape) if d != axis % array.ndim] != others:
        return None
    used["moved"] += 1
    return _kernels("indexing.cuda").read_at(array, axis % array.ndim, index)


def put_along_axis(array, indices, values, axis):
    """``np.put_along_axis``; True, or None where it is not done."""
    if not _ready(array) or axis is None or not _is_array(indices) or not indices.size:
        return None
    index = _index(indices)
    dense = array.contiguous()
    used["moved"] += 1
    values = _values(values, index.shape, array)
    _kernels("indexing.cuda").scattered_at(dense, axis % array.ndim, index, values)
    if dense is not array:
        array[...] = dense
    return True


def repeat(array, repeats, axis=None):
    """``np.repeat`` a whole number of times, or None."""
    if type(array) is not DeviceArray or not isinstance(repeats, (int, np.integer)):
        return None
    if axis is None:
        array, axis = array.reshape(-1), 0
    axis %= array.ndim
    index = (*(slice(None),) * (axis + 1), None)
    shape = (*array.shape[: axis + 1], int(repeats), *array.shape[axis + 1 :])
    spread = array[index].broadcast_to(shape).copy()
    return spread.reshape(
        *array.shape[:axis], array.shape[axis] * int(repeats), *array.shape[axis + 1 :]
    )


def triangle(lower):
    """``np.tril`` or ``np.triu``."""

    def call(m, k=0):
        if type(m) is not DeviceArray or m.ndim < 2 or m.dtype.kind == "c":
            return None
        mask = np.tri(*m.shape[-2:], k=k if lower else k - 1, dtype=bool)
        zero = m.dtype.type(0)
        return where(mask, m, zero) if lower else where(mask, zero, m)

    return call


# ---------------------------------------------------------------------------- sorting and scanning
def _sortable(array):
    return _ready(array) and array.dtype.kind != "c"


def sort(array, axis=-1, kind=None, order=None, *, stable=None):
    """``np.sort``, or None."""
    if not _sortable(array):
        return None
    if axis is None:
        array, axis = array.reshape(-1), -1
    return _kernels("scan_sort.cuda_sort").sorted_along(array, axis)[0]


def sort_in_place(array, axis=-1, kind=None, order=None, *, stable=None):
    """``array.sort()``; True, or None where it is not done."""
    found = sort(array, axis)
    if found is None:
        return None
    array[...] = found
    return True


def argsort(array, axis=-1, kind=None, order=None, *, stable=None):
    """``np.argsort``, or None."""
    if not _sortable(array):
        return None
    if axis is None:
        array, axis = array.reshape(-1), -1
    return _kernels("scan_sort.cuda_sort").sorted_along(array, axis)[1]


def partition(array, kth, axis=-1, kind="introselect", order=None):
    """``np.partition``: sorted wholly."""
    return sort(array, axis)


def argpartition(array, kth, axis=-1, kind="introselect", order=None):
    """``np.argpartition``: sorted wholly."""
    return argsort(array, axis)


def searchsorted(array, values, side="left", sorter=None):
    """``np.searchsorted``, or None."""
    if sorter is not None or not _sortable(array) or type(values) is not DeviceArray:
        return None
    if not values.size or values.dtype != array.dtype:
        return None
    return _kernels("scan_sort.cuda_sort").searched(array, values, side == "right")


def _running(product):
    def call(array, axis=None, dtype=None, out=None):
        if out is not None or not _ready(array) or array.dtype.kind == "c":
            return None
        if array.itemsize == 16 or array.dtype.kind == "u":
            return None
        if axis is None:
            array, axis = array.reshape(-1), 0
        return _kernels("scan_sort.cuda_scan").scanned(
            array, axis % max(array.ndim, 1), product, dtype
        )

    return call


cumsum, cumprod = _running(False), _running(True)


def nonzero(array):
    """``np.nonzero``, or None. Waits for the device."""
    if not _sortable(array) or not array.ndim:
        return None
    found = _kernels("indexing.cuda").nonzero(array)
    return tuple(found[:, d].contiguous() for d in range(array.ndim))


def argwhere(array):
    """``np.argwhere``, or None. Waits for the device."""
    if not _sortable(array) or not array.ndim:
        return None
    return _kernels("indexing.cuda").nonzero(array)


def flatnonzero(array):
    """``np.flatnonzero``, or None. Waits for the device."""
    return _kernels("indexing.cuda").nonzero(array, True) if _sortable(array) else None


def tile(array, reps):
    """``np.tile``, or None."""
    if type(array) is not DeviceArray:
        return None
    reps = tuple(reps) if isinstance(reps, (tuple, list)) else (int(reps),)
    ndim = max(array.ndim, len(reps))
    reps = (1,) * (ndim - len(reps)) + tuple(int(r) for r in reps)
    shape = (1,) * (ndim - array.ndim) + array.shape
    parts = [n for pair in zip(reps, shape, strict=True) for n in pair]
    ones = [n for extent in shape for n in (1, extent)]
    spread = array.reshape(*ones).broadcast_to(tuple(parts)).copy()
    return spread.reshape(*[r * n for r, n in zip(reps, shape, strict=True)])


def pad(array, pad_width, mode="constant", **options):
    """``np.pad`` with a number, or None."""
    number = options.pop("constant_values", 0)
    if type(array) is not DeviceArray or mode != "constant" or options or np.ndim(number):
        return None
    around = np.broadcast_to(np.asarray(pad_width, np.int64), (array.ndim, 2)).tolist()
    shape = tuple(n + a + b for n, (a, b) in zip(array.shape, around, strict=True))
    out = empty(shape, array.dtype, array.device)
    out[...] = number
    inner = zip(array.shape, around, strict=True)
    out[tuple(slice(a, a + n) for n, (a, _) in inner)] = array
    return out


def roll(array, shift, axis=None):
    """``np.roll``, or None."""
    if isinstance(axis, (tuple, list)) and isinstance(shift, (tuple, list)):
        for step, dim in zip(shift, axis, strict=True):
            array = roll(array, step, dim)
            if array is None:
                return None
        return array
    if type(array) is not DeviceArray or not isinstance(shift, (int, np.integer)):
        return None
    if axis is None:
        return roll(array.reshape(-1), shift, 0).reshape(array.shape)
    if not isinstance(axis, (int, np.integer)) or not array.size:
        return None
    n = array.shape[axis]
    shift, before = int(shift) % n, (slice(None),) * (axis % array.ndim)
    out = empty(array.shape, array.dtype, array.device)
    out[(*before, slice(shift, None))] = array[(*before, slice(0, n - shift))]
    if shift:
        out[(*before, slice(0, shift))] = array[(*before, slice(n - shift, None))]
    return out


METHODS = {
    "take": take,
    "repeat": repeat,
    "sort": sort_in_place,
    "argsort": argsort,
    "argpartition": argpartition,
    "cumsum": cumsum,
    "cumprod": cumprod,
    "nonzero": nonzero,
    "searchsorted": searchsorted,
}
FUNCTIONS = {
    np.take: take,
    np.take_along_axis: take_along_axis,
    np.put_along_axis: put_along_axis,
    np.repeat: repeat,
    np.tril: triangle(True),
    np.triu: triangle(False),
    np.sort: sort,
    np.argsort: argsort,
    np.partition: partition,
    np.argpartition: argpartition,
    np.searchsorted: searchsorted,
    np.cumsum: cumsum,
    np.cumprod: cumprod,
    np.nonzero: nonzero,
    np.argwhere: argwhere,
    np.flatnonzero: flatnonzero,
    np.roll: roll,
    np.tile: tile,
    np.pad: pad,
}
