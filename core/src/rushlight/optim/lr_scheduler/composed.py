"""Schedules made of others: one after another, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from rushlight.optim.lr_scheduler.plateau import ReduceLROnPlateau
from rushlight.optim.lr_scheduler.scheduler import LRScheduler, set_value, values_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Composed(LRScheduler):
    """Base of schedules made of others; ``_schedulers`` are part of the state dict."""

    def _take(self, optimizer, schedulers, purpose):
        """Check the parts: schedulers of one optimizer that need no metric."""
        kind = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{kind} expects at least one scheduler{purpose}, got no scheduler.")
        owner = optimizer or getattr(schedulers[0], "optimizer", None)
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{kind} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{kind} does not support `ReduceLROnPlateau` (at index {i}): its `step` needs "
                    "a metric"
                )
            if owner != scheduler.optimizer:
                raise ValueError(
                    f"{kind} expects all schedulers to belong to the same optimizer, but the "
                    f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is "
                    f"different from {owner}."
                )
        self._schedulers = schedulers
        return owner

    def state_dict(self):
        """The state, with those of the parts."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Restore what `state_dict` gave."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_Composed):
    """One schedule after another; each begins anew at its milestone."""

    def __init__(
        self, optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch=-1
    ):
        self._take(optimizer, schedulers, "")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                f"the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones to be equal to {len(milestones)}"
            )
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        # the constructors of all parts have taken a step already: take those back, then begin
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched=None) -> None:
        """Take one epoch back in all parts of a schedule."""
        schedule = self if sched is None else sched
        if hasattr(schedule, "_schedulers"):
            for part in schedule._schedulers:
                self.recursive_undo(part)
        elif hasattr(schedule, "last_epoch"):
            schedule.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go on by one epoch."""
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[place]
        if place > 0 and self._milestones[place - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composed):
    """Several schedules that all act at every step."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer=None):
        self.optimizer = self._take(optimizer, schedulers, " to be chained")
        self._last_lr = values_of(self.optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Go on by one epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values_of(self.optimizer, "lr")
