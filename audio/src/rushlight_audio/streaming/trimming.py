"""Beginnings and ends of sounds that come in pieces: fades, and the silence before speech."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight_audio.functional.checks import in_rows
from rushlight_audio.functional.voice_activity import Detector, detector_of
from rushlight_audio.streaming.streams import Stream, joined
from rushlight_audio.transforms.levels import Fade
from rushlight_audio.transforms.voice_activity import Vad

__all__ = ["FadeStream", "VadStream"]


class FadeStream(Stream):
    """A :class:`rushlight_audio.transforms.Fade` of pieces ``[..., T]``: as late as its fade-out is
    long.

    Args:
        transform: the transform.
    """

    def __init__(self, transform: Fade) -> None:
        self.transform = transform
        super().__init__()

    def _begin(self) -> None:
        self._buffer: Any = None
        self._at = 0

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        self._buffer = joined(self._buffer, piece)
        ready = max(self._buffer.shape[-1] - self.transform.fade_out_len, 0)
        found, self._buffer = self._buffer[..., :ready], self._buffer[..., ready:]
        return self._rise(found) * found

    def _rise(self, piece: rl.Tensor) -> rl.Tensor:
        """The fade-in where the next piece stands."""
        begin, self._at = self._at, self._at + piece.shape[-1]
        count = self.transform.fade_in_len
        if begin >= count:
            return rl.ones(1, device=piece.device)
        return self.transform.curve(count, max(count, self._at), piece.device)[begin : self._at]

    def _finish(self) -> rl.Tensor:
        count, piece = self.transform.fade_out_len, self._buffer
        length = self._at + piece.shape[-1]
        if length < max(count, self.transform.fade_in_len):
            raise RuntimeError(
                f"FadeStream: a fade is longer than the waveform, which has {length} samples"
            )
        fall = self.transform.curve(count, count, piece.device).flip(0)
        return self._rise(piece) * fall * piece


class VadStream(Stream):
    """A :class:`rushlight_audio.transforms.Vad` of pieces ``[channels, T]`` or ``[T]``: nothing
    until speech begins, then all from where it began.

    Args:
        transform: the transform.
    """

    def __init__(self, transform: Vad) -> None:
        settings = dict(vars(transform))
        self.plan, self.level = detector_of(
            **{name: settings[name] for name in detector_of.__annotations__ if name in settings}
        )
        super().__init__()

    def _begin(self) -> None:
        self._detector: Detector | None = None
        self._buffer: Any = None
        self._dropped = 0
        self._triggered = False

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        self._nothing = piece[..., :0]
        if self._triggered:
            return piece
        self._buffer = joined(self._buffer, piece)
        rows = in_rows(self._buffer.detach()).cpu()
        if self._detector is None:
            self._detector = Detector(self.plan, self.level, rows.shape[0])
        begin = self._detector.begin(rows, self._dropped)
        if begin is not None:
            self._triggered = True
            found = self._buffer[..., max(begin - self._dropped, 0) :]
            self._buffer = None
            return found
        drop = max(self._buffer.shape[-1] - self.plan.kept, 0)
        self._buffer, self._dropped = self._buffer[..., drop:], self._dropped + drop
        return self._nothing

    def _finish(self) -> rl.Tensor:
        return self._nothing
