"""Frames of a waveform as Kaldi cuts and weighs them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import rushlight as rl
import rushlight.nn.functional as F

__all__ = ["EPSILON", "WINDOWS", "Framing", "positive_log"]

EPSILON = 2.0**-23  # of float32: smaller sums count as this before a logarithm
HAMMING, HANNING, POVEY = "hamming", "hanning", "povey"
RECTANGULAR, BLACKMAN = "rectangular", "blackman"
WINDOWS = [HAMMING, HANNING, POVEY, RECTANGULAR, BLACKMAN]


def positive_log(values: rl.Tensor) -> rl.Tensor:
    """Logarithms, of :data:`EPSILON` at least."""
    return values.clamp(min=EPSILON).log()


@dataclass(frozen=True)
class Framing:
    """Settings of frames; times in milliseconds."""

    blackman_coeff: float
    dither: float
    energy_floor: float
    frame_length: float
    frame_shift: float
    preemphasis_coefficient: float
    raw_energy: bool
    remove_dc_offset: bool
    round_to_power_of_two: bool
    sample_frequency: float
    snip_edges: bool
    window_type: str

    @property
    def size(self) -> int:
        """Samples of a frame."""
        return int(self.sample_frequency * self.frame_length * 0.001)

    @property
    def shift(self) -> int:
        """Samples from a frame to the next."""
        return int(self.sample_frequency * self.frame_shift * 0.001)

    @property
    def padded(self) -> int:
        """Samples of a frame with the zeros behind it."""
        return 1 << (self.size - 1).bit_length() if self.round_to_power_of_two else self.size

    def channel(self, waveform: rl.Tensor, channel: int) -> rl.Tensor:
        """One channel of ``[channels, T]``; -1 is the first."""
        if waveform.dim() != 2:
            raise IndexError(
                f"expected a waveform of shape [channels, T], got {list(waveform.shape)}"
            )
        channel = max(channel, 0)
        _require(
            channel < waveform.shape[0], f"Invalid channel {channel} for size {waveform.shape[0]}"
        )
        samples = waveform[channel]
        _require(
            2 <= self.size <= len(samples),
            f"choose a window size {self.size} that is [2, {len(samples)}]",
        )
        _require(self.shift > 0, f"`window_shift` must be greater than 0, got {self.shift}")
        _require(self.padded % 2 == 0, f"the padded window size {self.padded} must be even")
        _require(
            0.0 <= self.preemphasis_coefficient <= 1.0,
            f"`preemphasis_coefficient` must be between [0,1], got {self.preemphasis_coefficient}",
        )
        return samples

    def windowed(self, samples: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """Frames ``[m, padded]`` ready to be transformed, and the logarithms of their energies
        ``[m]``."""
        frames = self._cut(samples)
        if self.dither != 0.0:
            noise = rl.randn(frames.shape, device=frames.device, dtype=frames.dtype)
            frames = frames + noise * self.dither
        if self.remove_dc_offset:
            frames = frames - frames.mean(1, keepdim=True)
        energy = self._energy(frames) if self.raw_energy else None
        if self.preemphasis_coefficient != 0.0:
            before = rl.cat([frames[:, :1], frames[:, :-1]], 1)
            frames = frames - self.preemphasis_coefficient * before
        frames = frames * self._window().to(frames.device, frames.dtype)
        if energy is None:
            energy = self._energy(frames)
        return F.pad(frames, (0, self.padded - self.size)), energy

    def _cut(self, samples: rl.Tensor) -> rl.Tensor:
        """Frames ``[m, size]``; without `snip_edges` as many as shifts, the ends mirrored."""
        if not self.snip_edges:
            count = (len(samples) + self.shift // 2) // self.shift
            before = self.size // 2 - self.shift // 2
            mirrored = samples.flip(0)
            if before > 0:
                samples = rl.cat([mirrored[-before:], samples, mirrored])
            else:
                samples = rl.cat([samples[-before:], mirrored])
            samples = samples[: (count - 1) * self.shift + self.size]
        return samples.unfold(0, self.size, self.shift)

    def _energy(self, frames: rl.Tensor) -> rl.Tensor:
        energy = positive_log(frames.square().sum(1))
        return energy if self.energy_floor == 0.0 else energy.clamp(min=math.log(self.energy_floor))

    def _window(self) -> rl.Tensor:
        if self.window_type not in WINDOWS:
            raise ValueError(f"Invalid window type {self.window_type!r}: one of {WINDOWS}")
        options: dict[str, Any] = {"periodic": False, "dtype": rl.float64}
        if self.window_type == RECTANGULAR:
            return rl.ones(self.size, dtype=rl.float64)
        if self.window_type == HAMMING:
            return rl.hamming_window(self.size, **options)
        if self.window_type == BLACKMAN:
            turn = 2 * math.pi / (self.size - 1) * rl.arange(self.size, dtype=rl.float64)
            first = self.blackman_coeff - 0.5 * rl.cos(turn)
            return first + (0.5 - self.blackman_coeff) * rl.cos(2 * turn)
        hann = rl.hann_window(self.size, **options)
        return hann if self.window_type == HANNING else hann.pow(0.85)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)
