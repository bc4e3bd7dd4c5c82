"""EarlyStopping: ends training when a logged value no longer improves."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import rushlight as rl
from lightning_lite.callbacks.callback import Callback
from lightning_lite.errors import MisconfigurationException
from lightning_lite.messages import info, warn
from lightning_lite.state import TrainerFn


class EarlyStoppingReason(Enum):
    """Why training was ended."""

    NOT_STOPPED = 0
    STOPPING_THRESHOLD = 1
    DIVERGENCE_THRESHOLD = 2
    PATIENCE_EXHAUSTED = 3
    NON_FINITE_METRIC = 4


class EarlyStopping(Callback):
    """Ends training when `monitor` has not improved by more than `min_delta` in `patience` checks.

    The latest check counts: where `min_epochs` or `min_steps` kept training going and the value has
    recovered since, it goes on.

    It also ends training when the value is not finite (`check_finite`), when it reaches
    `stopping_threshold`, or when it gets worse than `divergence_threshold`. A check is made after
    each validation, or at the end of each training epoch if validation runs once per epoch.

    Args:
        mode: "min" or "max": whether smaller or larger values are better.
        strict: whether a value that was not logged is an error.
        check_on_train_epoch_end: whether to look after the epoch instead of after validation; by
            default where validation runs once per epoch.
        log_rank_zero_only: whether the first of several processes alone tells of it.

    >>> stopping = EarlyStopping("val_loss", patience=3, mode="min")
    >>> stopping.monitor, stopping.patience
    ('val_loss', 3)
    """

    def __init__(
        self,
        monitor: str,
        min_delta: float = 0.0,
        patience: int = 3,
        verbose: bool = False,
        mode: str = "min",
        strict: bool = True,
        check_finite: bool = True,
        stopping_threshold: float | None = None,
        divergence_threshold: float | None = None,
        check_on_train_epoch_end: bool | None = None,
        log_rank_zero_only: bool = False,
    ) -> None:
        super().__init__()
        if mode not in ("min", "max"):
            raise MisconfigurationException(f"EarlyStopping: mode {mode!r}; expected min or max")
        self.monitor = monitor
        self.min_delta = abs(min_delta)
        self.patience = patience
        self.verbose = verbose
        self.mode = mode
        self.strict = strict
        self.check_finite = check_finite
        self.stopping_threshold = stopping_threshold
        self.divergence_threshold = divergence_threshold
        self.check_on_train_epoch_end = check_on_train_epoch_end
        self.wait_count = 0
        self.stopped_epoch = 0
        self.best_score = math.inf if mode == "min" else -math.inf
        self.stopping_reason = EarlyStoppingReason.NOT_STOPPED
        self.stopping_reason_message: str | None = None

    @property
    def state_key(self) -> str:
        """The name of this callback's state: several may live side by side."""
        return self._generate_state_key(monitor=self.monitor, mode=self.mode)

    def state_dict(self) -> dict[str, Any]:
        """The best value so far and how long it has stood."""
        return {
            "wait_count": self.wait_count,
            "stopped_epoch": self.stopped_epoch,
            "best_score": rl.tensor(self.best_score),
            "patience": self.patience,
            "stopping_reason": self.stopping_reason.value,
            "stopping_reason_message": self.stopping_reason_message,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what was known."""
        self.wait_count = state_dict["wait_count"]
        self.stopped_epoch = state_dict["stopped_epoch"]
        self.best_score = float(state_dict["best_score"])
        self.patience = state_dict["patience"]
        # Files written before these were kept have neither.
        reason = state_dict.get("stopping_reason", EarlyStoppingReason.NOT_STOPPED.value)
        self.stopping_reason = EarlyStoppingReason(reason)
        self.stopping_reason_message = state_dict.get("stopping_reason_message")

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Decide when to check, unless that was given."""
        if self.check_on_train_epoch_end is None:
            once = trainer.val_check_interval == 1.0 and trainer.check_val_every_n_epoch == 1
            self.check_on_train_epoch_end = once

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Check at the end of the training epoch, if that is the time."""
        if self.check_on_train_epoch_end:
            self._check(trainer)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Check after validation, if that is the time."""
        training = trainer.state.fn is TrainerFn.FITTING and not trainer.sanity_checking
        if training and not self.check_on_train_epoch_end:
            self._check(trainer)

    def _check(self, trainer: Any) -> None:
        """Compare the value with the best so far and tell the trainer to stop if it is time."""
        if trainer.fast_dev_run:
            return
        value = trainer.callback_metrics.get(self.monitor)
        if value is None:
            known = sorted(trainer.callback_metrics)
            message = f"EarlyStopping: {self.monitor!r} was not logged; there are: {known}"
            if self.strict:
                raise RuntimeError(message)
            warn(message, RuntimeWarning)
            return
        reason, why = self._judge(float(value))
        if trainer.strategy.reduce_boolean_decision(why is not None, all=False):
            why = why or "another process wishes to stop"
            trainer.stop_wishes.add(self.state_key)
            self.stopped_epoch = trainer.current_epoch
            if self.verbose:
                info(f"EarlyStopping: {why}")
        elif self.state_key in trainer.stop_wishes:
            trainer.stop_wishes.discard(self.state_key)
            self.stopped_epoch = 0
        self.stopping_reason, self.stopping_reason_message = reason, why

    def _better(self, value: float, than: float) -> bool:
        return value < than if self.mode == "min" else value > than

    def _judge(self, value: float) -> tuple[EarlyStoppingReason, str | None]:
        """Why training should stop, as a word and a sentence; None if it should go on."""
        name, why = self.monitor, EarlyStoppingReason
        if self.check_finite and not math.isfinite(value):
            return why.NON_FINITE_METRIC, f"{name} is {value}; the best was {self.best_score:.5g}"
        if self.stopping_threshold is not None and self._better(value, self.stopping_threshold):
            text = f"{name} {value:.5g} reached the threshold {self.stopping_threshold}"
            return why.STOPPING_THRESHOLD, text
        if self.divergence_threshold is not None and self._better(self.divergence_threshold, value):
            text = f"{name} {value:.5g} is beyond the threshold {self.divergence_threshold}"
            return why.DIVERGENCE_THRESHOLD, text
        margin = self.min_delta if self.mode == "min" else -self.min_delta
        if self._better(value + margin, self.best_score):
            if self.verbose:
                info(f"EarlyStopping: {name} improved to {value:.5g}")
            self.best_score = value
            self.wait_count = 0
            return why.NOT_STOPPED, None
        self.wait_count += 1
        if self.wait_count >= self.patience:
            return why.PATIENCE_EXHAUSTED, (
                f"{name} did not improve in {self.wait_count} checks; the best was "
                f"{self.best_score:.5g}"
            )
        return why.NOT_STOPPED, None
