"""Rates and momenta as functions of the share of training that is done, and who sets them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from lightning_lite.callbacks.callback import Callback

Rate = float | Sequence[float]
Schedule = Callable[[float], Any]


def _each(function: Callable[[float, float, float], float], start: Any, end: Any) -> Schedule:
    """A schedule from `start` to `end`, which are numbers or lists of one for each group."""
    if not isinstance(start, list | tuple) and not isinstance(end, list | tuple):
        return lambda pos: function(start, end, pos)
    count = len(start if isinstance(start, list | tuple) else end)
    starts = list(start) if isinstance(start, list | tuple) else [start] * count
    ends = list(end) if isinstance(end, list | tuple) else [end] * count
    return lambda pos: [function(a, b, pos) for a, b in zip(starts, ends, strict=True)]


def SchedLin(start: Any, end: Any) -> Schedule:
    """A straight line.

    >>> SchedLin(0.0, 2.0)(0.25)
    0.5
    """
    return _each(lambda a, b, pos: a + pos * (b - a), start, end)


def SchedCos(start: Any, end: Any) -> Schedule:
    """Half a cosine.

    >>> SchedCos(0.0, 2.0)(0.5)
    1.0
    """
    return _each(
        lambda a, b, pos: a + (1 + math.cos(math.pi * (1 - pos))) * (b - a) / 2, start, end
    )


def SchedExp(start: Any, end: Any) -> Schedule:
    """A constant factor.

    >>> round(SchedExp(1.0, 100.0)(0.5), 6)
    10.0
    """
    return _each(lambda a, b, pos: a * (b / a) ** pos, start, end)


def SchedNo(start: Any, end: Any) -> Schedule:
    """The start.

    Args:
        start: the value.
        end: of no consequence.

    >>> SchedNo(0.1, 0.9)(0.5)
    0.1
    """
    return _each(lambda a, b, pos: a, start, end)


def SchedPoly(start: Any, end: Any, power: float) -> Schedule:
    """A power of the position.

    >>> SchedPoly(0.0, 4.0, 2)(0.5)
    1.0
    """
    return _each(lambda a, b, pos: a + (b - a) * pos**power, start, end)


def combine_scheds(pcts: Sequence[float], scheds: Sequence[Schedule]) -> Schedule:
    """Schedules one after another, each over its share. ValueError unless the shares are
    positive and add up to 1.

    >>> combine_scheds([0.5, 0.5], [SchedLin(0.0, 1.0), SchedLin(1.0, 0.0)])(0.75)
    0.5
    """
    if len(pcts) != len(scheds) or min(pcts) < 0 or abs(sum(pcts) - 1) > 1e-9:
        raise ValueError(f"combine_scheds: shares {list(pcts)} of {len(scheds)} schedules")
    ends = [sum(pcts[: number + 1]) for number in range(len(pcts))]

    def schedule(pos: float) -> Any:
        number = next((n for n, end in enumerate(ends) if pos < end), len(ends) - 1)
        start = ends[number] - pcts[number]
        return scheds[number]((pos - start) / pcts[number])

    return schedule


def combined_cos(pct: float, start: Rate, middle: Rate, end: Rate) -> Schedule:
    """Half a cosine from `start` to `middle` over the share `pct`, another to `end`.

    >>> schedule = combined_cos(0.25, 0.1, 1.0, 0.0)
    >>> round(schedule(0.0), 3), round(schedule(0.25), 3), round(schedule(1.0), 3)
    (0.1, 1.0, 0.0)
    """
    return combine_scheds([pct, 1 - pct], [SchedCos(start, middle), SchedCos(middle, end)])


def set_values(optimizer: Any, name: str, value: Any) -> None:
    """Give each parameter group a rate ("lr"), momentum ("mom") or another entry.

    `value`: one for all, or a list of one for each. Groups without momentum are left alone.
    """
    groups = optimizer.param_groups
    values = value if isinstance(value, list | tuple) else [value] * len(groups)
    for group, each in zip(groups, values, strict=True):
        if name != "mom":
            group[name] = each
        elif "betas" in group:
            group["betas"] = (each, *group["betas"][1:])
        elif "momentum" in group:
            group["momentum"] = each


def values_of(optimizer: Any, name: str) -> list[Any]:
    """The rate, momentum or another entry of each parameter group; None where there is none."""
    if name != "mom":
        return [group[name] for group in optimizer.param_groups]
    groups = optimizer.param_groups
    return [g["betas"][0] if "betas" in g else g.get("momentum") for g in groups]


class ParamScheduler(Callback):
    """Sets entries of the optimizer before every batch, by the share of training that is done.

    `scheds`: functions of the share by name, such as `{"lr": SchedCos(0.1, 0.001)}`; "mom" is
    `momentum` or the first of `betas`. What was set stands in `hps`.
    """

    def __init__(self, scheds: dict[str, Schedule]) -> None:
        self.scheds = scheds
        self.hps: dict[str, list[Any]] = {name: [] for name in scheds}

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        """Set them."""
        whole = trainer.num_training_batches * trainer.max_epochs
        share = trainer.state.progress.total_batches / whole
        for optimizer in trainer.optimizers:
            for name, schedule in self.scheds.items():
                set_values(optimizer, name, schedule(share))
        for name in self.scheds:
            self.hps[name].append(values_of(trainer.optimizers[0], name)[-1])
