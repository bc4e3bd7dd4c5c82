"""Which arguments a module's step method takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from lightning_lite.hooks import overrides


def positional(method: Callable) -> tuple[list[str], bool]:
    """Names of the arguments that may be given by position, and whether more may follow."""
    parameters = inspect.signature(method).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.kind in kinds]
    return names, any(p.kind is p.VAR_POSITIONAL for p in parameters)


class StepSignature:
    """How a step method is called: with the batch, its number, and the loader's number if it asks.

    The number of the loader is given if there are several loaders, or if the method has an argument
    `dataloader_idx`.
    """

    def __init__(self, module: Any, step: str) -> None:
        from lightning_lite.module import LightningModule

        names, more = positional(getattr(module, step))
        self.takes_batch_idx = more or len(names) >= 2
        self.takes_loader = more or len(names) >= 3
        self.asks_loader = "dataloader_idx" in names
        self.clips = overrides(module, LightningModule, "configure_gradient_clipping")

    @classmethod
    def of_nobody(cls) -> StepSignature:
        """A signature to stand there before there is a module."""
        from lightning_lite.module import LightningModule

        return cls(LightningModule(), "training_step")

    def arguments(
        self, batch: Any, batch_idx: int, dataloader_idx: int, several: bool
    ) -> tuple[Any, ...]:
        """The arguments of one call."""
        if self.takes_loader and (several or self.asks_loader):
            return batch, batch_idx, dataloader_idx
        return (batch, batch_idx) if self.takes_batch_idx else (batch,)
