"""Timer: measures a run and ends training after a given time."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.errors import MisconfigurationException
from lightning_lite.messages import info
from lightning_lite.state import RunningStage
from lightning_lite.utilities.enums import LightningEnum

if TYPE_CHECKING:
    from collections.abc import Mapping


class Interval(LightningEnum):
    """When the clock is looked at."""

    step = "step"
    epoch = "epoch"


INTERVALS = tuple(each.value for each in Interval)


def duration_of(given: Any) -> timedelta | None:
    """A duration from "DD:HH:MM:SS", a timedelta, or a dictionary of its arguments."""
    if given is None or isinstance(given, timedelta):
        return given
    if isinstance(given, dict):
        try:
            return timedelta(**given)
        except TypeError as error:
            raise MisconfigurationException(
                f"Timer: duration {given!r}; expected numbers by the names of timedelta's "
                "arguments, such as {'days': 1, 'hours': 2}"
            ) from error
    parts = str(given).strip().split(":")
    if len(parts) != 4 or not all(part.isdigit() for part in parts):
        raise MisconfigurationException(f"Timer: duration {given!r}; expected 'DD:HH:MM:SS'")
    days, hours, minutes, seconds = (int(part) for part in parts)
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


class Timer(Callback):
    """Measures training, validation and test, and ends training after `duration`.

    The duration counts training over resumes: what a checkpoint says was used up is used up.
    `interval` says when to look at the clock: after each step or each epoch.

    >>> timer = Timer(duration="00:12:00:00", interval="epoch")
    >>> timer.time_elapsed("train")
    0.0
    """

    def __init__(
        self,
        duration: str | timedelta | Mapping[str, int] | None = None,
        interval: str = "step",
        verbose: bool = True,
    ) -> None:
        super().__init__()
        interval = getattr(interval, "value", interval)
        if interval not in INTERVALS:
            raise MisconfigurationException(
                f"Timer: interval {interval!r}; expected 'step' or 'epoch'"
            )
        length = duration_of(duration)
        self._duration = None if length is None else length.total_seconds()
        self._interval = interval
        self._verbose = verbose
        self._started: dict[RunningStage, float] = {}
        self._ended: dict[RunningStage, float] = {}
        self._offset = 0.0

    def start_time(self, stage: str = RunningStage.TRAINING) -> float | None:
        """When a stage began, by the monotonic clock; None if it did not."""
        return self._started.get(RunningStage(stage))

    def end_time(self, stage: str = RunningStage.TRAINING) -> float | None:
        """When a stage ended, by the monotonic clock; None if it did not."""
        return self._ended.get(RunningStage(stage))

    def time_elapsed(self, stage: str = RunningStage.TRAINING) -> float:
        """Seconds spent in a stage; for training, earlier runs that were resumed count too."""
        start = self.start_time(stage)
        offset = self._offset if RunningStage(stage) is RunningStage.TRAINING else 0.0
        if start is None:
            return offset
        end = self.end_time(stage)
        return (time.monotonic() if end is None else end) - start + offset

    def time_remaining(self, stage: str = RunningStage.TRAINING) -> float | None:
        """Seconds left of the duration; None without one."""
        return None if self._duration is None else self._duration - self.time_elapsed(stage)

    def _begin(self, stage: RunningStage) -> None:
        self._started[stage] = time.monotonic()
        self._ended.pop(stage, None)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Stop at once if the time was used up before the resume."""
        if self._duration is not None:
            self._check(trainer)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the clock of training."""
        self._begin(RunningStage.TRAINING)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Stop the clock of training."""
        self._ended[RunningStage.TRAINING] = time.monotonic()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the clock of validation."""
        self._begin(RunningStage.VALIDATING)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Stop the clock of validation."""
        self._ended[RunningStage.VALIDATING] = time.monotonic()

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the clock of the test."""
        self._begin(RunningStage.TESTING)

    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        """Stop the clock of the test."""
        self._ended[RunningStage.TESTING] = time.monotonic()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Look at the clock after each step."""
        if self._interval == "step" and self._duration is not None:
            self._check(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Look at the clock after each epoch."""
        if self._interval == "epoch" and self._duration is not None:
            self._check(trainer)

    def _check(self, trainer: Any) -> None:
        over = self._duration is not None and self.time_elapsed() >= self._duration
        if not trainer.strategy.broadcast(over):
            return
        trainer.should_stop = True
        if self._verbose:
            used = timedelta(seconds=int(self.time_elapsed()))
            info(f"Timer: the time is up after {used}; training ends")

    def state_dict(self) -> dict[str, Any]:
        """Seconds used up."""
        return {"time_elapsed": {stage.value: self.time_elapsed(stage) for stage in RunningStage}}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Count what was used up before."""
        self._offset = state_dict.get("time_elapsed", {}).get(RunningStage.TRAINING.value, 0.0)
