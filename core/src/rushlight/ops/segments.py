"""Reductions over consecutive segments."""

from __future__ import annotations

import math

from rushlight import dtypes
from rushlight.backends import np
from rushlight.dtypes import FLOAT
from rushlight.errors import shape_text
from rushlight.ops._op import composite
from rushlight.ops._second_order import with_history
from rushlight.ops.comparison import where
from rushlight.ops.creation import full
from rushlight.ops.scattering import scatter_reduce
from rushlight.tensor.tensor import Tensor, make_tensor

_WAYS = {"sum": "sum", "mean": "sum", "max": "amax", "min": "amin", "prod": "prod"}
_START = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}


def _counts(data, lengths, offsets, axis, unsafe):
    """The length of every segment, as an array."""
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    given = offsets if lengths is None else lengths
    if given._dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"segment_reduce(): lengths must be int32 or int64; got {given._dtype}")
    counts = given.cpu()._array.astype(np.int64)
    if lengths is None:
        counts = np.diff(counts, axis=-1)
    if counts.ndim != axis + 1 or counts.shape[:-1] != tuple(data.shape[:axis]):
        raise RuntimeError(
            f"segment_reduce(): Expected lengths of the shape of data's first {axis} dimensions "
            f"and one for the segments; got {shape_text(given.shape)} for data of shape "
            f"{shape_text(data.shape)}"
        )
    if not unsafe:
        if counts.size and counts.min() < 0:
            raise RuntimeError("lengths contains negative value!")
        if (counts.sum(-1) != data.shape[axis]).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                f"data.size(axis), {data.shape[axis]}; got {counts.sum(-1).tolist()}"
            )
    return counts


@composite(
    method=False,
    samples=lambda make: (
        [
            (make(5), reduce, {"lengths": make.integers(1, 2, (5,))})
            for reduce in ("sum", "mean", "max")
        ]
        + [
            (make(4, 2), "prod", {"lengths": make.integers(2, 3, (2,))}),
            (make(4, 2), "min", {"offsets": make.integers(0, 1, (1,)), "unsafe": True}),
        ]
    ),
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
    counts = _counts(data, lengths, offsets, axis, unsafe)
    segments, rest = counts.shape[-1], (1,) * (data.dim() - axis - 1)
    rows = counts.reshape(math.prod(counts.shape[:-1]), segments)
    size = data.shape[axis]
    place = np.array([np.repeat(np.arange(segments), r)[:size] for r in rows], np.int64).reshape(
        *counts.shape[:-1], min(size, int(rows.sum(1).max(initial=0)))
    )
    data = with_history(data).narrow(axis, 0, place.shape[-1])
    index = make_tensor(place.reshape(*place.shape, *rest), dtypes.int64).to(data.device)
    index = index.expand(data.shape)
    start = _START[reduce] if initial is None else initial
    shape = (*data.shape[:axis], segments, *data.shape[axis + 1 :])
    base = full(shape, start, dtype=data._dtype, device=data.device)
    out = scatter_reduce(base, axis, index, data, _WAYS[reduce])
    if reduce != "mean":
        return out
    number = make_tensor(counts.reshape(*counts.shape, *rest), dtypes.int64).to(data.device)
    empty = math.nan if initial is None else float(initial)
    return where(number == 0, empty, out / where(number == 0, 1, number))
