"""BasePredictionWriter: predictions are written where they are made, or all at the end."""

from __future__ import annotations

from typing import Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.utilities.enums import LightningEnum


class WriteInterval(LightningEnum):
    """When predictions are written."""

    BATCH = "batch"
    EPOCH = "epoch"
    BATCH_AND_EPOCH = "batch_and_epoch"

    @property
    def on_batch(self) -> bool:
        """Whether after every batch."""
        return self in (self.BATCH, self.BATCH_AND_EPOCH)

    @property
    def on_epoch(self) -> bool:
        """Whether at the end."""
        return self in (self.EPOCH, self.BATCH_AND_EPOCH)


class BasePredictionWriter(Callback):
    """The base of callbacks that write predictions.

    Subclasses define `write_on_batch_end` or `write_on_epoch_end` or both, and say with
    `write_interval` ("batch", "epoch", "batch_and_epoch") which is called. `batch_indices` are the
    positions of a batch's items in the data set, None where the order is random.

    >>> import rushlight as rl
    >>> class Saving(BasePredictionWriter):
    ...     def write_on_epoch_end(self, trainer, pl_module, predictions, batch_indices):
    ...         rl.save(predictions, "predictions.pt")
    >>> writer = Saving(write_interval="epoch")
    """

    def __init__(self, write_interval: str = "batch") -> None:
        known = [each.value for each in WriteInterval]
        if write_interval not in known:
            raise ValueError(
                f"{type(self).__name__}: write_interval={write_interval!r}; expected one of {known}"
            )
        self.interval = WriteInterval(str(write_interval))

    def write_on_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        prediction: Any,
        batch_indices: list[int] | None,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int,
    ) -> None:
        """Write the predictions of one batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define write_on_batch_end")

    def write_on_epoch_end(
        self, trainer: Any, pl_module: Any, predictions: Any, batch_indices: Any
    ) -> None:
        """Write all predictions; `batch_indices` are a list for each loader."""
        raise NotImplementedError(f"{type(self).__name__} does not define write_on_epoch_end")

    def on_predict_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Hand over one batch's predictions, if it is the time."""
        if self.interval.on_batch:
            indices = trainer.predict_loop.current_batch_indices
            self.write_on_batch_end(
                trainer, pl_module, outputs, indices, batch, batch_idx, dataloader_idx
            )

    def on_predict_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Hand over all predictions, if it is the time."""
        if self.interval.on_epoch:
            loop = trainer.predict_loop
            self.write_on_epoch_end(trainer, pl_module, loop.predictions, loop.epoch_batch_indices)
