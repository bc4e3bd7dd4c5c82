"""T5's buckets of relative positions."""

from __future__ import annotations

import math

import rushlight as rl

__all__ = ["relative_buckets"]


def relative_buckets(
    query_length: int,
    key_length: int,
    bidirectional: bool,
    num_buckets: int = 32,
    max_distance: int = 128,
    device: rl.device | None = None,
) -> rl.Tensor:
    """The bucket of each pair of positions, int64 ``[Q, K]``; queries are the last of the keys.

    Half of the buckets hold one distance each, the others are spaced logarithmically up to
    `max_distance`. With `bidirectional` keys before and after the query have buckets of their own;
    without it those after it count as distance zero.

    Reference: Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
    Transformer" (JMLR 2020).
    """
    queries = rl.arange(key_length - query_length, key_length, device=device)
    offset = rl.arange(key_length, device=device)[None, :] - queries[:, None]
    base = rl.zeros_like(offset)
    if bidirectional:
        num_buckets //= 2
        base = (offset > 0).long() * num_buckets
        distance = offset.abs()
    else:
        distance = (-offset).clamp(min=0)
    exact = num_buckets // 2
    scale = (num_buckets - exact) / math.log(max_distance / exact)
    far = exact + ((distance.float().clamp(min=1) / exact).log() * scale).long()
    return base + rl.where(distance < exact, distance, far.clamp(max=num_buckets - 1))
