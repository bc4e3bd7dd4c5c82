"""Perplexity of language models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import rushlight as rl
import rushlight.nn.functional as F

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["perplexity"]


@rl.no_grad()
def perplexity(
    model: Callable[..., Any],
    rows: Iterable[Sequence[int]],
    *,
    max_length: int = 1024,
    stride: int | None = None,
) -> float:
    """The exponential of the mean loss of an id, given those before it.

    Args:
        model: gives ``logits`` ``[B, T, V]`` of ids ``[B, T]``, or is a tensor of them.
        rows: texts as lists of ids; the first id of each is not predicted.
        max_length: ids that the model sees at once.
        stride: by how much the window moves on in a longer text; default: half of it. Each id is
            predicted once, with at least `max_length` - `stride` ids before it.

    Raises:
        ValueError: no id is predicted.
    """
    step = stride or max_length // 2 or 1
    loss = 0.0
    count = 0
    for row in rows:
        done = 1  # ids that need no prediction any more
        for start in range(0, len(row), step):
            ids = rl.tensor([list(row[start : start + max_length])])
            first = done - start
            if ids.shape[1] <= first:
                break
            found = model(ids)
            logits = found if isinstance(found, rl.Tensor) else found.logits
            scores = logits[0, first - 1 : -1].float()
            loss += F.cross_entropy(scores, ids[0, first:], reduction="sum").item()
            count += ids.shape[1] - first
            done = start + ids.shape[1]
            if done >= len(row):
                break
    if not count:
        raise ValueError("perplexity(): no text has two ids")
    return math.exp(loss / count)
