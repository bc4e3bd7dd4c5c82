"""The base of schedulers: it counts steps and sets the learning rate of every group."""

from __future__ import annotations

import contextlib
import functools
import types
import warnings
import weakref

from rushlight.optim.optimizer import Optimizer
from rushlight.optim.options import scalar
from rushlight.tensor.tensor import Tensor

EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` is deprecated: call `scheduler.step()` without it. "
    "As long as it is there, an epoch selects the closed form of the schedule where there is one."
)


def copied(value):
    """A tensor of its own; numbers as they are."""
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer, key):
    """One setting of all parameter groups; tensors are copied."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_value(group, key, value):
    """Set a setting of a group; a tensor is filled in place, so that others who hold it see it."""
    if isinstance(group[key], Tensor):
        group[key].detach().fill_(scalar(value))
    else:
        group[key] = value


def per_group(name, optimizer, value):
    """A setting of a scheduler for every group: one for all, or a list of them."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
            f"values, param_groups has {count}."
        )
    return [copied(v) for v in value]


def check_optimizer(optimizer):
    """Raise TypeError for what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _check_order(scheduler):
    step = scheduler.optimizer.step
    if not hasattr(step, "_wrapped_by_lr_sched"):
        warnings.warn(
            "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
            "initialization. Please, make sure to call `optimizer.step()` before "
            "`lr_scheduler.step()`.",
            UserWarning,
            stacklevel=3,
        )
    elif not getattr(scheduler.optimizer, "_opt_called", False):
        warnings.warn(
            "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call "
            "`optimizer.step()` first: otherwise the first value of the learning rate schedule "
            "is skipped.",
            UserWarning,
            stacklevel=3,
        )


def set_rates(scheduler, values):
    """Give every group of the optimizer its rate, and keep them as the last ones."""
    for group, value in zip(scheduler.optimizer.param_groups, values, strict=True):
        set_value(group, "lr", value)
    scheduler._last_lr = values_of(scheduler.optimizer, "lr")


class LRScheduler:
    """Base of learning-rate schedulers; subclasses define ``get_lr``, one value per group.

    ``get_lr`` may use ``last_epoch``, ``base_lrs`` and the present rates of the groups; it is also
    called once at construction, when ``_is_initial`` is True.
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming a "
                    "scheduler with last_epoch >= 0: load the state of the optimizer first, or "
                    "begin with last_epoch=-1"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _track_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """The step of the constructor: it sets the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    # ------------------------------------------------------------------ state dicts
    def state_dict(self):
        """All of the scheduler's state but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict) -> None:
        """Restore what `state_dict` gave."""
        self.__dict__.update(state_dict)

    # ------------------------------------------------------------------ rates
    def get_last_lr(self):
        """The learning rates this scheduler set last, one per group."""
        return self._last_lr

    def get_lr(self):
        """The learning rates of the present step, one per group."""
        raise NotImplementedError

    def step(self, epoch=None) -> None:
        """Go on by one step (call it after ``optimizer.step()``)."""
        if self._step_count == 1:
            _check_order(self)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None) -> None:
        with self._within_step():
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed = epoch is not None and hasattr(self, "_get_closed_form_lr")
            values = self._get_closed_form_lr() if closed else self.get_lr()
        set_rates(self, values)

    # ------------------------------------------------------------------ for subclasses
    def _current(self):
        """The present rates; warns where get_lr is called by hand, in between of steps."""
        self._warn_between_steps()
        return values_of(self.optimizer, "lr")

    def _warn_between_steps(self):
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=4,
            )

    @contextlib.contextmanager
    def _within_step(self):
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False


class _LRScheduler(LRScheduler):
    """The former name of the base."""


def saved_functions(functions):
    """What a state dict keeps of functions: the attributes of callable objects, else None."""
    return [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in functions]


def restore_functions(functions, saved):
    """Put saved attributes back into callable objects."""
    for function, attributes in zip(functions, saved, strict=True):
        if attributes is not None:
            function.__dict__.update(attributes)


def _track_steps(optimizer):
    """Let a scheduler see whether the optimizer has stepped."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    reference, step = weakref.ref(optimizer), optimizer.step.__func__

    @functools.wraps(step)
    def tracked(*args, **kwargs):
        found = reference()
        found._opt_called = True
        return step(found, *args, **kwargs)

    tracked._wrapped_by_lr_sched = True
    optimizer.step = tracked
