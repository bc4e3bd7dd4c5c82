"""Sums, means, extremes and products of consecutive segments of dense float32 and float64."""

from __future__ import annotations

import math

from rushlight.kernels.launch.execution import (
    COMPILED_DTYPES,
    chunk,
    language_type,
    referenced_by,
)
from rushlight.kernels.launch.prepared import Remembered, word_of
from rushlight.kernels.reduction import segment_kernels as native
from rushlight.machine import np, threads

__all__ = ["WAYS", "fits", "reduced"]

WAYS = ("sum", "mean", "max", "min", "prod")
_JOINS = dict(zip(WAYS, (np.add, np.add, np.maximum, np.minimum, np.multiply), strict=True))
_plans = Remembered()


def fits(data, counts, checked):
    """Whether the kernel takes this array, and lengths that hold no more than it has, which may
    have been checked."""
    if data.dtype not in COMPILED_DTYPES or not (data.size and counts.size):
        return False
    return checked or (counts.min() >= 0 and counts.sum(-1).max() <= data.shape[counts.ndim - 1])


def _reference(data, counts, way, start, empty):
    axis, join = counts.ndim - 1, _JOINS[way]
    rows = data.reshape(-1, data.shape[axis], math.prod(data.shape[axis + 1 :]))
    lengths = counts.reshape(len(rows), -1)
    found = np.full((*lengths.shape, rows.shape[2]), start, data.dtype)
    for row, to, sizes in zip(rows, found, lengths, strict=True):
        for s, (last, size) in enumerate(zip(np.cumsum(sizes), sizes, strict=True)):
            to[s] = join.reduce(np.vstack([to[s][None], row[last - size : last]]), 0)
            if way == "mean":
                to[s] = to[s] / size if size else empty
    return found.reshape(*counts.shape, *data.shape[axis + 1 :])


@referenced_by(_reference)
def reduced(data, counts, way, start, empty):
    """The segments of `counts` (..., S) elements of `data` (..., N, ...): (..., S, ...). `start`
    takes part in each; `empty` is the mean of no elements."""
    axis = counts.ndim - 1
    key = data.shape, data.dtype, counts.shape, way, start, str(empty)
    plan = _plans.get(key)
    if plan is None:
        code = native.reduce_segments.address(real=language_type(data.dtype), way=WAYS.index(way))
        n, inner = data.shape[axis], math.prod(data.shape[axis + 1 :])
        words = [0, 0, 0, n, inner, counts.shape[-1], word_of(start), word_of(empty)]
        grain = chunk(counts.size, data.size // counts.size + 4)
        plan = _plans.keep(key, threads.plan(code, counts.size, grain, words))
    found = np.empty((*counts.shape, *data.shape[axis + 1 :]), data.dtype)
    dense = data if data.flags.c_contiguous else np.ascontiguousarray(data)
    threads.run(plan, found, dense, np.ascontiguousarray(counts.cumsum(-1), np.int64))
    return found
