"""Keys and values of decoders, kept between steps in buffers that are made once."""

from __future__ import annotations

from typing import Any

import rushlight as rl

__all__ = ["KeyValueCache"]


class KeyValueCache:
    """Keys and values of every layer for up to `length` positions.

    Args:
        layers, batch, heads, length, size: of the buffers ``[batch, heads, length, size]``.
        dtype, device: of the buffers.

    Attributes:
        used: positions that are filled.
    """

    def __init__(
        self,
        layers: int,
        batch: int,
        heads: int,
        length: int,
        size: int,
        dtype: rl.dtype = rl.float32,
        device: Any = None,
    ):
        shape = (batch, heads, length, size)
        self.keys = [rl.zeros(shape, dtype=dtype, device=device) for _ in range(layers)]
        self.values = [rl.zeros(shape, dtype=dtype, device=device) for _ in range(layers)]
        self.cross: list[tuple[rl.Tensor, rl.Tensor] | None] = [None] * layers
        self.length, self.used = length, 0

    def update(self, layer: int, key: rl.Tensor, value: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """Put the keys and values of new positions behind those that are there; all of them.

        The positions count as filled once :meth:`advance` says so: all layers begin at the same.
        """
        end = self.used + key.shape[2]
        if end > self.length:
            raise ValueError(f"the cache holds {self.length} positions, not {end}")
        self.keys[layer][:, :, self.used : end] = key
        self.values[layer][:, :, self.used : end] = value
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]

    def advance(self, count: int) -> None:
        """Count new positions as filled."""
        self.used += count

    def crop(self, length: int) -> None:
        """Forget all positions but the first `length`, where more are filled."""
        self.used = min(self.used, length)

    def reorder(self, rows: rl.Tensor) -> None:
        """Take other rows of the batch, as beams do."""
        for buffers in (self.keys, self.values):
            for place, buffer in enumerate(buffers):
                buffers[place] = buffer.index_select(0, rows)
        self.cross = [
            None if pair is None else (pair[0].index_select(0, rows), pair[1].index_select(0, rows))
            for pair in self.cross
        ]
