"""From a masked tensor to its parts and back, with gradients.

The gradient of a masked tensor is a masked tensor, and so is that of the data that it was made of.
Inside of a reduction the gradient is dense, 0 where nothing counts: its formulas compute on arrays.
"""

from __future__ import annotations

from rushlight.autograd.function import Function

from .core import MaskedTensor, is_masked_tensor
from .layouts import with_values


class FromValues(Function):
    """The masked tensor of data and a mask."""

    @staticmethod
    def forward(ctx, data, mask):
        """The masked tensor, of copies."""
        return MaskedTensor(data.detach(), mask)

    @staticmethod
    def backward(ctx, grad):
        """The gradient as it is."""
        return grad, None


class Result(Function):
    """The masked tensor of what was computed of a masked tensor's data."""

    @staticmethod
    def forward(ctx, data, mask):
        """The masked tensor."""
        return MaskedTensor._holding(data.detach(), mask)

    @staticmethod
    def backward(ctx, grad):
        """The gradient of the data, dense."""
        return (grad.to_tensor(0) if is_masked_tensor(grad) else grad), None


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
