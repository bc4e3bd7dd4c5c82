"""Averages of weights over time: stochastic weight averaging and exponential moving averages."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from rushlight.autograd.mode import no_grad
from rushlight.dtypes import int64
from rushlight.nn.module import Module
from rushlight.nn.normalization import _BatchNorm
from rushlight.ops.creation.tensors import tensor
from rushlight.optim.lr_scheduler.scheduler import LRScheduler, per_group

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight.tensor.tensor import Tensor

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay):
    if not 0.0 <= decay <= 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_ema_multi_avg_fn(decay=0.999) -> Callable:
    """A function of two lists that applies ``average = decay average + (1 - decay) current``."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list, current_param_list, _):
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable:
    """A function of two lists that updates the equally weighted average of all values so far."""

    @no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        share = float(1 / (num_averaged + 1))
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, share)
            else:
                average.copy_(average + (current - average) * share)

    return swa_update


def get_ema_avg_fn(decay=0.999) -> Callable:
    """A function that gives ``decay average + (1 - decay) current``."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable:
    """A function that gives the equally weighted average of all values so far."""

    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those given to ``update_parameters``.

    (Izmailov et al., 2018, for equal weights, the default; Polyak and Juditsky, 1992.) `avg_fn`
    maps ``(average, current, count)`` of one parameter to the new average, `multi_avg_fn` updates
    lists in place. Buffers are averaged with ``use_buffers=True``, else copied.
    """

    def __init__(
        self,
        model: Module,
        device=None,
        avg_fn: Callable[..., Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers=False,
    ):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        """The averaged model's output."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model) -> None:
        """Take the present parameters of a model into the averages; the first time, copy them."""
        averages, values = (
            [
                t.detach()
                for t in itertools.chain(m.parameters(), m.buffers() if self.use_buffers else ())
            ]
            for m in (self.module, model)
        )
        values = [v.to(a.device) for a, v in zip(averages, values, strict=True)]
        if int(self.n_averaged) == 0:
            for average, value in zip(averages, values, strict=True):
                average.copy_(value)
        else:
            self._average(averages, values)
        if not self.use_buffers:
            for own, other in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(other.detach().to(own.device))
        self.n_averaged += 1

    def _average(self, averages, values):
        if self.avg_fn is not None:
            for average, value in zip(averages, values, strict=True):
                average.copy_(self.avg_fn(average, value, self.n_averaged))
            return
        update = self.multi_avg_fn or get_swa_multi_avg_fn()
        kinds = {}
        for average, value in zip(averages, values, strict=True):
            pair = kinds.setdefault((average.device, average.dtype), ([], []))
            pair[0].append(average)
            pair[1].append(value)
        for own, other in kinds.values():
            update(own, other, self.n_averaged)


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device=None) -> None:
    """Compute the running statistics of all batch norms of a model anew, over a loader's batches.

    Batches are tensors, or lists and tuples whose first entry is the input.
    """
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # the cumulative average: all batches count the same
    for batch in loader:
        given = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(given if device is None else given.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneal the learning rate to `swa_lr` in `anneal_epochs` and keep it. (Izmailov et al.)"""

    def __init__(
        self,
        optimizer,
        swa_lr: float | list[float],
        anneal_epochs=10,
        anneal_strategy="cos",
        last_epoch=-1,
    ):
        rates = per_group("swa_lr", optimizer, swa_lr)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t):
        """How much of the way is done at a share ``t`` of the epochs."""
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def _done(self, step):
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self):
        """The learning rates now: the start is found again from the present rates."""
        self._warn_between_steps()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._done(step - 1), self._done(step)
        rates = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates
