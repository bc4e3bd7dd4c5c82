"""The callbacks of a trainer: those given, those its options add, those its module brings."""

from __future__ import annotations

from typing import Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.callbacks.checkpoint import Checkpoint
from lightning_lite.callbacks.model_checkpoint import ModelCheckpoint
from lightning_lite.callbacks.model_summary import ModelSummary
from lightning_lite.callbacks.progress.progress_bar import ProgressBar
from lightning_lite.callbacks.progress.tqdm_progress import TQDMProgressBar
from lightning_lite.callbacks.timer import Timer
from lightning_lite.errors import MisconfigurationException


def default_callbacks(given: dict[str, Any]) -> list[Callback]:
    """The callbacks of a trainer with these arguments."""
    callbacks = given["callbacks"] or []
    callbacks = list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks]
    for callback in callbacks:
        if not isinstance(callback, Callback):
            what = repr(callback)
            if isinstance(callback, type):
                what = f"the class {callback.__name__}; give {callback.__name__}(...)"
            raise TypeError(f"Trainer(callbacks=...): expected a Callback, got {what}")
    _add(
        callbacks,
        given["enable_checkpointing"],
        "enable_checkpointing",
        Checkpoint,
        ModelCheckpoint,
    )
    _add(
        callbacks, given["enable_progress_bar"], "enable_progress_bar", ProgressBar, TQDMProgressBar
    )
    _add(
        callbacks, given["enable_model_summary"], "enable_model_summary", ModelSummary, ModelSummary
    )
    if given["max_time"] is not None and not any(isinstance(each, Timer) for each in callbacks):
        callbacks.append(Timer(given["max_time"], interval="step"))
    check_unique(callbacks)
    return checkpoints_last(callbacks)


def _add(
    callbacks: list[Callback], enabled: bool | None, option: str, kind: type, default: type
) -> None:
    """Add a callback unless one of its kind is there; complain if it is there but switched off."""
    present = [each for each in callbacks if isinstance(each, kind)]
    if enabled is False and present:
        raise MisconfigurationException(
            f"Trainer({option}=False) contradicts the callback {type(present[0]).__name__}"
        )
    if kind is ProgressBar and len(present) > 1:
        raise MisconfigurationException("Trainer(callbacks=...): give one progress bar only")
    if enabled is not False and not present:
        callbacks.append(default())


def check_unique(callbacks: list[Callback]) -> None:
    """Complain of callbacks whose states could not be told apart."""
    keys = [callback.state_key for callback in callbacks if callback.state_dict()]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise RuntimeError(
            f"Trainer(callbacks=...): two callbacks have the state key {twice[0]!r}; their "
            "settings "
            "must differ, or override state_key"
        )


def checkpoints_last(callbacks: list[Callback]) -> list[Callback]:
    """Callbacks that write checkpoints come last, so that they see what all others did."""
    late = [each for each in callbacks if isinstance(each, Checkpoint)]
    return [each for each in callbacks if not isinstance(each, Checkpoint)] + late


def attach_module_callbacks(trainer: Any) -> None:
    """Add what the module's `configure_callbacks` gives; it replaces callbacks of the same type."""
    taken = trainer.takes_module_callbacks
    brought = trainer.lightning_module.configure_callbacks() if taken else None
    if not brought:
        return
    brought = list(brought) if isinstance(brought, list | tuple) else [brought]
    kinds = {type(each) for each in brought}
    kept = [each for each in trainer.callbacks if type(each) not in kinds]
    trainer.callbacks = checkpoints_last(kept + brought)
