"""fastai's callbacks of gradients: their norm is limited, those of several batches are added."""

from __future__ import annotations

from typing import Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.errors import MisconfigurationException
from rushlight import nn


class GradientClip(Callback):
    """Limits the norm of all gradients together to `max_norm` before every step; `norm_type` is its
    power, infinity the largest. ValueError for a limit that is not above 0.

    >>> GradientClip(0.5).max_norm
    0.5

    Pascanu et al., "On the difficulty of training recurrent neural networks", 2013.
    """

    def __init__(self, max_norm: float = 1.0, norm_type: float = 2.0) -> None:
        super().__init__()
        if not max_norm > 0:
            raise ValueError(f"GradientClip: max_norm={max_norm!r}; expected a number above 0")
        self.max_norm, self.norm_type = max_norm, norm_type

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        """Scale the gradients where their norm is larger."""
        params = [p for group in optimizer.param_groups for p in group["params"]]
        nn.utils.clip_grad_norm_(params, self.max_norm, self.norm_type)


class GradientAccumulation(Callback):
    """Steps once for `n_acc` samples: the gradients of as many batches are added, their losses
    divided by how many. The last batches of an epoch step, too, where they are fewer.

    MisconfigurationException at the start of a training whose batch size does not divide `n_acc`,
    or is not known.

    >>> GradientAccumulation(64).n_acc
    64
    """

    def __init__(self, n_acc: int = 32) -> None:
        super().__init__()
        if not isinstance(n_acc, int) or n_acc < 1:
            raise ValueError(f"GradientAccumulation: n_acc={n_acc!r}; expected an int from 1 on")
        self.n_acc = n_acc
        self._before = 1

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Find how many batches that are."""
        size = getattr(trainer.train_dataloader, "batch_size", None)
        if not size or self.n_acc % size:
            raise MisconfigurationException(
                f"GradientAccumulation: n_acc={self.n_acc} is no multiple of the batch size, "
                f"{size}; choose one"
            )
        self._before = trainer.accumulate_grad_batches
        trainer.accumulate_grad_batches = self.n_acc // size

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Leave the trainer as it was."""
        if stage == "fit":
            trainer.accumulate_grad_batches = self._before
