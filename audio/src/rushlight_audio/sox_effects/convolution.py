"""Convolution of sounds by FFT."""

from __future__ import annotations

import rushlight as rl

__all__ = ["convolved"]


def convolved(samples: rl.Tensor, taps: rl.Tensor, skip: int) -> rl.Tensor:
    """``[C, T]`` with ``[taps]``, as long as the sound, from `skip` on."""
    needed = samples.shape[1] + len(taps) - 1
    size = next(n << p for p in range(40) for n in (4, 5, 6) if n << p >= needed)
    product = rl.fft.rfft(samples, n=size) * rl.fft.rfft(taps, n=size)
    return rl.fft.irfft(product, n=size)[:, skip : skip + samples.shape[1]]
