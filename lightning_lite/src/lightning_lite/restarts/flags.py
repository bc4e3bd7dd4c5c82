"""What the three loops have in common: whether they go on from a checkpoint, and from where."""

from __future__ import annotations

from typing import Any


def gaps(counts: dict[str, int]) -> tuple[int, int, int]:
    """How far each counter is behind the one before: ready, started, processed, completed."""
    names = ("ready", "started", "processed", "completed")
    numbers = [counts[name] for name in names]
    return tuple(a - b for a, b in zip(numbers, numbers[1:], strict=False))  # type: ignore[return-value]


class RestartFlags:
    """A loop's flags; False and "none" in a run that no checkpoint was given to."""

    _stage = "none"
    _restarting = False
    _is_resuming = False

    @property
    def restarting(self) -> bool:
        """Whether the loop goes on inside of an epoch that the checkpoint left unfinished."""
        return self._restarting

    @property
    def is_resuming(self) -> bool:
        """Whether the loop took its counters from a checkpoint and has not completed a pass yet."""
        return self._is_resuming

    def reset_restart_stage(self) -> None:
        """Forget where the checkpoint was written."""
        self._stage = "none"

    def on_iteration_done(self) -> None:
        """After a pass of the loop (an epoch, a batch): from here on nothing is a restart."""
        self._restarting = self._is_resuming = False
        self.reset_restart_stage()

    def load_flags(self, restarting: bool, stage: str) -> None:
        """Note that the counters come from a checkpoint, and the stage that they mean."""
        self._restarting, self._is_resuming, self._stage = restarting, True, stage


Counters = dict[str, Any]
