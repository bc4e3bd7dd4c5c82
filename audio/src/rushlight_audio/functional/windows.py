"""Window functions: sums of cosines."""

from __future__ import annotations

import math

import rushlight as rl

__all__ = ["blackman_window", "hamming_window", "hann_window"]


def hann_window(
    window_length: int, periodic: bool = True, *, dtype: rl.dtype = rl.float32
) -> rl.Tensor:
    """``0.5 - 0.5 cos(2 pi n / N)`` for n below `window_length`.

    N is `window_length`, or one less where `periodic` is False, which makes the window symmetric.
    Like the other windows it is computed in float64 and then rounded to `dtype`.
    """
    return _cosine_sum("hann_window", window_length, periodic, (0.5, -0.5), dtype)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: rl.dtype = rl.float32,
) -> rl.Tensor:
    """``alpha - beta cos(2 pi n / N)``; N as in :func:`hann_window`."""
    return _cosine_sum("hamming_window", window_length, periodic, (alpha, -beta), dtype)


def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: rl.dtype = rl.float32
) -> rl.Tensor:
    """``0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)``; N as in :func:`hann_window`."""
    return _cosine_sum("blackman_window", window_length, periodic, (0.42, -0.5, 0.08), dtype)


def _cosine_sum(
    name: str, length: int, periodic: bool, weights: tuple[float, ...], dtype: rl.dtype
) -> rl.Tensor:
    if length < 0:
        raise ValueError(f"{name}(): window_length must not be negative, got {length}")
    if length == 1:
        return rl.ones(1, dtype=dtype)
    period = length if periodic else length - 1
    angle = rl.arange(length, dtype=rl.float64) * (2 * math.pi / max(period, 1))
    window = rl.zeros(length, dtype=rl.float64)
    for order, weight in enumerate(weights):
        window = window + weight * rl.cos(order * angle)
    return window.to(dtype)
