"""The constant-Q transform: as many periods in every filter. (Brown and Puckette, 1992.)

Filters of one octave are applied together, in the frequency domain of frames as long as the longest
of them; nothing is resampled, so the result is that of the definition.
"""

from __future__ import annotations

import math

import rushlight as rl
import rushlight.nn.functional as F
from rushlight import nn
from rushlight_audio.functional.checks import in_rows, require_waveform

__all__ = ["ConstantQ"]

C1 = 32.70319566257483  # Hz
_BLOCK = 1 << 21  # samples of frames that are transformed together


class ConstantQ(nn.Module):
    """The constant-Q transform of a waveform ``[..., T]``: complex ``[..., n_bins, frames]``.

    Frame t is around sample ``t * hop_length``; there are ``1 + T // hop_length``. A sine wave of
    amplitude 1 at the frequency of a bin gives a magnitude of 1/2 there, or with `scale` that times
    the root of the filter's length, as librosa's ``cqt``.

    Args:
        sample_rate: samples per second.
        hop_length: distance between frames.
        f_min: frequency of the lowest bin in Hz.
        n_bins: how many bins.
        bins_per_octave: how many in an octave.
        filter_scale: length of the filters; below 1 is sharper in time.
        scale: multiply by the roots of the filters' lengths.

    Example:
        >>> tone = rl.sin(2 * rl.pi * 440 * rl.arange(22050) / 22050)
        >>> int(ConstantQ(22050)(tone).abs()[:, 20].argmax())  # 45 half tones above C1
        45
    """

    def __init__(
        self,
        sample_rate: int = 22050,
        hop_length: int = 512,
        f_min: float = C1,
        n_bins: int = 84,
        bins_per_octave: int = 12,
        filter_scale: float = 1.0,
        scale: bool = True,
    ):
        super().__init__()
        top = f_min * 2.0 ** ((n_bins - 1) / bins_per_octave)
        ratio = 2.0 ** (2.0 / bins_per_octave)
        quality = filter_scale * (ratio + 1) / (ratio - 1)
        if not 0 < f_min < top * (1 + 0.5 / quality) < sample_rate / 2:
            raise ValueError(
                f"ConstantQ(): bins from {f_min} to {top:.1f} Hz must be within half the "
                f"sample_rate {sample_rate}"
            )
        self.sample_rate = sample_rate
        self.hop_length = hop_length
        self.f_min = f_min
        self.n_bins = n_bins
        self.bins_per_octave = bins_per_octave
        frequencies = [f_min * 2.0 ** (k / bins_per_octave) for k in range(n_bins)]
        self.lengths = [quality * sample_rate / each for each in frequencies]
        self.sizes: list[int] = []
        for group, first in enumerate(range(0, n_bins, bins_per_octave)):
            bins = range(first, min(first + bins_per_octave, n_bins))
            size = 2 ** math.ceil(math.log2(self.lengths[first]))
            rows = [self._filter(frequencies[k], self.lengths[k], size, scale) for k in bins]
            spectra = rl.fft.fft(rl.stack(rows)).conj().resolve_conj()[:, : size // 2 + 1]
            self.register_buffer(f"filters_{group}", (spectra / size).T.to(rl.complex64))
            self.sizes.append(size)

    def _filter(self, frequency: float, length: float, size: int, scale: bool) -> rl.Tensor:
        """A windowed sinusoid, its middle at ``size // 2``, complex128."""
        time = rl.arange(math.ceil(-length / 2), math.ceil(length / 2), dtype=rl.float64)
        window = rl.hann_window(len(time), dtype=rl.float64)
        window = window / window.sum() * (math.sqrt(length) if scale else 1.0)
        wave = rl.polar(window, 2 * math.pi * frequency / self.sample_rate * time)
        before = size // 2 + int(time[0])
        return rl.cat([wave.new_zeros(before), wave, wave.new_zeros(size - before - len(wave))])

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """The transform; ends are filled up with zeros."""
        require_waveform("ConstantQ", waveform)
        rows = in_rows(waveform)
        count = 1 + rows.shape[-1] // self.hop_length
        found = []
        for group, size in enumerate(self.sizes):
            filters = getattr(self, f"filters_{group}")
            behind = max((count - 1) * self.hop_length + size // 2 - rows.shape[-1], 0)
            padded = F.pad(rows, (size // 2, behind))
            frames = padded.unfold(-1, size, self.hop_length)[:, :count]
            filters = filters.to(_complex(rows.dtype))
            # Of a real signal, frequencies below zero hardly pass a filter above zero.
            blocks = frames.split(max(_BLOCK // (size * max(len(rows), 1)), 1), 1)
            found.append(rl.cat([rl.matmul(rl.fft.rfft(each), filters) for each in blocks], 1))
        joined = rl.cat(found, -1).transpose(-1, -2)
        return joined.reshape(*waveform.shape[:-1], *joined.shape[-2:])


def _complex(dtype: rl.dtype) -> rl.dtype:
    return rl.complex128 if dtype is rl.float64 else rl.complex64
