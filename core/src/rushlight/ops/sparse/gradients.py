"""Look-ups in tables whose gradients are sparse: only the rows that were used have elements."""

from __future__ import annotations

from rushlight.autograd.function import Function
from rushlight.machine import np
from rushlight.ops.neural import embedding as tables
from rushlight.ops.sparse import layouts as _layouts  # noqa: F401 - gradients need its rules
from rushlight.ops.sparse.tensors import Pattern, _tensor, make_sparse


def _rows(places, values, size, padding):
    """The sparse gradient (V, E): `values` (n, E) at the rows `places` (n,), padding left out."""
    places = np.ascontiguousarray(places, np.int64).reshape(-1)
    if padding >= 0:
        kept = np.nonzero(places != padding)[0]
        if len(kept) != len(places):
            places, values = places[kept], values.index_select(0, _tensor(kept))
    return make_sparse(Pattern(places[None], size), values)


class _Lookup(Function):
    @staticmethod
    def forward(ctx, weight, indices, padding):
        ctx.save_for_backward(indices)
        ctx.size, ctx.padding = tuple(weight.shape), padding
        return tables._embedding(weight, indices, padding, False)

    @staticmethod
    def backward(ctx, grad):
        (indices,) = ctx.saved_tensors
        values = grad.reshape(-1, ctx.size[1])
        return _rows(indices._array, values, ctx.size, ctx.padding), None, None


class _Bags(Function):
    @staticmethod
    def forward(ctx, weight, per_sample_weights, indices, offsets, mode, last, padding):
        ctx.save_for_backward(weight, per_sample_weights, indices, offsets)
        ctx.options = mode, last, padding
        return tables._embedding_bag(
            weight, indices, offsets, mode, per_sample_weights, last, padding, False
        )[0]

    @staticmethod
    def backward(ctx, grad):
        weight, weights, indices, offsets = ctx.saved_tensors
        mode, last, padding = ctx.options
        places = tables._bag_places(indices, offsets, last)
        by_row, flat = grad.index_select(0, places), indices.reshape(-1)
        sample_grad = None
        if weights is not None and ctx.needs_input_grad[1]:
            products = by_row * weight.detach().index_select(0, flat)
            sample_grad = products.sum(1).reshape(tuple(weights.shape))
            if padding >= 0:
                sample_grad = sample_grad * (indices != padding).to(sample_grad.dtype)
        if weights is not None:
            by_row = by_row * weights.detach().reshape(-1, 1)
        if mode == "mean":
            by_row = by_row * tables._bag_scale(flat, places, padding, grad)
        rows = _rows(flat._array, by_row, tuple(weight.shape), padding)
        return rows, sample_grad, None, None, None, None, None


def _check(name, scale_grad_by_freq):
    if scale_grad_by_freq:
        raise RuntimeError(f"{name}: scale_grad_by_freq not supported with sparse gradients")


def lookup(weight, indices, padding, scale_grad_by_freq):
    """``weight[indices]`` with a sparse gradient of `weight`."""
    _check("embedding_backward", scale_grad_by_freq)
    return _Lookup.apply(weight, indices, padding)


def bags(weight, indices, offsets, mode, per_sample_weights, last, padding, scale_grad_by_freq):
    """Bags of rows with a sparse gradient of `weight`."""
    if mode == "max":
        raise ValueError("max mode does not support sparse weights")
    _check("embedding_bag", scale_grad_by_freq)
    return _Bags.apply(weight, per_sample_weights, indices, offsets, mode, last, padding)
