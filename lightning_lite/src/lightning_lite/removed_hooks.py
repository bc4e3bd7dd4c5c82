"""Hooks of Lightning 1 that nothing calls: who still defines one is told what to use instead."""

from __future__ import annotations

from typing import Any

from lightning_lite.messages import warn

# Those that got the outputs of an epoch: without them such a module measures nothing.
GATHERED = {
    "training_epoch_end": "on_train_epoch_end",
    "validation_epoch_end": "on_validation_epoch_end",
    "test_epoch_end": "on_test_epoch_end",
}
RENAMED = {
    "training_step_end": "training_step",
    "validation_step_end": "validation_step",
    "test_step_end": "test_step",
    "on_epoch_start": "on_train_epoch_start",
    "on_epoch_end": "on_train_epoch_end",
    "on_batch_start": "on_train_batch_start",
    "on_batch_end": "on_train_batch_end",
    "on_pretrain_routine_start": "on_fit_start",
    "on_pretrain_routine_end": "on_fit_start",
    "on_init_start": "setup",
    "on_init_end": "setup",
}


def check_removed(module: Any, callbacks: list[Any]) -> None:
    """Raise NotImplementedError for a module that gathers outputs in a hook of Lightning 1; warn
    of other such hooks in the module and in callbacks."""
    kind = type(module)
    for name, instead in GATHERED.items():
        if callable(getattr(kind, name, None)):
            raise NotImplementedError(
                f"{kind.__name__}.{name}: Lightning 2 has no such hook. Use {instead}(self), and "
                "keep outputs in an attribute of the module"
            )
    for owner in (module, *callbacks):
        for name, instead in RENAMED.items():
            if callable(getattr(type(owner), name, None)):
                warn(
                    f"{type(owner).__name__}.{name} is never called: Lightning 2 has no such hook; "
                    f"use {instead}"
                )
