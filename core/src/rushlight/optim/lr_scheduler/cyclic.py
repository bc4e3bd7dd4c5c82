"""Cyclical learning rates and the one-cycle policy, with momenta that go the other way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushlight.optim.lr_scheduler.scheduler import (
    LRScheduler,
    check_optimizer,
    per_group,
    restore_functions,
    saved_functions,
    set_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class _MomentumCycle(LRScheduler):
    """Base of schedules that cycle the momentum (or the first of Adam's betas) as well."""

    def _begin_momentum(self, base_momentum, max_momentum, last_epoch):
        """Check and set the highest momentum; returns those of all groups, lowest first."""
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in defaults
        bases = per_group("base_momentum", self.optimizer, base_momentum)
        tops = per_group("max_momentum", self.optimizer, max_momentum)
        if last_epoch == -1:
            for group, base, top in zip(self.optimizer.param_groups, bases, tops, strict=True):
                self._set_momentum(group, top)
                group["max_momentum"], group["base_momentum"] = top, base
        return bases, tops

    def _set_momentum(self, group, value):
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_MomentumCycle):
    """Between `base_lr` and `max_lr` and back, again and again. (Smith, 2017.)

    `mode` ``"triangular"`` keeps the height, ``"triangular2"`` halves it every cycle,
    ``"exp_range"`` scales it by ``gamma^iteration``; or `scale_fn` of the cycle or the iteration
    (`scale_mode`) gives the factor.
    """

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up=2000,
        step_size_down: int | None = None,
        mode="triangular",
        gamma=1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode="cycle",
        cycle_momentum=True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch=-1,
    ):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                set_value(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom, self.scale_mode = scale_fn, scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            bases, tops = self._begin_momentum(base_momentum, max_momentum, last_epoch)
            self.base_momentums, self.max_momentums = bases, tops
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x) -> float:
        """The factor of the height of a cycle."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / (2.0 ** (x - 1)) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self):
        """The learning rates now; sets the momenta as well."""
        self._warn_between_steps()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio
        if x > self.step_ratio:
            height = (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            ends = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (base, top) in zip(self.optimizer.param_groups, ends, strict=True):
                self._set_momentum(group, top - (top - base) * height * scale)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [base + (top - base) * height * scale for base, top in pairs]

    def state_dict(self):
        """The state; a plain function is left out, a callable object keeps its attributes."""
        custom = self._scale_fn_custom
        saved = None if custom is None else saved_functions([custom])[0]
        return {**super().state_dict(), "_scale_fn_custom": saved}

    def load_state_dict(self, state_dict):
        """Restore what `state_dict` gave."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        restore_functions([self._scale_fn_custom], [state_dict["_scale_fn_custom"]])


class OneCycleLR(_MomentumCycle):
    """Up to `max_lr` and down again in one cycle, momentum the other way. (Smith, 2018.)"""

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start=0.3,
        anneal_strategy="cos",
        cycle_momentum=True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor=25.0,
        final_div_factor=10000.0,
        three_phase=False,
        last_epoch=-1,
    ):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if not 0 <= pct_start <= 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        max_lrs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The learning rates now; sets the momenta as well."""
        self._warn_between_steps()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        anneal = _cosine if self._anneal_func_type == "cos" else _linear
        phase, share = self._phase_of(step)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, anneal(*ends, share))
        return rates

    def _phase_of(self, step):
        start = 0.0
        for phase in self._schedule_phases[:-1]:
            if step <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        return phase, (step - start) / (phase["end_step"] - start)


def _cosine(start, end, share):
    return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _linear(start, end, share):
    return (end - start) * share + start


def _total(total_steps, epochs, steps_per_epoch):
    """The number of steps, given as such or as epochs times steps."""
    given = {"total_steps": total_steps}
    if total_steps is None:
        if epochs is None or steps_per_epoch is None:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    for name, value in given.items():
        if value <= 0 or not isinstance(value, int):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())


def _phase(end, lr, momentum):
    return {
        "end_step": end, "start_lr": lr[0], "end_lr": lr[1],
        "start_momentum": momentum[0], "end_momentum": momentum[1],
    }  # fmt: skip


def _phases(total, pct_start, three_phase):
    down, up = ("max_momentum", "base_momentum"), ("base_momentum", "max_momentum")
    rise, peak = ("initial_lr", "max_lr"), float(pct_start * total) - 1
    if not three_phase:
        return [_phase(peak, rise, down), _phase(total - 1, ("max_lr", "min_lr"), up)]
    back = float(2 * pct_start * total) - 2
    return [
        _phase(peak, rise, down),
        _phase(back, ("max_lr", "initial_lr"), up),
        _phase(total - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum")),
    ]
