"""Resampling of pieces."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight_audio.streaming.streams import Stream, joined
from rushlight_audio.transforms.resample import Resample

__all__ = ["ResampleStream"]


class ResampleStream(Stream):
    """A :class:`rushlight_audio.transforms.Resample` of pieces ``[..., T]``.

    An output is given when all samples within the filter's width are there: the delay is some
    samples of the lower rate.

    Args:
        transform: the transform.
    """

    def __init__(self, transform: Resample) -> None:
        self.transform = transform
        self.filters = transform._filters
        # Whole turns of the rates that stand before the first output of a computation, whose
        # samples come too near to the beginning of what is kept.
        self.before = -(-self.filters.width // self.filters.orig) + 1
        super().__init__()

    def _begin(self) -> None:
        self._buffer: Any = None
        self._dropped = 0  # turns of samples that are no longer kept
        self._given = 0  # outputs
        self._length = 0  # samples

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        self._buffer = joined(self._buffer, piece)
        self._length += piece.shape[-1]
        orig, new, width = self.filters.orig, self.filters.new, self.filters.width
        if orig == new:
            return self._taken(self._length)
        # The last output, all of whose samples are there.
        ready = ((self._length - width - 1) * new) // orig
        return self._taken(max(ready, self._given))

    def _finish(self) -> rl.Tensor:
        return self._taken(self.filters.target(self._length))

    def _taken(self, stop: int) -> rl.Tensor:
        """Outputs up to `stop`; samples that no later one sees are dropped."""
        orig, new = self.filters.orig, self.filters.new
        first = self._dropped * new
        if stop > self._given:
            found = self.transform(self._buffer)[..., self._given - first : stop - first]
        else:
            found = self._buffer[..., :0]
        self._given = stop
        drop = max(stop // new - self.before - self._dropped, 0)
        self._buffer = self._buffer[..., drop * orig :]
        self._dropped += drop
        return found
