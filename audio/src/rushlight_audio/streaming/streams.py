"""What all streams have in common, and the simplest ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import rushlight as rl

__all__ = ["ChainStream", "PointStream", "Stream"]


class Stream:
    """A transform that is given its input piece by piece along one dimension.

    ``push`` takes a piece and gives what can be given by now, which may be nothing (a tensor whose
    dimension of time is empty); ``finish`` gives the rest, and the stream may begin anew.
    """

    dim = -1  # the dimension of time of what comes in and of what goes out

    def __init__(self) -> None:
        self._pushed = False
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._pushed = False
        self._begin()

    def push(self, piece: rl.Tensor) -> rl.Tensor:
        """What follows from the next piece."""
        self._pushed = True
        return self._push(piece)

    def finish(self) -> rl.Tensor:
        """What follows from the end. RuntimeError where nothing was pushed."""
        if not self._pushed:
            raise RuntimeError(f"{type(self).__name__}.finish(): nothing was pushed")
        found = self._finish()
        self.reset()
        return found

    def run(self, pieces: Iterable[rl.Tensor]) -> rl.Tensor:
        """The result for all pieces together."""
        found = [self.push(piece) for piece in pieces]
        return rl.cat([*found, self.finish()], self.dim)

    def _begin(self) -> None:
        raise NotImplementedError

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        raise NotImplementedError

    def _finish(self) -> rl.Tensor:
        raise NotImplementedError


class PointStream(Stream):
    """A transform in which nothing depends on what comes before or after.

    Args:
        transform: from a piece to its result.
    """

    def __init__(self, transform: Callable[[rl.Tensor], rl.Tensor]) -> None:
        self.transform = transform
        super().__init__()

    def _begin(self) -> None:
        self._nothing: Any = None

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        found = self.transform(piece)
        self._nothing = found[..., :0]
        return found

    def _finish(self) -> rl.Tensor:
        return self._nothing


class ChainStream(Stream):
    """Streams one after the other.

    Args:
        streams: each gets what the one before gives.
    """

    def __init__(self, streams: Sequence[Stream]) -> None:
        if not streams:
            raise ValueError("ChainStream(): no streams")
        self.streams = list(streams)
        self.dim = self.streams[-1].dim
        super().__init__()

    def _begin(self) -> None:
        for each in self.streams:
            each.reset()

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        for each in self.streams:
            piece = each.push(piece)
        return piece

    def _finish(self) -> rl.Tensor:
        rest = self.streams[0].finish()
        for each in self.streams[1:]:
            rest = rl.cat([each.push(rest), each.finish()], each.dim)
        return rest


def joined(before: rl.Tensor | None, piece: rl.Tensor, dim: int = -1) -> rl.Tensor:
    """What was kept, and the next piece."""
    return piece if before is None else rl.cat([before, piece], dim)
