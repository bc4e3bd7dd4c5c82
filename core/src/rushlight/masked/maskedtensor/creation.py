"""Masked tensors of data and a mask: leaves, and ones with the history of their data."""

from __future__ import annotations

from rushlight.tensor.tensor import Tensor

from .autograd_functions import FromValues
from .core import MaskedTensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """A :class:`MaskedTensor` that is a leaf, as :func:`rushlight.tensor` gives one.

    Args:
        data: the elements; they are copied, without history.
        mask: a bool tensor of the same shape and layout, True where an element counts.
        requires_grad: whether gradients are computed for it.

    Raises:
        TypeError: an argument is no tensor or a masked one, the layouts differ, or a dtype is not
            available.
        ValueError: the shapes differ.

    Example:
        >>> x = rushlight.tensor([1.0, float("nan"), 3.0])
        >>> rushlight.masked.masked_tensor(x, ~x.isnan()).mean()
        MaskedTensor(  2.0000, True)
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A :class:`MaskedTensor` with the history of `data`, whose gradient is a masked tensor.

    Args:
        data: the elements.
        mask: a bool tensor of the same shape and layout, True where an element counts.

    Raises:
        TypeError: an argument is no tensor or a masked one, the layouts differ, or a dtype is not
            available.
        ValueError: the shapes differ.

    Example:
        >>> x = rushlight.tensor([1.0, 2.0, 3.0], requires_grad=True)
        >>> rushlight.masked.as_masked_tensor(x, x > 1).square().sum().backward()
        >>> x.grad
        MaskedTensor(
          [      --,   4.0000,   6.0000]
        )
    """
    return FromValues.apply(data, mask)
