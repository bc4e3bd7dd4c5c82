"""Restarts inside of an epoch: right after a batch, or between two."""

from __future__ import annotations

from lightning_lite.restarts.evaluation_loop import EvaluationRestart
from lightning_lite.restarts.flags import Counters, RestartFlags, gaps


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
    """The flags of `trainer.fit_loop.epoch_loop`, until the first batch after a restart is over.

    `val_loop` holds those of validation.

    >>> EpochRestart().restarted_on_last
    False
    """

    def __init__(self) -> None:
        self.val_loop = EvaluationRestart()

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
