"""Order: sorting, the largest, medians."""

from __future__ import annotations

import rushlight
from rushlight.onnx._registry import aten


def ordered(g, x, count, dim, largest):
    """The `count` largest or smallest along a dimension, in order, with their positions."""
    if x.rank == 0:
        return x, g.constant(0, rushlight.int64)
    narrow = x.dtype
    if narrow in (rushlight.int8, rushlight.int16, rushlight.uint8, rushlight.bool):
        x = g.cast(x, rushlight.int32)
    values, places = g.op(
        "TopK", x, g.sizes([count]), outputs=2, axis=dim, largest=int(largest), sorted=1
    )
    places.dtype = rushlight.int64
    return g.cast(values, narrow), places


@aten("topk")
def topk(g, self, k, dim=-1, largest=True, sorted=True):
    return ordered(g, self, k, dim, largest)


@aten("sort", "sort.stable")
def sort(g, self, stable=None, dim=-1, descending=False):
    return ordered(g, self, g.size(self, dim) if self.rank else 1, dim, descending)


@aten("argsort", "argsort.stable")
def argsort(g, self, dim=-1, descending=False):
    return sort(g, self, None, dim, descending)[1]


@aten("msort")
def msort(g, self):
    return sort(g, self, None, 0)[0]


@aten("kthvalue")
def kthvalue(g, self, k, dim=-1, keepdim=False):
    if self.rank == 0:
        return self, g.constant(0, rushlight.int64)
    found = ordered(g, self, g.size(self, dim), dim, False)
    return tuple(_at(g, one, k - 1, dim, keepdim) for one in found)


def _at(g, x, place, dim, keepdim):
    dim %= len(g.out[0].shape) if keepdim else len(g.out[0].shape) + 1
    index = g.constant([place] if keepdim else place, rushlight.int64)
    return g.op("Gather", x, index, axis=dim)


@aten("median.dim")
def median_dim(g, self, dim=None, keepdim=False):
    if self.rank == 0:
        return self, g.constant(0, rushlight.int64)
    dim = dim[0] if isinstance(dim, list | tuple) else dim
    return kthvalue(g, self, (self.shape[dim] + 1) // 2, dim, keepdim)


@aten("median")
def median(g, self):
    flat = g.reshape(self, [-1])
    values, _ = ordered(g, flat, g.constant(self.meta.numel(), rushlight.int64), 0, False)
    return g.op("Gather", values, g.constant((self.meta.numel() - 1) // 2, rushlight.int64), axis=0)
