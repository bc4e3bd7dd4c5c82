"""ScheduleWrapper: a profiler's schedule, of the steps of each stage by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.profiler import ProfilerAction

STEPS = ("training_step", "validation_step", "test_step", "predict_step")


class ScheduleWrapper:
    """Asks `schedule(number)` what to do by the number of the step in its own stage, once for each:
    after RECORD_AND_SAVE a stage is left alone. The validation of the sanity check does not count.

    `pre_step(action)` says which step is over, then a call says what to do (the number that it gets
    is not looked at), as `rushlight.profiler.profile(schedule=...)` does in its `step`.

    >>> import rushlight as rl
    >>> wrapper = ScheduleWrapper(rl.profiler.schedule(wait=0, warmup=1, active=1))
    >>> wrapper.pre_step("training_step")
    >>> wrapper(0).name, wrapper.num_step
    ('RECORD_AND_SAVE', 1)
    """

    def __init__(self, schedule: Callable[[int], Any]) -> None:
        if not callable(schedule):
            raise TypeError(f"ScheduleWrapper: schedule is {schedule!r}; expected a function")
        self._schedule = schedule
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._counts = dict.fromkeys(STEPS, 0)
        self._ended: set[str] = set()
        self._step: str | None = None
        self._previous: Any = None
        self._start_action_name = ""

    def setup(self, start_action_name: str) -> None:
        """Know the first action of a run: validations before training do not count if it ends with
        "on_fit_start"."""
        self._start_action_name = start_action_name

    def pre_step(self, current_action: str) -> None:
        """Know the action that is over, whose name ends with that of a step."""
        found = [name for name in STEPS if current_action.endswith(name)]
        self._step = found[0] if found else None

    @property
    def is_training(self) -> bool:
        """Whether the last step was of training."""
        return self._step == "training_step"

    @property
    def is_validating(self) -> bool:
        """Whether the last step was of validation."""
        return self._step == "validation_step"

    @property
    def is_testing(self) -> bool:
        """Whether the last step was of a test."""
        return self._step == "test_step"

    @property
    def is_predicting(self) -> bool:
        """Whether the last step was of a prediction."""
        return self._step == "predict_step"

    @property
    def num_step(self) -> int:
        """The number of steps in the stage of the last one."""
        return 0 if self._step is None else self._counts[self._step]

    @property
    def has_finished(self) -> bool:
        """Whether the schedule of this stage has saved its recording."""
        return self._step in self._ended

    def _checks_sanity(self) -> bool:
        fits = self._start_action_name.endswith("on_fit_start")
        return self.is_validating and fits and not self._counts["training_step"]

    def __call__(self, num_step: int) -> Any:
        """What to do with the next step, as a `ProfilerAction`."""
        if self._step is None or self.has_finished:
            return ProfilerAction.NONE
        if not self._checks_sanity():
            self._counts[self._step] += 1
        action = self._schedule(self.num_step)
        if self._previous == ProfilerAction.RECORD and action == ProfilerAction.WARMUP:
            # Another stage records: it goes on until it is saved.
            action = ProfilerAction.RECORD
        if action == ProfilerAction.RECORD_AND_SAVE:
            self._ended.add(self._step)
        self._previous = action
        return action
