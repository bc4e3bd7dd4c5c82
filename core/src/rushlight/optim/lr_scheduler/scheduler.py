"""The base of schedulers: it counts steps and sets the learning rate of every group."""

from __future__ import annotations

import functools
import warnings
import weakref

from rushlight.optim.optimizer import Optimizer


class LRScheduler:
    """Base of learning-rate schedulers; subclasses define ``get_lr``, one value per group."""

    _get_lr_called_within_step = False

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming an "
                    "optimizer"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        _count_steps(optimizer)
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def state_dict(self):
        """All of the scheduler's state but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict) -> None:
        """Restore what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The learning rates this scheduler set last, one per group."""
        return self._last_lr

    def get_lr(self):
        """The learning rates of the present step, one per group."""
        raise NotImplementedError

    def step(self, epoch=None) -> None:
        """Go on by one step (call it after ``optimizer.step()``)."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call "
                "`optimizer.step()` first: otherwise the first value of the learning rate schedule "
                "is skipped.",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
        else:
            self.last_epoch = epoch
        self._get_lr_called_within_step = True
        try:
            closed = epoch is not None and hasattr(self, "_get_closed_form_lr")
            values = self._get_closed_form_lr() if closed else self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            group["lr"] = value
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def _current(self):
        return [group["lr"] for group in self.optimizer.param_groups]


def _count_steps(optimizer):
    """Let a scheduler see whether the optimizer has stepped."""
    if hasattr(optimizer.step, "_counted"):
        return
    reference, step = weakref.ref(optimizer), type(optimizer).step

    @functools.wraps(step)
    def counted(*args, **kwargs):
        found = reference()
        found._opt_called = True
        return step(found, *args, **kwargs)

    counted._counted = True
    optimizer.step = counted


_LRScheduler = LRScheduler
