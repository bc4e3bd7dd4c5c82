"""LambdaCallback: a callback made of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.errors import MisconfigurationException
from lightning_lite.hooks import CALLBACK_HOOKS

NAMES = (*CALLBACK_HOOKS, "setup", "teardown", "on_save_checkpoint", "on_load_checkpoint")


class LambdaCallback(Callback):
    """Runs functions at hooks: `LambdaCallback(on_train_start=lambda trainer, module: ...)`.

    Each function gets what the hook gets: the trainer, the module, and the hook's own arguments.

    Args:
        **functions: functions by the names of hooks; each gets what the hook gets.

    >>> greeting = LambdaCallback(on_train_start=lambda trainer, module: print("begin"))
    >>> greeting.on_train_start(None, None)
    begin
    """

    def __init__(self, **functions: Callable[..., Any] | None) -> None:
        super().__init__()
        unknown = sorted(set(functions) - set(NAMES))
        if unknown:
            raise MisconfigurationException(
                f"LambdaCallback: there are no hooks {unknown}; expected some of {sorted(NAMES)}"
            )
        for name, function in functions.items():
            if function is not None:
                setattr(self, name, function)
