"""Restarts inside of an epoch: right after a batch, or between two."""

from __future__ import annotations

import copy
from typing import Any

from lightning_lite.restarts.evaluation_loop import EvaluationRestart
from lightning_lite.restarts.flags import Counters, RestartFlags, gaps
from lightning_lite.state import Next


class RestartStage:
    """Where among the batches the checkpoint was written, as Lightning names it.

    >>> RestartStage.RESTARTED_ON_TRAIN_BATCH_END
    'restarted_on_train_batch_end'
    """

    NONE = "none"
    RESTARTED_ON_TRAIN_BATCH_END = "restarted_on_train_batch_end"
    RESTARTED_ON_LAST = "restarted_on_last"


# How far the counters of batches are behind each other -> the stage.
_STAGES = {
    (0, 0, 1): RestartStage.RESTARTED_ON_TRAIN_BATCH_END,
    (0, 0, 0): RestartStage.RESTARTED_ON_LAST,
}


class EpochRestart(RestartFlags):
    """`trainer.fit_loop.epoch_loop`: flags until the first batch after a restart is over, and how
    far training is.

    `val_loop` holds the flags of validation.

    >>> EpochRestart().restarted_on_last
    False
    """

    def __init__(self) -> None:
        self.val_loop = EvaluationRestart()
        self.trainer: Any = None

    def __deepcopy__(self, memo: dict[int, Any]) -> EpochRestart:
        """Flags of its own, for the same trainer."""
        made = copy.copy(self)
        made.val_loop = copy.deepcopy(self.val_loop, memo)
        return made

    def _open(self) -> int:
        """1 while a batch is being trained on, from `on_train_batch_start` on; else 0."""
        trainer = self.trainer
        held = trainer.training_results.batch is not None
        return int(held and trainer.state.progress.next is Next.BATCH)

    @property
    def batch_idx(self) -> int:
        """The number of the epoch's batch that is or was trained on last; -1 before the first."""
        return int(self.trainer.state.progress.batch) + self._open() - 1

    @property
    def total_batch_idx(self) -> int:
        """The same, counted over all epochs."""
        return int(self.trainer.state.progress.total_batches) + self._open() - 1

    @property
    def global_step(self) -> int:
        """How many optimizer steps were taken."""
        return int(self.trainer.global_step)

    @property
    def _batches_that_stepped(self) -> int:
        """The step that loggers are given, which programs read and set by this name."""
        return int(self.trainer.state.progress.logged_steps)

    @_batches_that_stepped.setter
    def _batches_that_stepped(self, number: int) -> None:
        self.trainer.state.progress.logged_steps = number

    @property
    def restarted_on_train_batch_end(self) -> bool:
        """Whether the checkpoint was written in `on_train_batch_end`."""
        return self._stage == RestartStage.RESTARTED_ON_TRAIN_BATCH_END

    @property
    def restarted_on_last(self) -> bool:
        """Whether the checkpoint was written between two batches, that is after everything that
        follows a batch: at the end of a validation, or in `on_train_batch_start`."""
        return self._stage == RestartStage.RESTARTED_ON_LAST

    def go_on(self, counters: Counters, restarting: bool) -> None:
        """Take over the counters that a checkpoint holds for this loop."""
        counts = counters["epoch_loop.batch_progress"]["total"]
        stage = _STAGES.get(gaps(counts), RestartStage.NONE) if restarting else RestartStage.NONE
        self.load_flags(restarting, stage)
        self.val_loop.load_flags(restarting, "none")

    def clear(self) -> None:
        """As if there had been no checkpoint."""
        self.on_iteration_done()
        self.val_loop.on_iteration_done()
