"""Frames of pieces: spectrograms and what is computed from them, and sound from frames."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.functional.checks import in_rows
from rushlight_audio.streaming.streams import Stream, joined

__all__ = ["FrameStream", "InverseFrameStream"]

_ENDS = ("reflect", "constant", "replicate")


class FrameStream(Stream):
    """Frames of a waveform that comes in pieces ``[..., T]``.

    The result has frames in its last dimension. A frame is given as soon as its last sample is
    there; those around the ends of the waveform are padded as the transform pads.

    Args:
        transform: gives the frames of a waveform without padding anything.
        n_fft: length of a frame.
        hop_length: distance between frames.
        pad: zeros put before and after the waveform.
        center: pad half a frame before and after.
        pad_mode: ``"reflect"``, ``"constant"`` or ``"replicate"``.
    """

    def __init__(
        self,
        transform: Callable[[rl.Tensor], rl.Tensor],
        n_fft: int,
        hop_length: int,
        pad: int = 0,
        center: bool = True,
        pad_mode: str = "reflect",
    ) -> None:
        if center and pad_mode not in _ENDS:
            raise NotImplementedError(
                f"FrameStream(): pad_mode {pad_mode!r} needs the end of the sound at its "
                f"beginning; use one of {_ENDS}"
            )
        self.transform = transform
        self.n_fft, self.hop_length = n_fft, hop_length
        self.pad, self.center, self.pad_mode = pad, center, pad_mode
        super().__init__()

    @property
    def _half(self) -> int:
        return self.n_fft // 2 if self.center else 0

    def _begin(self) -> None:
        self._buffer: Any = None
        self._ready = False  # whether the padding at the beginning is in the buffer
        self._skip = 0  # samples before the next frame, where frames are far apart

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        if self._buffer is None:
            piece = F.pad(piece, (self.pad, 0))
        buffer = joined(self._buffer, piece)
        if not self._ready and buffer.shape[-1] > self._half:
            buffer, self._ready = self._padded(buffer, (self._half, 0)), True
        self._buffer = buffer
        return self._frames(self._half + 1)

    def _finish(self) -> rl.Tensor:
        buffer = F.pad(self._buffer, (0, self.pad))
        if not self._ready:
            buffer = self._padded(buffer, (self._half, 0))
        self._buffer = self._padded(buffer, (0, self._half))
        return self._frames(0)

    def _padded(self, waveform: rl.Tensor, ends: tuple[int, int]) -> rl.Tensor:
        if not any(ends):
            return waveform
        rows = in_rows(waveform)
        found = F.pad(rows, ends, mode=self.pad_mode)
        return found.reshape(*waveform.shape[:-1], found.shape[-1])

    def _frames(self, kept: int) -> rl.Tensor:
        """The frames that the buffer holds; at least `kept` samples stay for the end's padding."""
        buffer = self._buffer[..., self._skip :]
        count = max((buffer.shape[-1] - self.n_fft) // self.hop_length + 1, 0) if self._ready else 0
        if not self._ready or not count:
            one = self.transform(buffer.new_zeros(*buffer.shape[:-1], self.n_fft))
            return one[..., :0]
        used = (count - 1) * self.hop_length + self.n_fft
        found = self.transform(buffer[..., :used])
        begin = self._skip + count * self.hop_length
        drop = max(min(begin, self._buffer.shape[-1] - kept), 0)
        self._buffer, self._skip = self._buffer[..., drop:], begin - drop
        return found


def without_padding(transform: rl.nn.Module, spectrogram: str = "") -> rl.nn.Module:
    """A copy of a transform whose spectrogram, the module of that name, pads nothing."""
    found = copy.deepcopy(transform)
    inner = found.get_submodule(spectrogram)
    inner.pad, inner.center = 0, False
    return found


class InverseFrameStream(Stream):
    """The waveform ``[..., T]`` of complex frames that come in pieces ``[..., F, frames]``: frames
    are added where they overlap, and a sample is given as soon as no later frame adds to it.

    Args:
        window: ``[win_length]``.
        n_fft: length of a frame.
        hop_length: distance between frames.
        scale: factor of all frames, the inverse of what the spectrogram was divided by.
        center: half a frame at both ends is no part of the waveform.
        onesided: whether mirrored frequencies were left out.
        cut: leave out the half frame behind the end, too.
    """

    def __init__(
        self,
        window: rl.Tensor,
        n_fft: int,
        hop_length: int,
        scale: float = 1.0,
        center: bool = True,
        onesided: bool = True,
        cut: bool = True,
    ) -> None:
        if center and 2 * hop_length > n_fft:
            raise NotImplementedError(
                f"InverseFrameStream(): hop_length {hop_length} must not exceed half of n_fft "
                f"{n_fft}"
            )
        before = (n_fft - len(window)) // 2
        self.window = F.pad(window, (before, n_fft - len(window) - before))
        self.n_fft, self.hop_length, self.scale = n_fft, hop_length, scale
        self.center, self.onesided, self.cut = center, onesided, cut
        super().__init__()

    def _begin(self) -> None:
        self._sums: Any = None
        self._weights: Any = None
        self._cut = self.n_fft // 2 if self.center else 0

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        given = piece.transpose(-1, -2) * self.scale
        frames = rl.fft.irfft(given, n=self.n_fft) if self.onesided else rl.fft.ifft(given).real
        window = self.window.to(frames.dtype)
        if self._sums is None or self._weights is None:
            self._sums = frames.new_zeros(*frames.shape[:-2], self.n_fft - self.hop_length)
            self._weights = frames.new_zeros(self.n_fft - self.hop_length)
        count = frames.shape[-2]
        sums = self._added(frames * window, self._sums)
        weights = self._added(window.square().expand(count, -1), self._weights)
        done = count * self.hop_length
        found = self._divided(sums[..., :done], weights[:done])
        self._sums, self._weights = sums[..., done:], weights[done:]
        return found

    def _added(self, frames: rl.Tensor, before: rl.Tensor) -> rl.Tensor:
        """Frames ``[..., count, n_fft]`` added where they overlap, to what earlier ones left."""
        count = frames.shape[-2]
        total = F.pad(before, (0, count * self.hop_length))
        if not count:
            return total
        rows = frames.reshape(-1, count, self.n_fft).transpose(1, 2)
        size = (count - 1) * self.hop_length + self.n_fft
        folded = F.fold(rows, (1, size), (1, self.n_fft), stride=(1, self.hop_length))
        return total + folded.reshape(*frames.shape[:-2], size)

    def _divided(self, sums: rl.Tensor, weights: rl.Tensor) -> rl.Tensor:
        """Samples by the sum of squared windows, without those before the beginning."""
        drop = min(self._cut, sums.shape[-1])
        self._cut -= drop
        tiny = 1e-11
        return (sums / weights.masked_fill(weights < tiny, 1.0))[..., drop:]

    def _finish(self) -> rl.Tensor:
        count = self._sums.shape[-1] - (self.n_fft // 2 if self.center and self.cut else 0)
        return self._divided(self._sums, self._weights)[..., : max(count, 0)]
