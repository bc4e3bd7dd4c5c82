"""Reductions and scans: those of :mod:`rushlight.masked`, of the data with the mask.

The result of a reduction is masked out where no element counted. The elements of a sparse tensor
can be reduced to one: its values are.
"""

from __future__ import annotations

from rushlight.masked import _ops
from rushlight.tensor.layout import strided
from rushlight.tensor.shape import contiguous_strides
from rushlight.tensor.tensor import Tensor

from .autograd_functions import Result, Values
from .core import Data
from .layouts import coordinates_of
from .tables import FUNCTIONS, instead_of


def _reduced(name, compute, input, dim, keepdim):
    """The masked tensor of ``compute(data, dim, mask)``."""
    dim = None if isinstance(dim, tuple | list) and not dim else dim
    if input.layout is strided:
        data, mask = Data.apply(input), input._masked_mask
    elif dim is None and not keepdim:
        data, mask = Values.apply(input), input._masked_mask.values()
    else:
        raise TypeError(
            f"{name}(): a MaskedTensor with the layout {input.layout!r} cannot be reduced over a "
            "dimension or with keepdim; use to_dense()"
        )
    counted = mask.any(tuple(range(mask.dim())) if dim is None else dim, keepdim)
    return Result.apply(compute(data, dim, mask), counted)


def _by_dim(masked):
    """A reduction over one dimension, several or all."""

    def reduce(input, dim=None, keepdim=False, *, dtype=None):
        def compute(data, dim, mask):
            return masked(data, dim, keepdim=keepdim, dtype=dtype, mask=mask)

        return _reduced(masked.__name__, compute, input, dim, keepdim)

    return reduce


def _position(masked):
    """The position of an extreme element, among all elements also of a sparse tensor."""

    def reduce(input, dim=None, keepdim=False):
        def compute(data, dim, mask):
            found = masked(data, dim, keepdim=keepdim, mask=mask)
            if input.layout is strided:
                return found
            at = coordinates_of(input._masked_data)[:, found.long()]
            return at.mul(at.new_tensor(contiguous_strides(input.shape))).sum().to(found.dtype)

        return _reduced(masked.__name__, compute, input, dim, keepdim)

    return reduce


def _spread(masked):
    """The variance or its root, which several dimensions, `unbiased` and `correction` are for."""

    def reduce(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
        if isinstance(dim, bool):  # var(unbiased)
            dim, unbiased = None, dim

        def compute(data, dim, mask):
            return masked(data, dim, unbiased, correction=correction, keepdim=keepdim, mask=mask)

        return _reduced(masked.__name__, compute, input, dim, keepdim)

    return reduce


def _along(masked):
    """A function along a dimension, whose result has the mask of the input."""

    def apply(input, dim, *, dtype=None):
        mask = input._masked_mask
        if input.layout is not strided:
            raise TypeError(
                f"{masked.__name__}(): not available for a MaskedTensor with the layout "
                f"{input.layout!r}; use to_dense()"
            )
        return Result.apply(masked(Data.apply(input), dim, dtype=dtype, mask=mask), mask)

    return apply


def _normalizing(masked):
    """As :func:`_along`, with the parameters of softmax."""
    apply = _along(masked)

    def normalize(input, dim=None, _stacklevel=3, dtype=None):
        if dim is None:
            raise TypeError(f"{masked.__name__}(): dim is needed for a MaskedTensor")
        return apply(input, dim, dtype=dtype)

    return normalize


_KINDS = {
    _by_dim: (_ops.sum, _ops.mean, _ops.prod, _ops.amax, _ops.amin, _ops.logsumexp),
    _position: (_ops.argmax, _ops.argmin),
    _spread: (_ops.var, _ops.std),
    _along: (_ops.cumsum, _ops.cumprod),
    _normalizing: (_ops.softmax, _ops.log_softmax),
}


def _register():
    for kind, members in _KINDS.items():
        for masked in members:
            FUNCTIONS[getattr(Tensor, masked.__name__)] = kind(masked)


_register()


@instead_of(Tensor.norm)
def _norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    order = 2.0 if p in (None, "fro") else p
    if isinstance(order, str):
        raise ValueError(f"norm(): p={p!r} is not available for a MaskedTensor; give a number")

    def compute(data, dim, mask):
        return _ops.norm(data, order, dim, keepdim=keepdim, dtype=dtype, mask=mask)

    return _reduced(_ops.norm.__name__, compute, input, dim, keepdim)


@instead_of(Tensor.all)
def _all(input, dim=None, keepdim=False):
    return _reduced("all()", _truth(Tensor.all, True, keepdim), input, dim, keepdim)


@instead_of(Tensor.any)
def _any(input, dim=None, keepdim=False):
    return _reduced("any()", _truth(Tensor.any, False, keepdim), input, dim, keepdim)


def _truth(function, neutral, keepdim):
    def compute(data, dim, mask):
        return function(data.masked_fill(~mask, neutral), dim, keepdim)

    return compute


@instead_of(Tensor.sum_to_size)
def _sum_to_size(input, *size):
    data = Data.apply(input).masked_fill(~input._masked_mask, 0).sum_to_size(*size)
    return Result.apply(data, input._masked_mask.long().sum_to_size(*size) > 0)
