"""How fast sound is processed: the real-time factor."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import rushlight as rl

__all__ = ["real_time_factor"]


def real_time_factor(
    function: Callable[[rl.Tensor], Any],
    waveform: rl.Tensor,
    sample_rate: int,
    repeats: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Seconds that a function takes by seconds of sound; below 1 it keeps up.

    Args:
        function: of the waveform.
        waveform: ``[..., T]``.
        sample_rate: samples per second.
        repeats: how often to try; the least time counts. One call before is not timed.
        clock: ``time.process_time`` for the time of all cores.
    """
    if repeats < 1 or waveform.shape[-1] == 0:
        raise ValueError(
            f"real_time_factor(): repeats must be positive and the waveform not empty, got "
            f"{repeats} and shape {list(waveform.shape)}"
        )
    function(waveform)
    taken = []
    for _ in range(repeats):
        start = clock()
        function(waveform)
        taken.append(clock() - start)
    return min(taken) * sample_rate / waveform.shape[-1]
