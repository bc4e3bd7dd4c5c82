"""The base class of callbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lightning_lite.module import LightningModule
    from lightning_lite.trainer import Trainer


class Callback:
    """Something that happens at chosen moments of a run, apart from the model.

    Override the hooks that you need; each gets the trainer and the module. What `state_dict`
    returns is kept in checkpoints, under `state_key`, and given to `load_state_dict` when training
    resumes.

    >>> import lightning_lite as L
    >>> class Counting(L.Callback):
    ...     def on_train_start(self, trainer, pl_module):
    ...         self.batches = 0
    ...
    ...     def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
    ...         self.batches += 1
    >>> counting = Counting()
    >>> trainer = L.Trainer(max_epochs=1, callbacks=[counting])
    """

    @property
    def state_key(self) -> str:
        """The name of this callback's state in a checkpoint; unlike those of its siblings."""
        return type(self).__qualname__

    def _generate_state_key(self, **options: Any) -> str:
        """A `state_key` made of the class name and some options."""
        return f"{type(self).__qualname__}{options}"

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of this callback, in plain types and tensors."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` returned."""

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """A run begins; `stage` is "fit", "validate", "test" or "predict"."""

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """A run is over."""

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """A checkpoint is about to be written; it may be changed."""

    def on_load_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """A checkpoint was read; the module has not taken it over yet."""

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """The run ends by an exception, Ctrl-C included."""

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Training is about to begin, after `setup`."""

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Training is over, before `teardown`."""

    def on_sanity_check_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The short validation before training begins."""

    def on_sanity_check_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The short validation before training is over."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The training loop begins."""

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The training loop ends."""

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A training epoch begins."""

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A training epoch ends."""

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """A training batch is about to be used."""

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A training batch was used; `outputs` is what `training_step` returned."""

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A validation begins."""

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A validation ends."""

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A validation epoch begins."""

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A validation epoch ends."""

    def on_validation_batch_start(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """A validation batch is about to be used."""

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """A validation batch was used; `outputs` is what the step returned."""

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A test begins."""

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A test ends."""

    def on_test_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A test epoch begins."""

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A test epoch ends."""

    def on_test_batch_start(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """A test batch is about to be used."""

    def on_test_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """A test batch was used; `outputs` is what the step returned."""

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A prediction begins."""

    def on_predict_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A prediction ends."""

    def on_predict_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A prediction epoch begins."""

    def on_predict_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A prediction epoch ends."""

    def on_predict_batch_start(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """A prediction batch is about to be used."""

    def on_predict_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """A prediction batch was used; `outputs` is what the step returned."""

    def on_before_zero_grad(
        self, trainer: Trainer, pl_module: LightningModule, optimizer: Any
    ) -> None:
        """Gradients are about to be cleared."""

    def on_before_backward(self, trainer: Trainer, pl_module: LightningModule, loss: Any) -> None:
        """The loss is about to be differentiated."""

    def on_after_backward(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Gradients were computed."""

    def on_before_optimizer_step(
        self, trainer: Trainer, pl_module: LightningModule, optimizer: Any
    ) -> None:
        """The optimizer is about to use the gradients, before clipping."""
