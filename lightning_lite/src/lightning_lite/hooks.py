"""The hooks of a run: what modules and callbacks may override, and how the loops call them.

A `HookTable` is made once when a run starts. It holds, for every hook, the methods that somebody
really overrode, so a hook that nobody uses costs the loops one dictionary lookup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Callbacks that write checkpoints run last in these hooks, after the module's own, so that what
# they write holds all that happened at that point: resuming does not repeat or lose anything.
WRITE_LAST = ("on_train_batch_end", "on_validation_end", "on_train_epoch_end")

MODULE_HOOKS = (
    "on_fit_start",
    "on_fit_end",
    "on_train_start",
    "on_train_end",
    "on_train_epoch_start",
    "on_train_epoch_end",
    "on_train_batch_start",
    "on_train_batch_end",
    "on_validation_start",
    "on_validation_end",
    "on_validation_epoch_start",
    "on_validation_epoch_end",
    "on_validation_batch_start",
    "on_validation_batch_end",
    "on_test_start",
    "on_test_end",
    "on_test_epoch_start",
    "on_test_epoch_end",
    "on_test_batch_start",
    "on_test_batch_end",
    "on_predict_start",
    "on_predict_end",
    "on_predict_epoch_start",
    "on_predict_epoch_end",
    "on_predict_batch_start",
    "on_predict_batch_end",
    "on_before_zero_grad",
    "on_before_backward",
    "on_after_backward",
    "on_before_optimizer_step",
)
CALLBACK_HOOKS = (*MODULE_HOOKS, "on_sanity_check_start", "on_sanity_check_end", "on_exception")


def overrides(instance: object, base: type, name: str) -> bool:
    """Whether an object's method `name` is not the one that `base` defines."""
    method = getattr(instance, name, None)
    if method is None:
        return False
    return getattr(method, "__func__", method) is not getattr(base, name, None)


class HookTable:
    """The overridden hooks of one run: `table.call("on_train_start")` runs them in order.

    Callbacks run in the order of `trainer.callbacks`, then the module; callbacks get the trainer
    and the module as their first arguments. While a hook runs, `table.current` is its name: it
    decides what `log` means there.
    """

    def __init__(self, trainer: Any, module: Any, callbacks: list[Any]) -> None:
        from lightning_lite.callbacks.callback import Callback
        from lightning_lite.callbacks.checkpoint import Checkpoint
        from lightning_lite.module import LightningModule

        self.current: str | None = None
        self._trainer = trainer
        self._module = module
        self._before: dict[str, list[Callable]] = {}
        self._own: dict[str, Callable] = {}
        self._after: dict[str, list[Callable]] = {}
        for name in CALLBACK_HOOKS:
            late = name in WRITE_LAST
            used = [each for each in callbacks if overrides(each, Callback, name)]
            for each in used:
                group = self._after if late and isinstance(each, Checkpoint) else self._before
                group.setdefault(name, []).append(getattr(each, name))
        for name in MODULE_HOOKS:
            if module is not None and overrides(module, LightningModule, name):
                self._own[name] = getattr(module, name)
        # Loops look here before they call a hook of every step: nobody's costs them no call.
        self.used = frozenset(self._before) | frozenset(self._own) | frozenset(self._after)

    @classmethod
    def empty(cls) -> HookTable:
        """A table of nobody's hooks."""
        return cls(None, None, [])

    def uses(self, name: str) -> bool:
        """Whether anybody overrides this hook."""
        return name in self.used

    def call(self, name: str, *arguments: Any) -> Any:
        """Run a hook; return what the module's own method returns (None without one)."""
        if name not in self.used:
            return None
        previous, self.current = self.current, name
        answer = None
        try:
            for method in self._before.get(name, ()):
                method(self._trainer, self._module, *arguments)
            if name in self._own:
                answer = self._own[name](*arguments)
            for method in self._after.get(name, ()):
                method(self._trainer, self._module, *arguments)
        finally:
            self.current = previous
        return answer

    def step(self, name: str, method: Callable, *arguments: Any) -> Any:
        """Run one of the module's step methods under its name, so that it may log."""
        previous, self.current = self.current, name
        try:
            return method(*arguments)
        finally:
            self.current = previous
