"""Reductions over consecutive segments."""

from __future__ import annotations

import math

from rushlight import dtypes
from rushlight.dtypes import FLOAT
from rushlight.errors import shape_text
from rushlight.ops._table.op import composite
from rushlight.ops._table.second_order import with_history
from rushlight.ops.creation.tensors import arange, full
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.indexing.scattering import scatter_reduce
from rushlight.ops.reduction.sorting import searchsorted
from rushlight.tensor.dispatch import readable
from rushlight.tensor.tensor import Tensor

_WAYS = {"sum": "sum", "mean": "sum", "max": "amax", "min": "amin", "prod": "prod"}
_START = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}


def _lengths_of(data, lengths, offsets, axis, unsafe):
    """The length of every segment, as int64 on data's device."""
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    given = offsets if lengths is None else lengths
    if given._dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"segment_reduce(): lengths must be int32 or int64; got {given._dtype}")
    counts = given.to(data._device, dtypes.int64)
    if lengths is None:
        counts = counts.diff()
    if counts.dim() != axis + 1 or tuple(counts.shape[:-1]) != tuple(data.shape[:axis]):
        raise RuntimeError(
            f"segment_reduce(): Expected lengths of the shape of data's first {axis} dimensions "
            f"and one for the segments; got {shape_text(given.shape)} for data of shape "
            f"{shape_text(data.shape)}"
        )
    if not unsafe and readable(counts):
        _check_lengths(counts._array, data.shape[axis])
    return counts


def _check_lengths(counts, size):
    if counts.size and counts.min() < 0:
        raise RuntimeError("lengths contains negative value!")
    if (counts.sum(-1) != size).any():
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to "
            f"data.size(axis), {size}; got {counts.sum(-1).tolist()}"
        )


@composite(
    method=False,
    samples=lambda make: [
        (make(4, 2), "min", {"offsets": make.integers(0, 1, (1,)), "unsafe": True}),
        (make(2, 4), "mean", {"lengths": make.integers(2, 3, (2, 2)), "axis": 1}),
        (make(4, 2), "prod", {"lengths": make.integers(2, 3, (2,))}),
    ],
)
def segment_reduce(
    data: Tensor,
    reduce,
    *,
    lengths=None,
    indices=None,
    offsets=None,
    axis=0,
    unsafe=False,
    initial=None,
):
    """The sum, mean, max, min or prod of consecutive segments along `axis`, given by their lengths
    or offsets; `initial` takes part in every segment and stands for empty ones.

    >>> x = rushlight.tensor([1.0, 2.0, 3.0])
    >>> rushlight.segment_reduce(x, "sum", lengths=rushlight.tensor([2, 1]))
    tensor([3., 3.])
    """
    if reduce not in _WAYS:
        raise RuntimeError(
            f"segment_reduce(): unsupported reduction {reduce!r}; use sum, mean, max, min or prod"
        )
    if indices is not None:
        raise NotImplementedError(
            "segment_reduce(): indices based reduction is not supported yet; use lengths or offsets"
        )
    if data._dtype.category != FLOAT:
        raise RuntimeError(f'"segment_reduce" not implemented for dtype {data._dtype}')
    counts = _lengths_of(data, lengths, offsets, axis, unsafe)
    segments, rest = counts.shape[-1], (1,) * (data.dim() - axis - 1)
    places = arange(data.shape[axis], device=data._device).expand(*data.shape[: axis + 1])
    index = searchsorted(counts.cumsum(-1), places.contiguous(), right=True)
    index = index.reshape(*index.shape, *rest).expand(data.shape)
    start = _START[reduce] if initial is None else initial
    # One segment more takes elements behind the last one.
    shape = (*data.shape[:axis], segments + 1, *data.shape[axis + 1 :])
    base = full(shape, start, dtype=data._dtype, device=data._device)
    out = scatter_reduce(base, axis, index, with_history(data), _WAYS[reduce])
    out = out.narrow(axis, 0, segments)
    if reduce != "mean":
        return out
    number = counts.reshape(*counts.shape, *rest)
    empty = math.nan if initial is None else float(initial)
    return where(number == 0, empty, out / where(number == 0, 1, number))
