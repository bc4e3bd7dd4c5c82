"""Sounds at another speed or pitch."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn.parameter import UninitializedParameter
from rushlight_audio import functional as F
from rushlight_audio.functional.convolution import sped_lengths, sped_rates
from rushlight_audio.functional.phase import of_length, stretched_waveform
from rushlight_audio.functional.resample import apply_kernel, reduced_rates, sinc_kernel
from rushlight_audio.functional.sinc import SincFilter
from rushlight_audio.functional.sinc_sums import resample_by_sums
from rushlight_audio.transforms.resample import Resample

__all__ = ["PitchShift", "Speed", "SpeedPerturbation", "TimeStretch"]


class TimeStretch(nn.Module):
    """A complex spectrogram at another speed, pitches unchanged.

    Args:
        hop_length: distance between frames; half of the window ``n_freq - 1`` by default.
        n_freq: frequencies of the spectrogram.
        fixed_rate: the speed, where it is not given with each call.
    """

    def __init__(
        self,
        hop_length: int | None = None,
        n_freq: int = 201,
        fixed_rate: float | None = None,
    ):
        super().__init__()
        self.fixed_rate = fixed_rate
        hop = n_freq - 1 if hop_length is None else hop_length
        advance = rl.linspace(0, math.pi * hop, n_freq).unsqueeze(-1)
        self.register_buffer("phase_advance", advance)

    def forward(
        self, complex_specgrams: rl.Tensor, overriding_rate: float | None = None
    ) -> rl.Tensor:
        """The spectrogram ``[..., n_freq, ceil(frames / rate)]``."""
        if not complex_specgrams.is_complex():
            warnings.warn(
                f"TimeStretch: expected a complex spectrogram, got {complex_specgrams.dtype}",
                stacklevel=4,
            )
        rate = self.fixed_rate if overriding_rate is None else overriding_rate
        if rate is None:
            raise ValueError("TimeStretch: give fixed_rate, or a rate with the call")
        return F.phase_vocoder(complex_specgrams, rate, self.phase_advance)


def _filters(rates: tuple[int, int], dtype: rl.dtype) -> SincFilter:
    return SincFilter(*rates, 6, 0.99, "sinc_interp_hann", None, dtype)


class PitchShift(nn.Module):
    """The waveform ``[..., T]`` at another pitch: :func:`rushlight_audio.functional.pitch_shift`.

    The filter of the resampling is made with the first call, or comes with a state dict, and has
    gradients; where it would be large none is kept (see :class:`Resample`).

    Args:
        sample_rate: samples per second.
        n_steps: by how many steps up (or down, if negative).
        bins_per_octave: steps of an octave.
        n_fft: length of a frame.
        win_length: length of the window; `n_fft` by default.
        hop_length: distance between frames; ``win_length // 4`` by default.
        window_fn: gives the window of a length.
        wkwargs: further arguments of `window_fn`.
    """

    def __init__(
        self,
        sample_rate: int,
        n_steps: int,
        bins_per_octave: int = 12,
        n_fft: int = 512,
        win_length: int | None = None,
        hop_length: int | None = None,
        window_fn: Callable[..., rl.Tensor] = F.hann_window,
        wkwargs: dict[str, Any] | None = None,
    ):
        super().__init__()
        self.n_steps = n_steps
        self.bins_per_octave = bins_per_octave
        self.sample_rate = sample_rate
        self.n_fft = n_fft
        self.win_length = n_fft if win_length is None else win_length
        self.hop_length = self.win_length // 4 if hop_length is None else hop_length
        self.register_buffer("window", window_fn(self.win_length, **(wkwargs or {})))
        self.rate = 2.0 ** (-float(n_steps) / bins_per_octave)
        self.orig_freq = int(sample_rate / self.rate)
        self._rates = reduced_rates(self.orig_freq, sample_rate)
        if self.orig_freq != sample_rate and not _filters(self._rates, rl.float32).is_large:
            self.kernel: nn.Parameter = UninitializedParameter()

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        given = state.get(prefix + "kernel")
        if given is not None and not hasattr(self, "kernel"):
            state.pop(prefix + "kernel")  # a large one, which is not kept
        elif given is not None and isinstance(self.kernel, UninitializedParameter):
            self.kernel = nn.Parameter(rl.empty_like(given))
        super()._load_from_state_dict(state, prefix, *rest)

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """The waveform ``[..., T]``."""
        stretched = stretched_waveform(
            waveform, self.rate, self.n_fft, self.hop_length, self.win_length, self.window
        )
        if self.orig_freq != self.sample_rate:
            if not hasattr(self, "kernel"):
                stretched = self._summed(stretched)
            elif rl.jit.is_scripting():
                stretched = apply_kernel(stretched, self.kernel, self._rates[0], self._rates[1])
            else:
                stretched = self._convolved(stretched)
        return of_length(stretched, waveform.shape[-1])

    @rl.jit.ignore
    def _summed(self, stretched: rl.Tensor) -> rl.Tensor:
        """By a large filter, which scripts leave to Python."""
        return resample_by_sums(stretched, _filters(self._rates, stretched.dtype))

    def _convolved(self, stretched: rl.Tensor) -> rl.Tensor:
        if isinstance(self.kernel, UninitializedParameter):
            kernel = sinc_kernel(_filters(self._rates, stretched.dtype))[0]
            self.kernel = nn.Parameter(kernel.clone().to(stretched.device))
        return apply_kernel(stretched, self.kernel, *self._rates)


class Speed(nn.Module):
    """A waveform played `factor` times as fast: :func:`rushlight_audio.functional.speed`.

    Args:
        orig_freq: rate of the waveform.
        factor: above 1 is faster.
    """

    def __init__(self, orig_freq: int, factor: float) -> None:
        super().__init__()
        self.orig_freq = orig_freq
        self.factor = factor
        self.source_sample_rate, self.target_sample_rate = sped_rates(orig_freq, factor)
        self.resampler = Resample(self.source_sample_rate, self.target_sample_rate)

    def forward(
        self, waveform: rl.Tensor, lengths: rl.Tensor | None = None
    ) -> tuple[rl.Tensor, rl.Tensor | None]:
        """The waveform ``[..., T']`` and the new lengths, None without `lengths`."""
        found = self.resampler(waveform)
        if lengths is None:
            return found, None
        return found, sped_lengths(lengths, self.source_sample_rate, self.target_sample_rate)


class SpeedPerturbation(nn.Module):
    """A waveform at a speed drawn from several, for augmentation. (Ko et al., 2015.)

    Args:
        orig_freq: rate of the waveform.
        factors: the speeds.
    """

    def __init__(self, orig_freq: int, factors: Sequence[float]) -> None:
        super().__init__()
        self.speeders = nn.ModuleList([Speed(orig_freq, factor) for factor in factors])

    def forward(
        self, waveform: rl.Tensor, lengths: rl.Tensor | None = None
    ) -> tuple[rl.Tensor, rl.Tensor | None]:
        """The waveform and the new lengths, None without `lengths`."""
        drawn = int(rl.randint(len(self.speeders), ()))
        for number, speeder in enumerate(self.speeders):
            if number == drawn:
                waveform, lengths = speeder(waveform, lengths)
        return waveform, lengths
