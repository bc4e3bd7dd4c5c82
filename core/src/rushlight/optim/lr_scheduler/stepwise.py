"""Schedules that multiply the learning rate step by step."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from rushlight.optim.lr_scheduler.scheduler import (
    LRScheduler,
    restore_functions,
    saved_functions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class StepLR(LRScheduler):
    """Multiply by `gamma` every `step_size` epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The learning rates now."""
        rates = self._current()
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return rates
        return [lr * self.gamma for lr in rates]

    def _get_closed_form_lr(self):
        return [b * self.gamma ** (self.last_epoch // self.step_size) for b in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiply by `gamma` at each of the `milestones`."""

    def __init__(self, optimizer, milestones: Iterable[int], gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The learning rates now."""
        rates = self._current()
        if self.last_epoch not in self.milestones:
            return rates
        factor = self.gamma ** self.milestones[self.last_epoch]
        return [lr * factor for lr in rates]

    def _get_closed_form_lr(self):
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [b * self.gamma**passed for b in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiply by `gamma` every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The learning rates now."""
        rates = self._current()
        return rates if self._is_initial else [lr * self.gamma for lr in rates]

    def _get_closed_form_lr(self):
        return [b * self.gamma**self.last_epoch for b in self.base_lrs]


class ConstantLR(LRScheduler):
    """The learning rate times `factor` for `total_iters` epochs, then unchanged."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The learning rates now."""
        rates = self._current()
        if self.last_epoch == 0:
            return [lr * self.factor for lr in rates]
        if self.last_epoch != self.total_iters:
            return rates
        return [lr * (1.0 / self.factor) for lr in rates]

    def _get_closed_form_lr(self):
        early = self.last_epoch < self.total_iters
        return [b * (self.factor if early else 1.0) for b in self.base_lrs]


class LinearLR(LRScheduler):
    """The learning rate times a factor that goes linearly from start to end."""

    def __init__(
        self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1
    ):
        if not 0 < start_factor <= 1:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The learning rates now."""
        rates = self._current()
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in rates]
        if self._is_initial or self.last_epoch > self.total_iters:
            return rates
        span = self.end_factor - self.start_factor
        last = self.total_iters * self.start_factor + (self.last_epoch - 1) * span
        return [lr * (1.0 + span / last) for lr in rates]

    def _get_closed_form_lr(self):
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * share
        return [b * factor for b in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Down to zero in `total_iters` epochs along ``(1 - epoch / total_iters)^power``."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The learning rates now."""
        rates = self._current()
        if self._is_initial or self.last_epoch > self.total_iters:
            return rates
        now, before = (1.0 - e / self.total_iters for e in (self.last_epoch, self.last_epoch - 1))
        return [lr * (now / before) ** self.power for lr in rates]

    def _get_closed_form_lr(self):
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [b * left**self.power for b in self.base_lrs]


class _FunctionSchedule(LRScheduler):
    """Base of schedules by functions of the epoch, one for all groups or one per group."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        many = isinstance(lr_lambda, (list, tuple))
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if many else [lr_lambda] * count
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """The state; plain functions are left out, callable objects keep their attributes."""
        return {**super().state_dict(), "lr_lambdas": saved_functions(self.lr_lambdas)}

    def load_state_dict(self, state_dict):
        """Restore what `state_dict` gave."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        restore_functions(self.lr_lambdas, state_dict["lr_lambdas"])


class LambdaLR(_FunctionSchedule):
    """The initial learning rate times ``lr_lambda(epoch)`` (one function, or one per group)."""

    def get_lr(self):
        """The learning rates now."""
        self._warn_between_steps()
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(self.last_epoch) for base, function in pairs]


class MultiplicativeLR(_FunctionSchedule):
    """Multiply by ``lr_lambda(epoch)`` every epoch (one function, or one per group)."""

    def __init__(
        self,
        optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch=-1,
    ):
        for function in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(function):
                raise TypeError(
                    f"lr_lambda should be a function, but got {type(function).__name__}"
                )
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self):
        """The learning rates now."""
        rates = self._current()
        if self._is_initial:
            return rates
        pairs = zip(rates, self.lr_lambdas, strict=True)
        return [lr * function(self.last_epoch) for lr, function in pairs]
