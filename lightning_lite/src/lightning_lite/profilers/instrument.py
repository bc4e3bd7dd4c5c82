"""What a profiler measures: hooks, steps, gradients, optimizer steps, and the waiting for data."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from lightning_lite.hooks import HookTable
from lightning_lite.profilers.profiler import PassThroughProfiler, Profiler

BY_NAME = {
    "advanced": "AdvancedProfiler",
    "budget": "StepBudget",
    "pytorch": "PyTorchProfiler",
    "simple": "SimpleProfiler",
}
# Methods of the module that the loops call beside its hooks and steps.
METHODS = ("backward", "optimizer_step", "optimizer_zero_grad", "configure_gradient_clipping")


def make_profiler(given: Any) -> Profiler | None:
    """What `Trainer(profiler=...)` means; None where nothing is measured."""
    if given is None or isinstance(given, PassThroughProfiler):
        return None
    if isinstance(given, str) and given.lower() in BY_NAME:
        from lightning_lite import profilers

        return getattr(profilers, BY_NAME[given.lower()])()
    if not isinstance(given, Profiler):
        raise ValueError(
            f"Trainer(profiler={given!r}): expected one of {sorted(BY_NAME)} or a Profiler"
        )
    return given


def measured(profiler: Profiler, name: str, function: Callable) -> Callable:
    """A function whose calls are measured under a name."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        profiler.start(name)
        try:
            return function(*args, **kwargs)
        finally:
            profiler.stop(name)

    return run


class MeasuredBatches:
    """An iterator whose steps are measured."""

    def __init__(self, profiler: Profiler, batches: Iterator[Any]) -> None:
        self._next = measured(profiler, "[Feed].train_dataloader_next", batches.__next__)

    def __iter__(self) -> MeasuredBatches:
        return self

    def __next__(self) -> Any:
        return self._next()


class MeasuredHooks(HookTable):
    """The hooks and steps of a run, each measured."""

    def __init__(self, trainer: Any, module: Any, callbacks: list[Any], profiler: Profiler) -> None:
        super().__init__(trainer, module, callbacks)
        self._profiler = profiler
        for groups in (self._before, self._after):
            for name, methods in groups.items():
                methods[:] = [
                    measured(profiler, f"[Callback]{state_key_of(each)}.{name}", each)
                    for each in methods
                ]
        for name, method in self._own.items():
            self._own[name] = measured(profiler, self._module_action(name), method)

    def _module_action(self, name: str) -> str:
        return f"[LightningModule]{type(self._module).__name__}.{name}"

    def step(self, name: str, method: Callable, *arguments: Any) -> Any:
        """Run one of the module's step methods, measured."""
        with self._profiler.profile(self._module_action(name)):
            return super().step(name, method, *arguments)


def state_key_of(method: Callable) -> str:
    """The name of the callback that a method belongs to, unlike those of its siblings."""
    owner = getattr(method, "__self__", None)
    return getattr(owner, "state_key", type(owner).__name__)


class Instruments:
    """Measured methods in a module's and a feed's place, until :meth:`remove`."""

    def __init__(self, trainer: Any) -> None:
        self.profiler, self.module = trainer.profiler, trainer.lightning_module
        kind = type(self.module).__name__
        for name in METHODS:
            action = f"[LightningModule]{kind}.{name}"
            made = measured(self.profiler, action, getattr(self.module, name))
            object.__setattr__(self.module, name, made)
        self.profiler.attach(self.module)

    def watch(self, feed: Any) -> None:
        """Measure how long a feed's batches take to come."""
        feed.surround(lambda batches: MeasuredBatches(self.profiler, batches))

    def remove(self) -> None:
        """Put the module's own methods back."""
        for name in METHODS:
            self.module.__dict__.pop(name, None)
        self.profiler.detach()
