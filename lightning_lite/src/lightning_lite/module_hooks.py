"""The hooks that modules and data modules may override."""

from __future__ import annotations

from typing import Any

from lightning_lite.batches import move_to_device


class ModelHooks:
    """Moments of a run at which a module may act."""

    # Where `self` is Any, the method uses what the `nn.Module` beside this class has.

    def on_fit_start(self) -> None:
        """Training is about to begin, after `setup`."""

    def on_fit_end(self) -> None:
        """Training is over, before `teardown`."""

    def on_train_start(self) -> None:
        """The training loop begins."""

    def on_train_end(self) -> None:
        """The training loop ends."""

    def on_train_epoch_start(self) -> None:
        """A training epoch begins."""

    def on_train_epoch_end(self) -> None:
        """A training epoch ends."""

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> int | None:
        """A training batch is about to be used; return -1 to end the epoch here."""

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """A training batch was used; `outputs` is what `training_step` returned."""

    def on_validation_start(self) -> None:
        """A validation begins."""

    def on_validation_end(self) -> None:
        """A validation ends."""

    def on_validation_epoch_start(self) -> None:
        """A validation epoch begins."""

    def on_validation_epoch_end(self) -> None:
        """A validation epoch ends."""

    def on_validation_batch_start(
        self, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """A validation batch is about to be used."""

    def on_validation_batch_end(
        self, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """A validation batch was used; `outputs` is what the step returned."""

    def on_test_start(self) -> None:
        """A test begins."""

    def on_test_end(self) -> None:
        """A test ends."""

    def on_test_epoch_start(self) -> None:
        """A test epoch begins."""

    def on_test_epoch_end(self) -> None:
        """A test epoch ends."""

    def on_test_batch_start(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """A test batch is about to be used."""

    def on_test_batch_end(
        self, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """A test batch was used; `outputs` is what the step returned."""

    def on_predict_start(self) -> None:
        """A prediction begins."""

    def on_predict_end(self) -> None:
        """A prediction ends."""

    def on_predict_epoch_start(self) -> None:
        """A prediction epoch begins."""

    def on_predict_epoch_end(self) -> None:
        """A prediction epoch ends."""

    def on_predict_batch_start(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """A prediction batch is about to be used."""

    def on_predict_batch_end(
        self, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """A prediction batch was used; `outputs` is what the step returned."""

    def on_before_zero_grad(self, optimizer: Any) -> None:
        """Gradients are about to be cleared."""

    def on_before_backward(self, loss: Any) -> None:
        """The loss is about to be differentiated."""

    def on_after_backward(self) -> None:
        """Gradients were computed."""

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        """The optimizer is about to use the gradients, before clipping."""

    def on_validation_model_eval(self: Any) -> None:
        """Put the module into evaluation mode before a validation."""
        self.eval()

    def on_validation_model_train(self: Any) -> None:
        """Put the submodules back into the modes they had before the validation."""
        self.trainer.restore_module_modes()

    def on_test_model_eval(self: Any) -> None:
        """Put the module into evaluation mode before a test."""
        self.eval()

    def on_test_model_train(self: Any) -> None:
        """Put the submodules back into the modes they had before the test."""
        self.trainer.restore_module_modes()

    def on_predict_model_eval(self: Any) -> None:
        """Put the module into evaluation mode before a prediction."""
        self.eval()

    def on_predict_model_train(self: Any) -> None:
        """Put the submodules back into the modes they had before the prediction."""
        self.trainer.restore_module_modes()

    def on_validation_model_zero_grad(self: Any) -> None:
        """Free the gradients' memory before a validation inside training."""
        self.zero_grad()

    def configure_model(self) -> None:
        """Make large submodules here, once per run, rather than in the constructor."""


class DataHooks:
    """Where data come from and how a batch gets to the device; for modules and data modules.

    `prepare_data_per_node`: whether `prepare_data` runs once on each machine, not once in all.
    """

    prepare_data_per_node: bool = True

    def prepare_data(self) -> None:
        """Download and convert once, before `setup`; keep nothing in attributes."""

    def setup(self, stage: str) -> None:
        """A run begins; `stage` is "fit", "validate", "test" or "predict"."""

    def teardown(self, stage: str) -> None:
        """A run is over."""

    def train_dataloader(self) -> Any:
        """The loader that training uses."""
        raise NotImplementedError(_missing(self, "train_dataloader"))

    def val_dataloader(self) -> Any:
        """The loader that validation uses, or a list of several."""
        raise NotImplementedError(_missing(self, "val_dataloader"))

    def test_dataloader(self) -> Any:
        """The loader that testing uses, or a list of several."""
        raise NotImplementedError(_missing(self, "test_dataloader"))

    def predict_dataloader(self) -> Any:
        """The loader that prediction uses, or a list of several."""
        raise NotImplementedError(_missing(self, "predict_dataloader"))

    def transfer_batch_to_device(self, batch: Any, device: Any, dataloader_idx: int) -> Any:
        """The batch on the device: tensors inside containers are moved."""
        return move_to_device(batch, device)

    def on_before_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        """Change a batch before it is moved to the device."""
        return batch

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        """Change a batch after it was moved to the device."""
        return batch

    def on_exception(self, exception: BaseException) -> None:
        """The run ends by an exception, Ctrl-C included."""


class CheckpointHooks:
    """What a checkpoint holds beyond weights and optimizers."""

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """A checkpoint is about to be written; it may be changed."""

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """A checkpoint was read; the module has not taken it over yet."""


def _missing(owner: object, name: str) -> str:
    """The message for a loader that nobody gave."""
    return (
        f"{type(owner).__name__} does not define {name}(); define it or give loaders to the Trainer"
    )
