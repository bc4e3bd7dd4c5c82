"""``where``: data and mask of one tensor where a condition holds, of the other elsewhere."""

from __future__ import annotations

from rushlight.autograd.function import Function
from rushlight.ops.creation.tensors import tensor
from rushlight.ops.elementwise.comparison import where
from rushlight.tensor.tensor import Tensor

from .core import MaskedTensor, is_masked_tensor
from .tables import for_ops, instead_of


class _Where(Function):
    """The choice; an element that was not chosen does not count in the gradient, nor does one in
    the result whose condition is masked out."""

    @staticmethod
    def forward(ctx, condition, input, other):
        condition, counted = _parts(condition)
        ctx.condition = condition
        ctx.kinds = type(input), type(other)
        return _chosen(condition, input, other, counted)

    @staticmethod
    def backward(ctx, grad):
        chosen = (ctx.condition, ~ctx.condition)
        grads = (_share(grad, *given) for given in zip(chosen, ctx.kinds, strict=True))
        return None, *grads


def _chosen(condition, input, other, counted=True):
    (data, mask), (other_data, other_mask) = map(_parts, (input, other))
    mask = where(condition, mask, other_mask) & counted
    return MaskedTensor._holding(where(condition, data, other_data), mask)


def _parts(value):
    if is_masked_tensor(value):
        return value._masked_data, value._masked_mask
    return value, tensor(True)


def _share(grad, chosen, kind):
    """The part of a gradient where an operand of a type was chosen."""
    if not issubclass(kind, Tensor):
        return None
    data, mask = grad._masked_data, grad._masked_mask & chosen
    if issubclass(kind, MaskedTensor):
        return MaskedTensor._holding(data, mask)
    return data.masked_fill(~mask, 0)


@for_ops(where)
def _told(func, args, kwargs):
    return _chosen(*args, **kwargs)


@instead_of(where, Tensor.where)
def _where(condition, input, other):
    return _Where.apply(condition, input, other)
