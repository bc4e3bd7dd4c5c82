"""Reductions over consecutive segments."""

from __future__ import annotations

import math

from rushlight import dtypes
from rushlight.autograd.engine import grad as gradient
from rushlight.autograd.mode import enable_grad, mode
from rushlight.dtypes import FLOAT
from rushlight.errors import shape_text
from rushlight.kernels.reduction import segments as kernels
from rushlight.machine.arrays import dtype_of
from rushlight.ops._calls.direct import on_cpu
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.second_order import with_history
from rushlight.ops.creation.tensors import arange, full
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.indexing.scattering import scatter_reduce
from rushlight.ops.reduction.sorting import searchsorted
from rushlight.tensor.dispatch import STATE, readable
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


def _composed(data, counts, reduce, start, empty):
    """:func:`segment_reduce` in the table's ops."""
    axis, segments = counts.dim() - 1, counts.shape[-1]
    rest = (1,) * (data.dim() - axis - 1)
    places = arange(data.shape[axis], device=data._device).expand(*data.shape[: axis + 1])
    index = searchsorted(counts.cumsum(-1), places.contiguous(), right=True)
    index = index.reshape(*index.shape, *rest).expand(data.shape)
    # One segment more takes elements behind the last one.
    shape = (*data.shape[:axis], segments + 1, *data.shape[axis + 1 :])
    base = full(shape, start, dtype=data._dtype, device=data._device)
    out = scatter_reduce(base, axis, index, with_history(data), _WAYS[reduce])
    out = out.narrow(axis, 0, segments)
    if reduce != "mean":
        return out
    number = counts.reshape(*counts.shape, *rest)
    return where(number == 0, empty, out / where(number == 0, 1, number))


def _segments_meta(data, counts, *_settings):
    return (*counts.shape, *data.shape[len(counts.shape) :]), dtype_of(data)


@op(
    method=False,
    node="SegmentReduce",
    meta=_segments_meta,
    samples=lambda make: [
        ((make(4, 2), make.integers(2, 3, (2,)), way, start, math.nan), {})
        for way, start in (("sum", 0.0), ("mean", 0.5), ("max", -math.inf), ("prod", 1.0))
    ],
    in_aten=False,
    saves="",
)
def _segments(data: Tensor, counts: Tensor, reduce, start, empty):
    """:func:`segment_reduce` of plain tensors by one kernel."""
    return kernels.reduced(data, counts, reduce, start, empty)


def _segments_gradient(grad, data, counts, reduce, start, empty):
    recording = mode.recording
    with enable_grad():
        source = data.view_as(data) if recording else data.detach().requires_grad_()
        out = _composed(source, counts, reduce, start, empty)
        (found,) = gradient(out, (source,), grad, create_graph=recording)
    return found


_segments.gradient(data=_segments_gradient)


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
    start = _START[reduce] if initial is None else float(initial)
    empty = math.nan if initial is None else float(initial)
    if not STATE.levels and data.is_meta:
        return _segments(data, counts, reduce, start, empty)
    if not STATE.levels and on_cpu(data) and on_cpu(counts):
        if kernels.fits(data._array, counts._array, not unsafe):
            return _segments(data, counts, reduce, start, empty)
    return _composed(data, counts, reduce, start, empty)
