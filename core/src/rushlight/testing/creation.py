"""`make_tensor`: tensors of random values for tests."""

from __future__ import annotations

import math

import rushlight
from rushlight.dtypes import bool_
from rushlight.dtypes import dtype as dtype_class


def make_tensor(
    *shape,
    dtype,
    device,
    low=None,
    high=None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format=None,
):
    """A tensor of values drawn evenly from ``[low, high)``.

    The bounds are by default 0 and 2 for bools, 0 and 10 for unsigned integers, -9 and 10 for
    signed ones, -9 and 9 for floats and the parts of complex numbers. `noncontiguous` leaves gaps
    between the elements of the last dimension; `exclude_zero` replaces zeros by the smallest
    normal number, or by one.

    >>> rushlight.testing.make_tensor(2, 3, dtype=rushlight.int8, device="cpu").shape
    rushlight.Size([2, 3])
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    if not isinstance(dtype, dtype_class):
        raise TypeError(f"make_tensor: expected 'dtype' to be a dtype, got {type(dtype).__name__}")
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    floating = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not floating:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"dtype={dtype!r}"
        )
    low, high = _bounds(dtype, floating, low, high)
    drawn = (*shape[:-1], 2 * shape[-1]) if noncontiguous and math.prod(shape) > 1 else shape
    if dtype.is_complex:
        parts = [_floats(drawn, dtype.to_real(), device, low, high) for _ in range(2)]
        result = rushlight.complex(*parts)
    elif floating:
        result = _floats(drawn, dtype, device, low, high)
    else:
        result = rushlight.randint(low, high, drawn, device=device).to(dtype)
    if len(drawn) and drawn != shape:
        result = result[..., ::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        smallest = rushlight.finfo(dtype).tiny if floating else 1
        result = rushlight.where(result == 0, smallest, result)
    return result.requires_grad_() if requires_grad else result


def _bounds(dtype, floating, low, high):
    defaults = (-9, 9) if floating else (0, 2) if dtype is bool_ else (0, 10)
    if not floating and dtype.is_signed:
        defaults = (-9, 10)
    low, high = (given if given is not None else d for given, d in zip((low, high), defaults,
                                                                       strict=True))  # fmt: skip
    if any(isinstance(v, float) and math.isnan(v) for v in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low > high or (low == high and not floating):
        raise ValueError(
            f"make_tensor: expected `low` to be less than `high`, but got low={low!r} and "
            f"high={high!r}"
        )
    limits = rushlight.finfo(dtype) if floating else None
    if floating:
        return max(low, limits.min), min(high, limits.max)
    least, most = (0, 1) if dtype is bool_ else (rushlight.iinfo(dtype).min,
                                                 rushlight.iinfo(dtype).max)  # fmt: skip
    if low > most or high < least:
        raise ValueError(f"make_tensor: the interval from {low!r} to {high!r} holds no {dtype}")
    return math.ceil(max(low, least)), math.ceil(min(high, most + 1))


def _floats(shape, dtype, device, low, high):
    wide = rushlight.rand(shape, dtype=rushlight.float64)
    return (low + wide * (float(high) - float(low))).to(dtype).to(device)
