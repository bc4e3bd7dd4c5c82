"""Pieces at another speed or pitch."""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.streaming.frames import FrameStream, InverseFrameStream
from rushlight_audio.streaming.resampling import ResampleStream
from rushlight_audio.streaming.streams import ChainStream, Stream, joined
from rushlight_audio.transforms.resample import Resample

__all__ = ["PitchStream", "StretchStream"]


class StretchStream(Stream):
    """:func:`rushlight_audio.functional.phase_vocoder` of complex frames that come in pieces
    ``[..., F, frames]``; a frame is given when the two that it lies between are there.

    Args:
        rate: above 1 is faster.
        phase_advance: ``[F, 1]``.
    """

    def __init__(self, rate: float, phase_advance: rl.Tensor) -> None:
        if rate <= 0:
            raise ValueError(f"StretchStream(): rate must be positive, got {rate}")
        self.rate, self.phase_advance = rate, phase_advance
        super().__init__()

    def _begin(self) -> None:
        self._buffer: Any = None
        self._phase: Any = None  # of the next frame, float64
        self._frames = self._dropped = self._given = 0

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        self._frames += piece.shape[-1]
        self._buffer = joined(self._buffer, piece)
        if self.rate == 1.0:
            found, self._buffer = self._buffer, self._buffer[..., :0]
            return found
        # Those between two frames that are there.
        steps = self._steps(math.ceil(self._frames / self.rate) + 1)
        return self._stretched(self._given + int((steps.long() + 1 < self._frames).sum()))

    def _finish(self) -> rl.Tensor:
        if self.rate == 1.0:
            return self._buffer
        self._buffer = F.pad(self._buffer, (0, 2))
        return self._stretched(math.ceil(self._frames / self.rate))

    def _steps(self, stop: int) -> rl.Tensor:
        """Where the next frames, up to number `stop`, are among those that came."""
        real = self._buffer.real.dtype
        return (rl.arange(self._given, stop, dtype=rl.float64) * self.rate).to(real)

    def _stretched(self, stop: int) -> rl.Tensor:
        """The frames up to number `stop`."""
        if stop <= self._given or not self._frames:
            return self._buffer[..., :0]
        steps = self._steps(stop)
        at = steps.long() - self._dropped
        kept = min(self._buffer.shape[-1] - 1, int(at.max()) + 1)
        one = self._buffer.index_select(-1, at.clamp(max=kept))
        other = self._buffer.index_select(-1, (at + 1).clamp(max=kept))
        turn = other.angle() - one.angle() - self.phase_advance
        turn = turn - 2 * math.pi * rl.round(turn / (2 * math.pi)) + self.phase_advance
        if self._phase is None:
            self._phase = self._buffer[..., :1].angle().double()
        phases = rl.cat([self._phase, self._phase + turn.double().cumsum(-1)], -1)
        self._phase = phases[..., -1:]
        share = steps % 1.0
        magnitude = share * other.abs() + (1 - share) * one.abs()
        drop = min(max(int(stop * self.rate) - 1 - self._dropped, 0), self._buffer.shape[-1])
        self._buffer, self._dropped = self._buffer[..., drop:], self._dropped + drop
        self._given = stop
        return rl.polar(magnitude, phases[..., :-1].to(steps.dtype))


class PitchStream(Stream):
    """:func:`rushlight_audio.functional.pitch_shift` of pieces ``[..., T]``.

    Args:
        sample_rate: samples per second.
        rate: how much slower the sound is made before it is played faster.
        sizes: `n_fft`, `hop_length` and `win_length`.
        window: ``[win_length]``.
    """

    def __init__(
        self, sample_rate: int, rate: float, sizes: dict[str, Any], window: rl.Tensor
    ) -> None:
        bins = sizes["n_fft"] // 2 + 1
        turn = math.pi * sizes["hop_length"]
        advance = rl.linspace(0, turn, bins, dtype=window.dtype, device=window.device)

        def frames(waveform: rl.Tensor) -> rl.Tensor:
            rows = waveform.reshape(math.prod(waveform.shape[:-1]), waveform.shape[-1])
            found = rl.stft(rows, window=window, center=False, return_complex=True, **sizes)
            return found.reshape(*waveform.shape[:-1], *found.shape[-2:])

        self.rate = rate
        self.stretched = ChainStream(
            [
                FrameStream(frames, sizes["n_fft"], sizes["hop_length"]),
                StretchStream(rate, advance.unsqueeze(-1)),
                InverseFrameStream(window, sizes["n_fft"], sizes["hop_length"], cut=False),
            ]
        )
        rates = int(sample_rate / rate), sample_rate
        self.resampled = ResampleStream(Resample(*rates, dtype=window.dtype).to(window.device))
        super().__init__()

    def _begin(self) -> None:
        self.stretched.reset()
        self.resampled.reset()
        self._length = self._stretched = self._given = 0

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        self._length += piece.shape[-1]
        return self._shifted(self.stretched.push(piece))

    def _shifted(self, sound: rl.Tensor) -> rl.Tensor:
        # No more than the whole would be cut to.
        sound = sound[..., : max(round(self._length / self.rate) - self._stretched, 0)]
        self._stretched += sound.shape[-1]
        found = self.resampled.push(sound)[..., : self._length - self._given]
        self._given += found.shape[-1]
        return found

    def _finish(self) -> rl.Tensor:
        sound = self.stretched.finish()
        missing = round(self._length / self.rate) - self._stretched
        sound = F.pad(sound, (0, missing - sound.shape[-1]))
        rest = rl.cat([self.resampled.push(sound), self.resampled.finish()], -1)
        return F.pad(rest, (0, self._length - self._given - rest.shape[-1]))
