"""GradientAccumulationScheduler: accumulates over more batches from given epochs on."""

from __future__ import annotations

from typing import Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.errors import MisconfigurationException


class GradientAccumulationScheduler(Callback):
    """Changes `accumulate_grad_batches` at given epochs.

    `scheduling` maps the number of an epoch (from 0) to how many batches are accumulated from
    there on: `{0: 8, 4: 4, 8: 1}`. Before the first one, nothing is accumulated.

    >>> scheduler = GradientAccumulationScheduler({0: 8, 4: 4})
    >>> scheduler.get_accumulate_grad_batches(2), scheduler.get_accumulate_grad_batches(5)
    (8, 4)
    """

    def __init__(self, scheduling: dict[int, int]) -> None:
        super().__init__()
        if not scheduling:
            raise TypeError(
                "GradientAccumulationScheduler: scheduling is empty; give {epoch: batches}"
            )
        for epoch, factor in scheduling.items():
            if not isinstance(epoch, int) or not isinstance(factor, int) or epoch < 0 or factor < 1:
                raise MisconfigurationException(
                    f"GradientAccumulationScheduler: {{{epoch!r}: {factor!r}}}; expected an epoch "
                    "from 0 on and a number of batches from 1 on"
                )
        self.scheduling = {0: 1, **scheduling}
        self.epochs = sorted(self.scheduling)

    def get_accumulate_grad_batches(self, epoch: int) -> int:
        """How many batches are accumulated in an epoch."""
        return self.scheduling[max(known for known in self.epochs if known <= epoch)]

    def going_to_accumulate_grad_batches(self) -> bool:
        """Whether anything is accumulated at any time."""
        return any(factor > 1 for factor in self.scheduling.values())

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Complain of settings that it would contradict, and set the factor of this epoch."""
        if not pl_module.automatic_optimization:
            raise MisconfigurationException(
                "GradientAccumulationScheduler: manual optimization accumulates by itself"
            )
        if trainer.accumulate_grad_batches != 1:
            raise MisconfigurationException(
                "GradientAccumulationScheduler: leave accumulate_grad_batches of the Trainer at 1"
            )
        self._set(trainer)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Set the factor of this epoch."""
        self._set(trainer)

    def _set(self, trainer: Any) -> None:
        trainer.accumulate_grad_batches = self.get_accumulate_grad_batches(trainer.current_epoch)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Leave the trainer as it was."""
        if stage == "fit":
            trainer.accumulate_grad_batches = 1
