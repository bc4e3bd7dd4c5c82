"""Masks of what lies behind the end of sequences in a padded batch."""

from __future__ import annotations

import rushlight as rl

__all__ = ["padding_mask"]


def padding_mask(lengths: rl.Tensor, size: int | None = None) -> rl.Tensor:
    """True where a position is padding: ``[B, T]`` of lengths ``[B]``.

    T is `size`, by default the greatest length.
    """
    size = int(lengths.max()) if size is None else size
    return rl.arange(size, device=lengths.device).unsqueeze(0) >= lengths.unsqueeze(1)
