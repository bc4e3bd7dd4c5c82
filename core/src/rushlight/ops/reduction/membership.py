"""Distinct values and membership: runs of equal values, isin, combinations of elements."""

from __future__ import annotations

import math

from rushlight import dtypes
from rushlight.dtypes import BOOL, COMPLEX
from rushlight.errors import shape_text
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.gemm import vectors
from rushlight.kernels.launch.prepared import by_layouts
from rushlight.kernels.scan_sort import runs as run
from rushlight.machine import memory, np
from rushlight.machine.arrays import cast
from rushlight.ops._calls.direct import on_cpu, tensor_of, unrecorded
from rushlight.ops._table.op import TensorList, composite
from rushlight.ops._table.rules import number_dtype, result_type
from rushlight.ops.reduction.distinct import captured_runs
from rushlight.ops.shape.joining import stack, variadic
from rushlight.tensor import construction
from rushlight.tensor.dispatch import STATE, captured_part, readable
from rushlight.tensor.dispatch import stack as interpreters
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import EXACT, Tensor, make_tensor


@composite(
    in_aten=False,
    limited="unsigned",
    samples=lambda make: [
        (make.mask(8).to(make.dtype),),
        (make.mask(6).to(make.dtype), True, True),
    ],
    differentiable=False,
)
def unique_consecutive(input: Tensor, return_inverse=False, return_counts=False, dim=None):
    """The first element of every run of equal elements (or slices along `dim`), with the run of
    each element and the lengths of the runs on request.

    >>> rushlight.unique_consecutive(rushlight.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    if interpreters.levels and captured_part(input) is not None:
        return captured_runs(input, return_inverse, return_counts, dim)
    if input.is_meta:
        raise NotImplementedError(
            "unique_consecutive: the size of the result depends on values, which meta tensors do "
            "not have; compute it on the CPU"
        )
    array = input._array
    rows = array.reshape(-1) if dim is None else np.moveaxis(array, wrap_dim(dim, array.ndim), 0)
    if type(array) is np.ndarray and rows.ndim == 1:
        found = run.runs(by_rows(rows), bool(return_inverse), bool(return_counts))
        if found is not None:
            return _runs_as_tensors(input, found, dim)
    return _runs_by_numpy(input, rows, return_inverse, return_counts, dim)


def _runs_by_numpy(input, rows, return_inverse, return_counts, dim):
    """:func:`unique_consecutive` of rows of any dtype and number of dimensions."""
    array = input._array
    fresh = _begins_run(rows)
    values = rows[fresh]
    if dim is not None:
        values = np.moveaxis(values, 0, wrap_dim(dim, array.ndim))
    values = values if values.flags.c_contiguous else values.copy("C")
    found = [make_tensor(values, input._dtype)]
    if return_inverse:
        numbers = np.cumsum(fresh) - 1
        numbers = numbers.reshape(array.shape) if dim is None else numbers
        found.append(make_tensor(numbers, dtypes.int64))
    if return_counts:
        starts = np.append(np.flatnonzero(fresh), len(rows))
        found.append(make_tensor(np.diff(starts), dtypes.int64))
    return found[0] if len(found) == 1 else tuple(found)


def _runs_as_tensors(input, found, dim):
    """Values, and numbers and lengths of runs where they are wanted, as the call gives them."""
    values, numbers, lengths = found
    made = [make_tensor(values, input._dtype)]
    if numbers is not None:
        numbers = numbers.reshape(input._array.shape) if dim is None else numbers
        made.append(make_tensor(numbers, dtypes.int64))
    if lengths is not None:
        made.append(make_tensor(lengths, dtypes.int64))
    return made[0] if len(made) == 1 else tuple(made)


def _begins_run(rows):
    """Whether each row differs from the one before; the first does."""
    fresh = np.ones_like(rows, bool, shape=(len(rows),))
    if len(rows) > 1:
        changed = rows[1:] != rows[:-1]
        fresh[1:] = changed if rows.ndim == 1 else changed.reshape(len(rows) - 1, -1).any(1)
    return fresh


def _check_isin(elements, test_elements):
    for value in (elements, test_elements):
        dtype = value._dtype if isinstance(value, Tensor) else number_dtype(value)
        if dtype is None:
            raise TypeError(
                f"isin(): arguments must be Tensors or numbers, not {type(value).__name__}"
            )
        if dtype.category in (BOOL, COMPLEX):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {dtype}")
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin(): at least one of elements and test_elements must be a Tensor")


@composite(
    method=False,
    keywords={"element": "elements", "test_element": "test_elements"},
    samples=lambda make: [
        (make.integers(0, 5, (3, 4)), make.integers(0, 5, (3,))),
        (make(4), make(3), {"invert": True}),
    ],
    differentiable=False,
)
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """True where an element is one of `test_elements`; either may be a number.

    >>> rushlight.isin(rushlight.tensor([1, 2, 3]), rushlight.tensor([2, 4]))
    tensor([False,  True, False])
    """
    plain = type(elements) in EXACT and type(test_elements) in EXACT and not STATE.modes
    if plain:
        out = _AMONG.call(elements, test_elements, invert)
        if out is not NotImplemented:
            return construction.inferred(out)
    _check_isin(elements, test_elements)
    if (
        plain
        and elements._dtype is test_elements._dtype
        and (on_cpu(elements) and on_cpu(test_elements))
    ):
        return tensor_of(
            _among(by_rows(elements._array), by_rows(test_elements._array), bool(invert))
        )
    values = (elements, test_elements)
    tensors = [v for v in values if isinstance(v, Tensor)]
    # a tensor of a program that is captured has values, which the program must not read
    if not all(map(readable, tensors)) or any(hasattr(t, "_level") for t in tensors):
        return _isin_by_comparisons(elements, test_elements, invert)
    found = result_type(tensors, [v for v in values if not isinstance(v, Tensor)])
    arrays = [v._array if isinstance(v, Tensor) else np.asarray(v) for v in values]
    arrays = [cast(array, found.code) for array in arrays]  # whole numbers wrap around
    return make_tensor(_looked_up(*arrays, invert), dtypes.bool_)


def _looked_up(elements, test_elements, invert):
    return np.asarray(np.isin(elements, test_elements.reshape(-1), invert=invert))


_among = by_layouts(vectors.among, _looked_up)
_AMONG = _among.short


def _isin_by_comparisons(elements, test_elements, invert):
    """Every element compared with every other one: where elements cannot be read."""
    others = test_elements
    if isinstance(others, Tensor):
        others = others.reshape(-1)
        elements = elements.unsqueeze(-1) if isinstance(elements, Tensor) else elements
        inside = (others == elements).any(-1)
    else:
        inside = elements == others
    return ~inside if invert else inside


def _check_vectors(name, tensors):
    for i, tensor in enumerate(tensors):
        if tensor.dim() > 1:
            raise RuntimeError(
                f"{name}: Expect a 1D vector, but got shape {shape_text(tensor.shape)} at entry {i}"
            )


@variadic
@composite(method=False, samples=lambda make: [(make(3),), (make(2), make(3))])
def cartesian_prod(tensors: TensorList):
    """Every combination of one element of each vector, as rows; of one vector the vector itself.

    >>> rushlight.cartesian_prod(rushlight.tensor([1, 2]), rushlight.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    from rushlight.ops.shape.joining import meshgrid

    _check_vectors("cartesian_prod", tensors)
    if len(tensors) == 1:
        return tensors[0]
    long_ones = [t.reshape(-1) for t in tensors if t.numel() != 1]
    grids = iter(meshgrid(*long_ones, indexing="ij") if long_ones else ())
    rows = math.prod(v.numel() for v in long_ones)
    columns = [t.reshape(1).expand(rows) if t.numel() == 1 else next(grids) for t in tensors]
    return stack([c.reshape(-1) for c in columns], 1)


@composite(
    method=False,
    limited="complex eight",
    samples=lambda make: [(make(4),), (make(3), 2, True), (make(4), 3)],
)
def combinations(input: Tensor, r=2, with_replacement=False):
    """Every combination of `r` elements of a vector, as rows, as :mod:`itertools` orders them.

    >>> rushlight.combinations(rushlight.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.dim() != 1:
        raise RuntimeError(
            f"combinations: Expect a 1D vector, but got shape {shape_text(input.shape)}"
        )
    if r < 0:
        raise RuntimeError(f"combinations: Expect a non-negative number, but got {r}")
    if not r:
        return input.new_empty((0,))
    if r == 2 and unrecorded(input):
        return tensor_of(_pairs(input._array, with_replacement))
    places = np.arange(input.numel())
    rows = _pairs(places, with_replacement) if r == 2 else _rows(len(places), r, with_replacement)
    return input[make_tensor(rows, dtypes.int64)]


def _pairs(values, again):
    """All pairs of a vector's elements, in memory for nothing but the result: the pairs of one
    element at a time."""
    count, skip = len(values), 0 if again else 1
    found = np.empty((count * (count + 1) // 2 - skip * count, 2), values.dtype)
    begin = 0
    for i in range(count):
        end = begin + count - i - skip
        found[begin:end, 0] = values[i]
        found[begin:end, 1] = values[i + skip :]
        begin = end
    return found


def _rows(count, r, again):
    """The indices of all combinations, one more column at a time."""
    total = math.comb(count + r - 1 if again else count, r)
    memory.empty((total, r), np.dtype(np.int64))  # MemoryError before any work
    rows = np.arange(count)[:, None]
    for _ in range(r - 1):
        first = rows[:, -1] + (0 if again else 1)
        following = count - first
        begins = np.cumsum(following) - following
        last = np.arange(following.sum()) - np.repeat(begins - first, following)
        rows = np.column_stack([np.repeat(rows, following, 0), last])
    return rows
