"""Convolution of signals, and what is built of sums of signals."""

from __future__ import annotations

import math

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.functional.checks import from_rows, in_rows
from rushlight_audio.functional.recursion import lfilter
from rushlight_audio.functional.resample import resample

__all__ = ["add_noise", "convolve", "deemphasis", "fftconvolve", "preemphasis", "speed"]

MODES = ("full", "valid", "same")


def fftconvolve(x: rl.Tensor, y: rl.Tensor, mode: str = "full") -> rl.Tensor:
    """The convolution along the last dimension, by Fourier transforms: for long signals.

    Args:
        x: ``[..., N]``.
        y: ``[..., M]``, leading dimensions broadcast with those of `x`.
        mode: ``"full"``: all N + M - 1 sums; ``"valid"``: those that no end is missing for;
            ``"same"``: the N in the middle.

    Returns:
        ``[..., L]``.
    """
    _require_pair("fftconvolve", x, y, mode)
    count = x.shape[-1] + y.shape[-1] - 1
    size = fast_size(count)
    product = rl.fft.rfft(x, n=size) * rl.fft.rfft(y, n=size)
    return _cut(rl.fft.irfft(product, n=size)[..., :count], x.shape[-1], y.shape[-1], mode)


def fast_size(count: int) -> int:
    """The next size without prime factors above 5: transforms of such sizes are fast."""
    best = _power_of_two(count)
    fives = 1
    while fives < best:
        odd = fives
        while odd < best:
            best = min(best, odd * _power_of_two(-(-count // odd)))
            odd *= 3
        fives *= 5
    return best


def _power_of_two(least: int) -> int:
    """The next one; scripts know no `bit_length`."""
    return 1 << math.frexp(float(least - 1))[1]


def convolve(x: rl.Tensor, y: rl.Tensor, mode: str = "full") -> rl.Tensor:
    """The convolution along the last dimension, by its definition: for short signals.

    The arguments are those of :func:`fftconvolve`.
    """
    _require_pair("convolve", x, y, mode)
    first, second = x.shape[-1], y.shape[-1]
    if x.shape[:-1] != y.shape[:-1]:
        shape: list[int] = []
        for a, b in zip(x.shape[:-1], y.shape[:-1]):  # noqa: B905 - scripts know no strict=
            shape.append(a if b == 1 else b)
        x, y = x.expand(shape + [first]), y.expand(shape + [second])
    leading = x.shape[:-1]
    one, other = in_rows(x).unsqueeze(0), in_rows(y).unsqueeze(1)
    rows = other.shape[0]
    if rows == 0:
        return _cut(x.new_zeros(list(leading) + [first + second - 1]), first, second, mode)
    if first < second:
        one, other = other.transpose(0, 1), one.transpose(0, 1)
    found = F.conv1d(one, other.flip(-1), padding=other.shape[-1] - 1, groups=rows)
    return _cut(from_rows(found.squeeze(0), leading), first, second, mode)


def _require_pair(op: str, x: rl.Tensor, y: rl.Tensor, mode: str) -> None:
    if mode not in MODES:
        raise ValueError(f"{op}(): mode must be one of {MODES}, got {mode!r}")
    if x.dim() != y.dim():
        raise ValueError(
            f"{op}(): x and y must have as many dimensions, got {list(x.shape)} and {list(y.shape)}"
        )
    if x.dim() == 0 or x.shape[-1] == 0 or y.shape[-1] == 0:
        raise ValueError(
            f"{op}(): x and y must have samples, got {list(x.shape)} and {list(y.shape)}"
        )
    for a, b in zip(x.shape[:-1], y.shape[:-1]):  # noqa: B905 - scripts know no strict=
        if a != b and a != 1 and b != 1:
            raise ValueError(
                f"{op}(): leading dimensions of x and y cannot be broadcast, got {list(x.shape)} "
                f"and {list(y.shape)}"
            )


def _cut(full: rl.Tensor, first: int, second: int, mode: str) -> rl.Tensor:
    if mode == "full":
        return full
    length = first if mode == "same" else max(first, second) - min(first, second) + 1
    start = (full.shape[-1] - length) // 2
    return full[..., start : start + length]


def add_noise(
    waveform: rl.Tensor,
    noise: rl.Tensor,
    snr: rl.Tensor,
    lengths: rl.Tensor | None = None,
) -> rl.Tensor:
    """A waveform with noise, at a ratio of their energies.

    Args:
        waveform: ``[..., T]``.
        noise: ``[..., T]``.
        snr: ``[...]``, the ratio of signal to noise in decibels.
        lengths: ``[...]``, how many samples count; all by default.

    Returns:
        ``[..., T]``.
    """
    leading = waveform.dim() - 1
    dims = (noise.dim() - 1, snr.dim(), leading if lengths is None else lengths.dim())
    if any(each != leading for each in dims):
        raise ValueError(
            "add_noise(): leading dimensions must agree, got "
            f"{list(waveform.shape)}, {list(noise.shape)} and snr {list(snr.shape)}"
        )
    if waveform.shape[-1] != noise.shape[-1]:
        raise ValueError(
            f"add_noise(): waveform and noise must have one length, got {waveform.shape[-1]} and "
            f"{noise.shape[-1]}"
        )
    signal, other = waveform.square(), noise.square()
    if lengths is not None:
        counted = rl.arange(waveform.shape[-1], device=lengths.device) < lengths.unsqueeze(-1)
        signal, other = signal * counted, other * counted
    ratio = 10 * (signal.sum(-1).log10() - other.sum(-1).log10())
    return rl.addcmul(waveform, 10 ** ((ratio - snr) / 20.0).unsqueeze(-1), noise)


def speed(
    waveform: rl.Tensor, orig_freq: int, factor: float, lengths: rl.Tensor | None = None
) -> tuple[rl.Tensor, rl.Tensor | None]:
    """A waveform played `factor` times as fast, its pitch going with it.

    Args:
        waveform: ``[..., T]``.
        orig_freq: its rate.
        factor: above 1 is faster.
        lengths: ``[...]``, how many samples of each count.

    Returns:
        the waveform ``[..., T']`` and the new lengths, None without `lengths`.
    """
    source, target = sped_rates(orig_freq, factor)
    found = resample(waveform, source, target)
    return found, None if lengths is None else sped_lengths(lengths, source, target)


def sped_rates(orig_freq: int, factor: float) -> tuple[int, int]:
    """The rates between which resampling changes the speed by `factor`."""
    source, target = int(factor * orig_freq), int(orig_freq)
    divisor = math.gcd(source, target)
    return source // divisor, target // divisor


def sped_lengths(lengths: rl.Tensor, source: int, target: int) -> rl.Tensor:
    """Lengths after resampling."""
    return rl.ceil(lengths * target / source).to(lengths.dtype)


def preemphasis(waveform: rl.Tensor, coeff: float = 0.97) -> rl.Tensor:
    """``y[n] = x[n] - coeff x[n-1]`` of ``[..., T]``: high frequencies raised."""
    later = rl.sub(waveform[..., 1:], waveform[..., :-1], alpha=coeff)
    return rl.cat([waveform[..., :1], later], -1)


def deemphasis(waveform: rl.Tensor, coeff: float = 0.97) -> rl.Tensor:
    """``y[n] = x[n] + coeff y[n-1]`` of ``[..., T]``, limited to [-1, 1]: :func:`preemphasis`
    undone."""
    a = rl.tensor([1.0, -coeff], dtype=waveform.dtype, device=waveform.device)
    b = rl.tensor([1.0, 0.0], dtype=waveform.dtype, device=waveform.device)
    return lfilter(waveform, a, b)
