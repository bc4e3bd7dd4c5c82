"""How good rankings are."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["average_precision", "ndcg", "recall_at", "reciprocal_rank"]

Relevance = Sequence[float]


def reciprocal_rank(relevance: Relevance, k: int | None = None) -> float:
    """1 by the rank of the first relevant document; 0 without one. The mean over questions is MRR.

    Args:
        relevance: of the documents in their order; above 0 is relevant.
        k: look at the first so many.

    >>> reciprocal_rank([0, 0, 1, 1])
    0.3333333333333333
    """
    for rank, value in enumerate(relevance[:k], start=1):
        if value > 0:
            return 1 / rank
    return 0.0


def ndcg(relevance: Relevance, k: int | None = None, *, exponential: bool = False) -> float:
    """Discounted gain, by that of the best order (Järvelin and Kekäläinen 2002).

    Args:
        relevance: of all documents in their order.
        k: look at the first so many.
        exponential: a document's gain is ``2 ** relevance - 1`` instead of its relevance.

    >>> round(ndcg([3, 2, 3, 0, 1, 2]), 4)
    0.9608
    """
    gains = [2.0**value - 1 if exponential else float(value) for value in relevance]
    best = _discounted(sorted(gains, reverse=True)[:k])
    return _discounted(gains[:k]) / best if best else 0.0


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def average_precision(relevance: Relevance) -> float:
    """The mean of the precision at every relevant document; the mean over questions is MAP.

    >>> average_precision([1, 0, 1])
    0.8333333333333333
    """
    shares, right = [], 0
    for rank, value in enumerate(relevance, start=1):
        if value > 0:
            right += 1
            shares.append(right / rank)
    return sum(shares) / len(shares) if shares else 0.0


def recall_at(relevance: Relevance, k: int) -> float:
    """Share of the relevant documents among the first `k`.

    >>> recall_at([1, 0, 1], 2)
    0.5
    """
    total = sum(value > 0 for value in relevance)
    return sum(value > 0 for value in relevance[:k]) / total if total else 0.0
