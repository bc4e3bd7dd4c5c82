"""Reductions, scans and statistics."""

from __future__ import annotations

import math

import rushlight
from rushlight.onnx._registry import aten
from rushlight.onnx._translations.elementwise import isnan


@aten("sum", "sum.dim_IntList")
def sum_(g, self, dim=None, keepdim=False):
    return g.reduce("ReduceSum", *g.to(g.dtype, self), dim, keepdim)


def of_nothing(g, x, number):
    """The result of a reduction of no elements, which runtimes do not agree on; else None."""
    if 0 in x.shape and 0 not in g.out.shape:
        return g.op("Expand", g.constant(number, g.dtype), g.integers(g.out.shape))
    return None


@aten("mean", "mean.dim")
def mean(g, self, dim=None, keepdim=False):
    if (empty := of_nothing(g, self, math.nan)) is not None:
        return empty
    return g.reduce("ReduceMean", *g.to(g.dtype, self), dim, keepdim)


@aten("prod", "prod.dim_int")
def prod(g, self, dim=None, keepdim=False):
    return g.reduce("ReduceProd", *g.to(g.dtype, self), dim, keepdim)


@aten("amax", "max")
def amax(g, self, dim=None, keepdim=False):
    return extreme(g, "ReduceMax", self, dim, keepdim)


@aten("amin", "min")
def amin(g, self, dim=None, keepdim=False):
    return extreme(g, "ReduceMin", self, dim, keepdim)


def extreme(g, kind, x, dim, keepdim):
    """The largest or smallest; of truth values by integers."""
    if x.dtype is rushlight.bool:
        found = g.reduce(kind, g.cast(x, rushlight.int32), dim, keepdim)
        return g.cast(found, rushlight.bool)
    return g.reduce(kind, x, dim, keepdim)


@aten("aminmax")
def aminmax(g, self, dim=None, keepdim=False):
    return extreme(g, "ReduceMin", self, dim, keepdim), extreme(g, "ReduceMax", self, dim, keepdim)


@aten("max.dim")
def max_dim(g, self, dim, keepdim=False):
    return amax(g, self, dim, keepdim), place(g, "ArgMax", self, dim, keepdim)


@aten("min.dim")
def min_dim(g, self, dim, keepdim=False):
    return amin(g, self, dim, keepdim), place(g, "ArgMin", self, dim, keepdim)


def place(g, kind, x, dim, keepdim):
    """Where the largest or smallest is, int64."""
    if x.rank == 0:
        return g.constant(0, rushlight.int64)
    if x.dtype is rushlight.bool:
        x = g.cast(x, rushlight.int32)
    return g.op(kind, x, axis=dim % x.rank, keepdims=int(keepdim), dtype=rushlight.int64)


@aten("argmax")
def argmax(g, self, dim=None, keepdim=False):
    return _place(g, "ArgMax", self, dim, keepdim)


@aten("argmin")
def argmin(g, self, dim=None, keepdim=False):
    return _place(g, "ArgMin", self, dim, keepdim)


def _place(g, kind, x, dim, keepdim):
    if dim is not None:
        return place(g, kind, x, dim, keepdim)
    flat = g.reshape(x, [-1])
    found = place(g, kind, flat, 0, False)
    return g.reshape(found, [1] * x.rank) if keepdim else found


@aten("any", "any.dim", "any.dims")
def any_(g, self, dim=None, keepdim=False):
    if (empty := of_nothing(g, self, False)) is not None:
        return empty
    return _truth(g, "ReduceMax", self, dim, keepdim)


@aten("all", "all.dim", "all.dims")
def all_(g, self, dim=None, keepdim=False):
    if (empty := of_nothing(g, self, True)) is not None:
        return empty
    return _truth(g, "ReduceMin", self, dim, keepdim)


def _truth(g, kind, x, dim, keepdim):
    true = g.cast(g.cast(x, rushlight.bool), rushlight.int32)
    return g.cast(g.reduce(kind, true, dim, keepdim), g.dtype)


@aten("count_nonzero", "count_nonzero.dim_IntList")
def count_nonzero(g, self, dim=None):
    true = g.cast(g.cast(self, rushlight.bool), rushlight.int64)
    return g.reduce("ReduceSum", true, dim, False)


@aten("logsumexp")
def logsumexp(g, self, dim=None, keepdim=False):
    return g.reduce("ReduceLogSumExp", *g.to(g.dtype, self), dim, keepdim)


def variance(g, x, dim, correction, keepdim):
    """The variance over dimensions."""
    centre = g.op("Sub", x, g.reduce("ReduceMean", x, dim, True))
    total = g.reduce("ReduceSum", g.op("Mul", centre, centre), dim, keepdim)
    dims = range(x.rank) if dim is None or dim == [] else [dim] if isinstance(dim, int) else dim
    count = g.constant(1.0, x.dtype)
    for d in dims:
        count = g.op("Mul", count, g.cast(g.constant(g.size(x, d)), x.dtype))
    left = g.op(
        "Max", g.op("Sub", count, g.like(1 if correction is None else correction, x)), g.like(0, x)
    )
    return g.op("Div", total, left)


