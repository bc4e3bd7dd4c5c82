"""Reduce the learning rate when a metric stops improving."""

from __future__ import annotations

import math
import warnings

from rushlight.optim.lr_scheduler.scheduler import (
    EPOCH_WARNING,
    LRScheduler,
    check_optimizer,
    set_value,
    values_of,
)


class ReduceLROnPlateau(LRScheduler):
    """Multiply by `factor` when ``step(metric)`` has seen no improvement for `patience` epochs."""

    def __init__(
        self,
        optimizer,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        eps=1e-8,
    ):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        self.factor, self.optimizer = factor, optimizer
        many, count = isinstance(min_lr, (list, tuple)), len(optimizer.param_groups)
        if many and len(min_lr) != count:
            raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
        self.default_min_lr = None if many else min_lr
        self.min_lrs = list(min_lr) if many else [min_lr] * count
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self._last_lr = values_of(optimizer, "lr")
        self._set_mode(mode, threshold, threshold_mode)
        self._reset()

    def _set_mode(self, mode, threshold, threshold_mode):
        if mode not in ("min", "max"):
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode

    def _reset(self) -> None:
        """Forget all metrics."""
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    @property
    def in_cooldown(self):
        """Whether bad epochs are not counted now."""
        return self.cooldown_counter > 0

    def step(self, metrics, epoch=None) -> None:  # type: ignore[override]
        """Tell the metric of an epoch."""
        current = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = values_of(self.optimizer, "lr")

    def _is_better(self, a, best):
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            return sign * a > sign * best * (1 + sign * self.threshold)
        return sign * a > sign * best + self.threshold

    def _reduce_lr(self, epoch):
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from "
                    f"when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due "
                    "to a new param group being added to the optimizer. Please modify the "
                    "`min_lrs` field to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            value = max(float(group["lr"]) * self.factor, least)
            if float(group["lr"]) - value > self.eps:
                set_value(group, "lr", value)

    def load_state_dict(self, state_dict):
        """Restore what `state_dict` gave."""
        self.__dict__.update(state_dict)
        self._set_mode(self.mode, self.threshold, self.threshold_mode)
