"""From a masked tensor to its parts and back, with gradients.

The gradient of a masked tensor is a masked tensor; that of a dense tensor in the midst of a graph
is a dense one, 0 where nothing counts, since its formulas compute on elements.
"""

from __future__ import annotations

from rushlight.autograd.function import Function

from .core import MaskedTensor, is_masked_tensor
from .layouts import with_values


class FromValues(Function):
    """The masked tensor of data and a mask."""

    @staticmethod
    def forward(ctx, data, mask):
        """The masked tensor."""
        ctx.is_leaf = data.is_leaf
        return MaskedTensor(data.detach(), mask)

    @staticmethod
    def backward(ctx, grad):
        """The gradient of the data."""
        return (grad if ctx.is_leaf else _dense(grad)), None


def _dense(grad):
    """A gradient for formulas that compute on elements."""
    return grad.to_tensor(0) if is_masked_tensor(grad) else grad


class Values(Function):
    """The values of a sparse masked tensor."""

    @staticmethod
    def forward(ctx, input):
        """The values of the data."""
        ctx.input = input._masked_data, input._masked_mask
        return input._masked_data.values().detach()

    @staticmethod
    def backward(ctx, grad):
        """The gradient, at the indices of the input."""
        data, mask = ctx.input
        return MaskedTensor._holding(with_values(data, grad), mask)
