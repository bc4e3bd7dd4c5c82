"""Restarts of a training: inside of an epoch, at its end, or before it began."""

from __future__ import annotations

from lightning_lite.restarts.flags import Counters, RestartFlags, gaps
from lightning_lite.restarts.training_epoch_loop import EpochRestart


class RestartStage:
    """Where in an epoch the checkpoint was written, as Lightning names it.

    >>> RestartStage.RESTARTED_MID_EPOCH
    'restarted_mid_epoch'
    """

    NONE = "none"
    RESTARTED_ON_EPOCH_START = "restarted_on_epoch_start"
    RESTARTED_MID_EPOCH = "restarted_mid_epoch"
    RESTARTED_ON_EPOCH_END = "restarted_on_epoch_end"
    RESUMED_ON_EPOCH_END = "resumed_on_epoch_end"


# How far the counters of epochs are behind each other -> the stage.
_STAGES = {
    (1, 0, 0): RestartStage.RESTARTED_ON_EPOCH_START,
    (0, 1, 0): RestartStage.RESTARTED_MID_EPOCH,
    (0, 0, 1): RestartStage.RESTARTED_ON_EPOCH_END,
}


class FitRestart(RestartFlags):
    """The flags of `trainer.fit_loop`, until the first epoch after a restart is over.

    A hook reads them to tell a run that goes on from one that begins. `epoch_loop` holds those of
    the loop over batches.
    """

    epoch_loop: EpochRestart

    @property
    def batch_idx(self) -> int:
        """See `epoch_loop.batch_idx`."""
        return self.epoch_loop.batch_idx

    @property
    def total_batch_idx(self) -> int:
        """See `epoch_loop.total_batch_idx`."""
        return self.epoch_loop.total_batch_idx

    @property
    def restarted_on_epoch_start(self) -> bool:
        """Whether the checkpoint was written before the hooks of an epoch's start were over."""
        return self._stage == RestartStage.RESTARTED_ON_EPOCH_START

    @property
    def restarted_mid_epoch(self) -> bool:
        """Whether training goes on inside of the epoch that the checkpoint was written in."""
        return self._stage == RestartStage.RESTARTED_MID_EPOCH

    @property
    def restarted_on_epoch_end(self) -> bool:
        """Whether the checkpoint was written in `on_train_epoch_end`, and training goes on to a
        number of steps (`max_steps`)."""
        return self._stage == RestartStage.RESTARTED_ON_EPOCH_END

    @property
    def resumed_on_epoch_end(self) -> bool:
        """Whether the checkpoint was written in `on_train_epoch_end`, and there is no
        `max_steps`: the next epoch follows, and `restarting` is False."""
        return self._stage == RestartStage.RESUMED_ON_EPOCH_END

    def load_counters(self, counters: Counters, counts_steps: bool) -> None:
        """Take over the counters of a checkpoint; `counts_steps` where there is `max_steps`."""
        current = counters["epoch_progress"]["current"]
        unfinished = any(current[each] != current["processed"] for each in ("ready", "started"))
        restarting = unfinished or counts_steps
        stage = _STAGES.get(gaps(counters["epoch_progress"]["total"]), RestartStage.NONE)
        if not restarting:
            at_end = stage == RestartStage.RESTARTED_ON_EPOCH_END
            stage = RestartStage.RESUMED_ON_EPOCH_END if at_end else RestartStage.NONE
        self.load_flags(restarting, stage)
        self.epoch_loop.go_on(counters, restarting)

    def epoch_done(self, rest: bool) -> None:
        """After an epoch, or after the `rest` of one whose hooks had run before the restart; then
        the flags of a resumed run last for the next epoch, as in Lightning."""
        if not rest:
            self.on_iteration_done()
        elif self.restarting:
            self.on_iteration_done()
            self.epoch_loop.on_iteration_done()

    def reset_restart_stages(self) -> None:
        """Forget where the checkpoint was written: a limit leaves nothing to do."""
        self.reset_restart_stage()
        self.epoch_loop.reset_restart_stage()

    def end_run(self) -> None:
        """After the last epoch: nothing is left to go on with."""
        self._restarting = False

    def clear(self) -> None:
        """As if there had been no checkpoint."""
        self.on_iteration_done()
        self.epoch_loop.clear()
