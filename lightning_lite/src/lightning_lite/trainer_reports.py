"""`Trainer.explain`: finds out what a fit would have, and says it."""

from __future__ import annotations

from typing import Any

from lightning_lite import data_sources, running
from lightning_lite.callbacks.connection import checkpoints_last
from lightning_lite.explaining import explain
from lightning_lite.feeding import limited, loader_length


def explained(trainer: Any, module: Any, training: Any, validation: Any, datamodule: Any) -> str:
    """The loop that a fit with these arguments would run."""
    data_sources.check_module(module, "Trainer.explain")
    loaders = {"train": training, "val": validation}
    loaders, datamodule = running.separate_datamodule(loaders, datamodule)
    kept = trainer.callbacks, trainer.datamodule
    brought = module.configure_callbacks() or []
    brought = list(brought) if isinstance(brought, list | tuple) else [brought]
    kinds = {type(each) for each in brought}
    others = [each for each in trainer.callbacks if type(each) not in kinds]
    trainer.callbacks = checkpoints_last(others + brought)
    trainer.datamodule = datamodule
    try:
        return explain(trainer, module, _lengths(trainer, module, datamodule, loaders))
    finally:
        trainer.callbacks, trainer.datamodule = kept


def _lengths(
    trainer: Any, module: Any, datamodule: Any, given: dict[str, Any]
) -> dict[str, float | None]:
    """Batches of an epoch and of a validation; None where only a run can tell."""
    sources = data_sources.DataSources(module, datamodule, given)
    found: dict[str, float | None] = {}
    for kind in ("train", "val"):
        if not sources.has(kind) or not getattr(trainer.limits, kind):
            found[kind] = 0
        elif given.get(kind) is None and sources.owner(kind) is datamodule is not None:
            found[kind] = None  # its loaders may need `setup`
        elif kind == "train":
            length = loader_length(sources.training_loader())
            found[kind] = limited(length, trainer.limits.train, "limit_train_batches")
        else:
            loaders = sources.evaluation_loaders("val")
            found[kind] = sum(data_sources.lengths(loaders, trainer.limits.val, "val"))
    return found
