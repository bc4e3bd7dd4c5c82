"""One random number for each picture of a batch, or those that were given instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl

Draw = float | Sequence[float] | Callable[[Any], Any] | None


def uniform(low: float, high: float) -> Callable[[int], Any]:
    """A function of a count: so many numbers between two, float32."""
    return lambda count: low + (high - low) * rl.rand(count)


def draws(
    x: Any,
    usual: Callable[[int], Any],
    draw: Draw,
    p: float,
    batch: bool,
    neutral: float = 0.0,
) -> Any:
    """Numbers `(N,)` for the pictures `x`: `usual(count)` draws them, unless `draw` gives a number,
    one for each, or a function of `x`; each is kept with probability `p`, else `neutral`.

    `batch`: one number, and one decision, for all. ValueError for too few in `draw`.
    """
    count = len(x)
    if draw is None:
        found = usual(1).expand(count) if batch else usual(count)
    else:
        found = _given(x, draw)
    if p >= 1:
        return found
    kept = rl.rand(1 if batch else count) < p
    return rl.where(kept, found, rl.full((count,), neutral))


def _given(x: Any, draw: Any) -> Any:
    if callable(draw):
        return rl.as_tensor(draw(x), dtype=rl.float32)
    if isinstance(draw, list | tuple | rl.Tensor):
        if len(draw) < len(x):
            raise ValueError(f"draw has {len(draw)} numbers; expected one for each of {len(x)}")
        return rl.as_tensor(draw, dtype=rl.float32)[: len(x)]
    return rl.full((len(x),), float(draw))
