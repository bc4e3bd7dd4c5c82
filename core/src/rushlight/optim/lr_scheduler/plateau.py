"""Reduce the learning rate when a metric stops improving."""

from __future__ import annotations

import math

from rushlight.optim.lr_scheduler.scheduler import LRScheduler


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
        if mode not in ("min", "max"):
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        count = len(optimizer.param_groups)
        self.optimizer, self.factor, self.patience = optimizer, factor, patience
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * count
        if len(self.min_lrs) != count:
            raise ValueError(f"expected {count} min_lrs, got {len(self.min_lrs)}")
        self.cooldown, self.eps, self.last_epoch = cooldown, eps, 0
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self._last_lr = [group["lr"] for group in optimizer.param_groups]
        self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0

    @property
    def in_cooldown(self):
        """Whether bad epochs are not counted now."""
        return self.cooldown_counter > 0

    def step(self, metrics, epoch=None) -> None:  # type: ignore[override]
        """Tell the metric of an epoch."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._better(current):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def _better(self, value):
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            return sign * value > sign * self.best * (1 + sign * self.threshold)
        return sign * value > sign * self.best + self.threshold

    def _reduce(self):
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            value = max(float(group["lr"]) * self.factor, least)
            if float(group["lr"]) - value > self.eps:
                group["lr"] = value