def _correction(correction, unbiased):
    return correction if correction is not None else int(unbiased)


@aten("var", "var.dim", "var.correction")
def var(g, self, dim=None, unbiased=True, correction=None, keepdim=False):
    (x,) = g.to(g.dtype, self)
    return variance(g, x, dim, _correction(correction, unbiased), keepdim)


@aten("std", "std.dim", "std.correction")
def std(g, self, dim=None, unbiased=True, correction=None, keepdim=False):
    return g.op("Sqrt", var(g, self, dim, unbiased, correction, keepdim))


@aten("var_mean", "var_mean.dim", "var_mean.correction")
def var_mean(g, self, dim=None, unbiased=True, correction=None, keepdim=False):
    found = var(g, self, dim, unbiased, correction, keepdim)
    return found, g.reduce("ReduceMean", self, dim, keepdim)


@aten("std_mean", "std_mean.dim", "std_mean.correction")
def std_mean(g, self, dim=None, unbiased=True, correction=None, keepdim=False):
    found = std(g, self, dim, unbiased, correction, keepdim)
    return found, g.reduce("ReduceMean", self, dim, keepdim)


@aten("nansum")
def nansum(g, self, dim=None, keepdim=False, dtype=None):
    (x,) = g.to(dtype or g.dtype, self)
    return g.reduce("ReduceSum", _zero_for_nan(g, x), dim, keepdim)


def _zero_for_nan(g, x):
    if not x.dtype.is_floating_point:
        return x
    return g.op("Where", isnan(g, x), g.like(0, x), x, dtype=x.dtype)


@aten("nanmean")
def nanmean(g, self, dim=None, keepdim=False):
    (x,) = g.to(g.dtype, self)
    known = g.cast(g.op("Not", isnan(g, x)), x.dtype)
    total = g.reduce("ReduceSum", _zero_for_nan(g, x), dim, keepdim)
    return g.op("Div", total, g.reduce("ReduceSum", known, dim, keepdim))


@aten("cumsum")
def cumsum(g, self, dim):
    (x,) = g.to(g.dtype, self)
    if x.rank == 0:
        return x
    return g.op("CumSum", x, g.constant(dim, rushlight.int64))


@aten("linalg_vector_norm")
def vector_norm(g, self, ord=2, dim=None, keepdim=False):
    (x,) = g.to(g.dtype, self)
    if ord in (1, 2):
        return g.reduce(f"ReduceL{int(ord)}", x, dim, keepdim)
    size = g.op("Abs", x)
    if ord in (math.inf, -math.inf):
        return g.reduce("ReduceMax" if ord > 0 else "ReduceMin", size, dim, keepdim)
    if ord == 0:
        zero = g.op("Equal", x, g.like(0, x), dtype=rushlight.bool)
        return g.reduce("ReduceSum", g.cast(g.op("Not", zero), x.dtype), dim, keepdim)
    total = g.reduce("ReduceSum", g.op("Pow", size, g.like(ord, x)), dim, keepdim)
    return g.op("Pow", total, g.like(1 / ord, x))


@aten("sum_to_size")
def sum_to_size(g, self, size):
    extra = self.rank - len(size)
    dims = [d for d in range(self.rank) if d < extra or (size[d - extra] == 1 != self.shape[d])]
    found = g.reduce("ReduceSum", self, dims, True) if dims else self
    return g.reshape(found, list(size))


@aten("cosine_similarity")
def cosine_similarity(g, x1, x2, dim=1, eps=1e-8):
    axes = g.integers([dim])
    product = g.op("ReduceSum", g.op("Mul", x1, x2), axes, keepdims=0)
    lengths = [
        g.op("Max", g.op("Sqrt", g.op("ReduceSum", g.op("Mul", x, x), axes, keepdims=0)),
             g.constant(eps, g.dtype))
        for x in (x1, x2)
    ]  # fmt: skip
    return g.op("Div", product, g.op("Mul", *lengths))


@aten("cdist")
def cdist(g, x1, x2, p=2.0, compute_mode=None):
    apart = g.op("Sub", g.unsqueeze(x1, x1.rank - 1), g.unsqueeze(x2, x2.rank - 2))
    axes = g.integers([-1])
    if p == 2:
        return g.op("Sqrt", g.op("ReduceSum", g.op("Mul", apart, apart), axes, keepdims=0))
    apart = g.op("Abs", apart)
    if p == 1:
        return g.op("ReduceSum", apart, axes, keepdims=0)
    if p == math.inf:
        return g.reduce("ReduceMax", apart, [x1.rank], False)
    if p == 0:
        raise NotImplementedError("cdist with p=0")
    powers = g.op("ReduceSum", g.op("Pow", apart, g.like(p, x1)), axes, keepdims=0)
    return g.op("Pow", powers, g.like(1 / p, x1))
