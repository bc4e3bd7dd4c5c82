"""Linear filters with feedback."""

from __future__ import annotations

import math

from rushlight.ops.signal.recursive_filters import _recursive_filter, _varying_feedback
from rushlight.tensor.tensor import Tensor

__all__ = ["recursive_filter", "varying_feedback"]


def recursive_filter(x: Tensor, feedback: Tensor, forward: Tensor):
    """``feedback[0] y[n] = sum_k forward[k] x[n-k] - sum_{k>0} feedback[k] y[n-k]`` along the last
    dimension of `x`, which begins at rest.

    `x` is (..., T); the coefficients are (taps,), or (C, taps) for x (..., C, T), then one filter a
    channel. All three get gradients, by the transposed filter.

    >>> x = rushlight.tensor([1.0, 0.0, 0.0])
    >>> rushlight.signal.recursive_filter(x, rushlight.tensor([1.0, -0.5]), rushlight.tensor([1.0]))
    tensor([1.0000, 0.5000, 0.2500])
    """
    _check_filter(x, feedback, forward)
    channels = feedback.shape[0] if feedback.dim() == 2 else 1
    count = math.prod(x.shape[: x.dim() - feedback.dim()])
    rows = x.reshape(count, channels, x.shape[-1])
    feedback, forward = feedback.reshape(channels, -1), forward.reshape(channels, -1)
    first = feedback[:, :1]
    return _recursive_filter(rows, feedback / first, forward / first).reshape(x.shape)


def _check_filter(x, feedback, forward):
    for name, value in (("feedback", feedback), ("forward", forward)):
        if value.dtype is not x.dtype or not x.is_floating_point():
            raise TypeError(
                f"recursive_filter: expected x and {name} of one floating-point dtype, got "
                f"{x.dtype} and {value.dtype}"
            )
        if value.dim() not in (1, 2) or value.dim() != feedback.dim() or not value.shape[-1]:
            raise ValueError(
                f"recursive_filter: expected coefficients (taps,) or (C, taps), got {name} of "
                f"shape {list(value.shape)}"
            )
        if value.dim() == 2 and (x.dim() < 2 or x.shape[-2] != value.shape[0]):
            raise ValueError(
                f"recursive_filter: {name} is for {value.shape[0]} channels, x has shape "
                f"{list(x.shape)}"
            )


def varying_feedback(x: Tensor, gains: Tensor, delays: Tensor):
    """``y[n] = x[n] + sum_k gains[n, k] y[n - delays[n, k]]``: feedback whose delays and gains
    change with time, as those of flangers and phasers.

    `x` is (..., C, T); `gains` and `delays` (C, T, K), whole delays of at least 1. All before the
    beginning is zero. `x` and `gains` get gradients.
    """
    if gains.shape != delays.shape or gains.dim() != 3 or gains.shape[:2] != x.shape[-2:]:
        raise ValueError(
            "varying_feedback: expected gains and delays (C, T, K) for x (..., C, T), got "
            f"{list(gains.shape)}, {list(delays.shape)} and {list(x.shape)}"
        )
    if delays.is_floating_point():
        raise ValueError("varying_feedback: delays must be whole numbers of at least 1")
    rows = x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])
    return _varying_feedback(rows, gains.to(x.dtype), delays.long(), False).reshape(x.shape)
