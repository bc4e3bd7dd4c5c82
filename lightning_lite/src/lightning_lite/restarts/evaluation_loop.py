"""Restarts of validation: there is no half of one, it begins anew."""

from __future__ import annotations

from lightning_lite.restarts.flags import RestartFlags


class RestartStage:
    """Where in a validation the checkpoint was written, as Lightning names it.

    >>> RestartStage.RESTARTED_MID_EVALUATION
    'restarted_mid_evaluation'
    """

    NONE = "none"
    RESTARTED_MID_EVALUATION = "restarted_mid_evaluation"


class EvaluationRestart(RestartFlags):
    """The flags of `trainer.fit_loop.epoch_loop.val_loop`, until its first batch is over.

    >>> EvaluationRestart().is_resuming
    False
    """

    @property
    def restarted_mid_evaluation(self) -> bool:
        """Whether the rest of a validation runs. Never here: a checkpoint that is written inside of
        one names its beginning, so all its batches come again and none is counted twice."""
        return self._stage == RestartStage.RESTARTED_MID_EVALUATION
