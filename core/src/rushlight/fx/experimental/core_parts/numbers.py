"""Numbers as tensors, the dtypes that parts compute in, and the mean or sum of a loss."""

from __future__ import annotations

import functools

from rushlight.dtypes import bfloat16, float16, float32
from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.inspection import result_type
from rushlight.library.operators import lookup
from rushlight.tensor.tensor import Tensor

_SHORT = (float16, bfloat16)
_MEAN, _SUM = 1, 2  # as ATen numbers reductions


def number(value, like, dtype=None):
    """A number as a tensor without dimensions, of the dtype and device of a tensor."""
    dtype = like.dtype if dtype is None else dtype
    return exact(lookup("aten").scalar_tensor.default, value, dtype=dtype, device=like.device)


def element(value, like):
    """A number, or a tensor, of the dtype of a tensor that it is written to."""
    if not isinstance(value, Tensor):
        return number(value, like)
    return value if value.dtype is like.dtype else value.to(like.dtype)


def filled(value, like):
    """The same, where core ATen graphs have it as ``full``."""
    return lookup("aten").full.default([], value, dtype=like.dtype, device=like.device)


def chosen(condition, left, right):
    """``where`` of tensors and numbers, which become tensors of the result's dtype."""
    if not isinstance(left, Tensor):
        left = number(left, right, result_type(left, right))
    elif not isinstance(right, Tensor):
        right = number(right, left, result_type(left, right))
    return lookup("aten").where.self(condition, left, right)


def scaled(input, factor):
    """A product with a number, as ``mul.Scalar``."""
    return exact(lookup("aten").mul.Scalar, input, factor)


def shifted(input, number):
    """A sum with a number, as ``add.Scalar``."""
    return exact(lookup("aten").add.Scalar, input, number)


def below(number, input):
    """A number less a tensor, as ``sub.Tensor``."""
    return exact(lookup("aten").sub.Tensor, number, input)


def totalled(input, dims=()):
    """The sum over dimensions; over all without any."""
    return lookup("aten").sum.dim_IntList(input, list(dims))


def reduced(loss, reduction):
    """A loss, or the mean or sum of it."""
    if reduction == _MEAN:
        return loss.mean()
    return totalled(loss) if reduction == _SUM else loss


def widened(function):
    """A function that computes in float32 on tensors of 16 bits, as the kernel of its op does, and
    gives their dtype."""

    @functools.wraps(function)
    def wide(input, *args, **kwargs):
        dtype = input.dtype
        if dtype not in _SHORT:
            return function(input, *args, **kwargs)
        args = [_wide(value) for value in args]
        kwargs = {name: _wide(value) for name, value in kwargs.items()}
        return function(input.to(float32), *args, **kwargs).to(dtype)

    return wide


def _wide(value):
    short = isinstance(value, Tensor) and value.dtype in _SHORT
    return value.to(float32) if short else value
