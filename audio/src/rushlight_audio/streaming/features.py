"""Features of frames that come in pieces."""

from __future__ import annotations

from typing import Any

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.functional import compute_deltas
from rushlight_audio.functional.checks import in_rows
from rushlight_audio.streaming.streams import Stream, joined
from rushlight_audio.transforms.features import ComputeDeltas, SlidingWindowCmn

__all__ = ["CmnStream", "DeltaStream"]


class DeltaStream(Stream):
    """A :class:`rushlight_audio.transforms.ComputeDeltas` of pieces, half a window late.

    Args:
        transform: the transform, of pieces ``[..., coefficients, frames]``; it pads by
            ``"replicate"`` or ``"constant"``.
    """

    def __init__(self, transform: ComputeDeltas) -> None:
        if transform.mode not in ("replicate", "constant"):
            raise NotImplementedError(
                f"DeltaStream(): mode {transform.mode!r} is not there; use 'replicate' or "
                "'constant'"
            )
        self.transform = transform
        self.reach = (transform.win_length - 1) // 2
        super().__init__()

    def _begin(self) -> None:
        self._buffer: Any = None

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        if self._buffer is None and piece.shape[-1]:
            piece = self._padded(piece, (self.reach, 0))
        self._buffer = joined(self._buffer, piece)
        return self._deltas()

    def _finish(self) -> rl.Tensor:
        self._buffer = self._padded(self._buffer, (0, self.reach))
        return self._deltas()

    def _padded(self, frames: rl.Tensor, ends: tuple[int, int]) -> rl.Tensor:
        rows = in_rows(frames)
        return F.pad(rows, ends, mode=self.transform.mode).reshape(*frames.shape[:-1], -1)

    def _deltas(self) -> rl.Tensor:
        """The slopes of all frames that have a whole window around them."""
        buffer, reach = self._buffer, self.reach
        if buffer.shape[-1] <= 2 * reach:
            return buffer[..., :0]
        self._buffer = buffer[..., buffer.shape[-1] - 2 * reach :]
        return compute_deltas(buffer, self.transform.win_length)[..., reach:-reach]


class CmnStream(Stream):
    """A :class:`rushlight_audio.transforms.SlidingWindowCmn` of pieces ``[..., frames, features]``;
    it waits for `min_cmn_window` frames at the beginning, or for half a window with `center`.

    Args:
        transform: the transform.
    """

    dim = -2

    def __init__(self, transform: SlidingWindowCmn) -> None:
        self.transform = transform
        super().__init__()

    def _begin(self) -> None:
        self._buffer: Any = None
        self._given = 0  # frames of the buffer that were given

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        self._buffer = joined(self._buffer, piece, -2)
        frames, size = self._buffer.shape[-2], self.transform.cmn_window
        if self.transform.center:
            ready = frames - (size - size // 2) + 1 if frames >= size else 0
        else:
            ready = frames if frames >= self.transform.min_cmn_window else 0
        return self._taken(max(ready, self._given))

    def _finish(self) -> rl.Tensor:
        return self._taken(self._buffer.shape[-2])

    def _taken(self, stop: int) -> rl.Tensor:
        """The frames up to `stop`, and a window of frames is kept."""
        if stop <= self._given:
            return self._buffer[..., :0, :]
        found = self.transform(self._buffer)[..., self._given : stop, :]
        drop = max(stop - 2 * self.transform.cmn_window, 0)
        self._buffer, self._given = self._buffer[..., drop:, :], stop - drop
        return found
