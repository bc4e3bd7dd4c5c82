"""A convolution's weights with the batch normalization behind it."""

from __future__ import annotations

from rushlight.kernels.normalization.folded import folded
from rushlight.ops._calls.direct import arrays_of, tensors_of, unrecorded
from rushlight.ops.neural.normalization import RECTIFIED

__all__ = ["folded_weights"]


def folded_weights(input, weight, bias, mean, var, gamma, beta, eps):
    """``(weight, bias)`` of a convolution of `input` that takes the batch normalization behind it
    along; None where something is recorded, or not dense and of one dtype."""
    dtype = input._dtype
    if mean is None or var is None or dtype.code not in RECTIFIED:
        return None
    taking_part = weight, bias, mean, var, gamma, beta
    if not unrecorded(input, *taking_part):
        return None
    for tensor in taking_part:
        if tensor is not None and tensor._dtype is not dtype:
            return None
    return tensors_of(folded(*arrays_of(*taking_part), eps))
