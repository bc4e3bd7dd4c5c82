"""Averages of the weights over training, used for validation and kept at the end."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from lightning_lite.callbacks.callback import Callback
from rushlight.optim.swa_utils import AveragedModel, get_ema_avg_fn


class WeightAveraging(Callback):
    """Keeps an average of the weights beside the model.

    `should_update` says after which steps and epochs the average takes the model's weights in; by
    default after every step. Validation runs on the average, checkpoints hold it as `state_dict`
    (and the model's own weights as `current_model_state`), and at the end of training the model
    gets it. `device`: where the average is (None: where the model is). `use_buffers` averages
    buffers too; further keywords (`avg_fn`) go to `AveragedModel`.

    >>> class LastEpochs(WeightAveraging):
    ...     def should_update(self, step_idx=None, epoch_idx=None):
    ...         return epoch_idx is not None and epoch_idx >= 5
    >>> LastEpochs().should_update(epoch_idx=6)
    True
    """

    def __init__(self, device: Any = "cpu", use_buffers: bool = True, **kwargs: Any) -> None:
        self._device = device
        self._use_buffers = use_buffers
        self._kwargs = kwargs
        self._average_model: Any = None
        self._latest_update_step = 0
        self._latest_update_epoch = -1

    def should_update(self, step_idx: int | None = None, epoch_idx: int | None = None) -> bool:
        """Whether the average takes the weights in after this step, or after this epoch."""
        return step_idx is not None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Begin the average as a copy of the model."""
        if stage == "fit" and self._average_model is None:
            device = self._device or pl_module.device
            self._average_model = AveragedModel(
                pl_module, device=device, use_buffers=self._use_buffers, **self._kwargs
            )

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Take the weights in after a step."""
        step = trainer.global_step - 1
        if trainer.global_step > self._latest_update_step and self.should_update(step_idx=step):
            self._average_model.update_parameters(pl_module)
            self._latest_update_step = trainer.global_step

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Take the weights in after an epoch."""
        epoch = trainer.current_epoch
        if epoch > self._latest_update_epoch and self.should_update(epoch_idx=epoch):
            self._average_model.update_parameters(pl_module)
            self._latest_update_epoch = epoch

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Give the model the average."""
        self._copy_average_to(pl_module)

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Validate the average."""
        if self._average_model is not None:
            self._swap(pl_module)

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Go on with the model's own weights."""
        if self._average_model is not None:
            self._swap(pl_module)

    def _pairs(self, pl_module: Any) -> Any:
        average = self._average_model.module
        for ours, theirs in (
            (average.parameters(), pl_module.parameters()),
            (average.buffers(), pl_module.buffers()),
        ):
            yield from zip(ours, theirs, strict=True)

    def _swap(self, pl_module: Any) -> None:
        with rl.no_grad():
            for ours, theirs in self._pairs(pl_module):
                kept = ours.detach().clone()
                ours.copy_(theirs)
                theirs.copy_(kept)

    def _copy_average_to(self, pl_module: Any) -> None:
        with rl.no_grad():
            for ours, theirs in self._pairs(pl_module):
                theirs.copy_(ours)

    # -- checkpoints ----------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """When the average was changed last."""
        return {
            "latest_update_step": self._latest_update_step,
            "latest_update_epoch": self._latest_update_epoch,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from there."""
        self._latest_update_step = state_dict["latest_update_step"]
        self._latest_update_epoch = state_dict.get("latest_update_epoch", -1)

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Keep the average as the weights, and the model's own beside it."""
        if self._average_model is None:
            return
        average = self._average_model.state_dict()
        checkpoint["current_model_state"] = checkpoint["state_dict"]
        checkpoint["state_dict"] = {
            name.removeprefix("module."): value
            for name, value in average.items()
            if name.startswith("module.")
        }
        checkpoint["averaging_state"] = {
            name: value for name, value in average.items() if not name.startswith("module.")
        }

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Take the average and the model's own weights apart again."""
        if self._average_model is None or "current_model_state" not in checkpoint:
            return
        saved = {f"module.{name}": each for name, each in checkpoint["state_dict"].items()}
        self._average_model.load_state_dict({**saved, **checkpoint["averaging_state"]})
        checkpoint["state_dict"] = checkpoint["current_model_state"]


class EMAWeightAveraging(WeightAveraging):
    """Keeps an exponential moving average: `average = decay * average + (1 - decay) * weights`.

    `update_every_n_steps`: after which steps; `update_starting_at_step` and
    `update_starting_at_epoch`: not before. With the epoch alone, it is updated after epochs.

    Args:
        use_buffers: whether buffers are averaged too.
        decay: the share of the average that stays at every update.

    >>> averaging = EMAWeightAveraging(decay=0.99, update_every_n_steps=2)
    >>> averaging.should_update(step_idx=4), averaging.should_update(step_idx=5)
    (True, False)
    """

    def __init__(
        self,
        device: Any = "cpu",
        use_buffers: bool = True,
        decay: float = 0.999,
        update_every_n_steps: int = 1,
        update_starting_at_step: int | None = None,
        update_starting_at_epoch: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            device=device, use_buffers=use_buffers, avg_fn=get_ema_avg_fn(decay), **kwargs
        )
        self.update_every_n_steps = update_every_n_steps
        self.update_starting_at_step = update_starting_at_step
        self.update_starting_at_epoch = update_starting_at_epoch

    def should_update(self, step_idx: int | None = None, epoch_idx: int | None = None) -> bool:
        """Whether the average takes the weights in after this step, or after this epoch."""
        if step_idx is not None:
            first = self.update_starting_at_step or 0
            return step_idx >= first and step_idx % self.update_every_n_steps == 0
        first_epoch = self.update_starting_at_epoch
        return epoch_idx is not None and first_epoch is not None and epoch_idx >= first_epoch
