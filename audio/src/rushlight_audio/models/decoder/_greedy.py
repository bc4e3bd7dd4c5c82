"""The best token of each frame."""

from __future__ import annotations

import itertools

import rushlight as rl
from rushlight import nn

__all__ = ["GreedyCTCDecoder"]


class GreedyCTCDecoder(nn.Module):
    """The best token of each frame, repetitions merged, blanks dropped.

    Args:
        labels: tokens in the order of the outputs.
        blank: number of the blank.

    >>> GreedyCTCDecoder("-ab")(rl.eye(3)[[1, 1, 0, 1, 2]])
    ['a', 'a', 'b']
    """

    def __init__(self, labels: str | list[str] | tuple[str, ...], blank: int = 0):
        super().__init__()
        self.labels = list(labels)
        self.blank = blank

    def forward(
        self, emission: rl.Tensor, lengths: rl.Tensor | None = None
    ) -> list[str] | list[list[str]]:
        """Tokens of outputs ``[T, N]``, or a list for each row of ``[B, T, N]``, of which the first
        `lengths` ``[B]`` frames count."""
        if emission.dim() == 2:
            return self._tokens(emission.argmax(-1).tolist())
        if emission.dim() != 3:
            raise ValueError(
                "GreedyCTCDecoder: expected outputs of shape [T, N] or [B, T, N], got "
                f"{list(emission.shape)}"
            )
        rows = emission.argmax(-1).tolist()
        sizes = [len(row) for row in rows] if lengths is None else lengths.tolist()
        return [self._tokens(row[:size]) for row, size in zip(rows, sizes, strict=True)]

    def _tokens(self, best: list[int]) -> list[str]:
        merged = [number for number, _ in itertools.groupby(best)]
        return [self.labels[number] for number in merged if number != self.blank]
