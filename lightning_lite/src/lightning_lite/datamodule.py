"""LightningDataModule: preparing data and making loaders, apart from the model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from lightning_lite import checkpoint
from lightning_lite.hyperparameters import HyperparametersMixin
from lightning_lite.module_hooks import CheckpointHooks, DataHooks
from rushlight.utils.data import DataLoader, IterableDataset

if TYPE_CHECKING:
    from lightning_lite.trainer import Trainer


class LightningDataModule(HyperparametersMixin, DataHooks, CheckpointHooks):
    """Where data come from: `prepare_data`, `setup`, and a loader for each kind of run.

    Its hooks about batches (`transfer_batch_to_device`, `on_before_batch_transfer`,
    `on_after_batch_transfer`) win over the module's where it overrides them.

    >>> import rushlight as rl
    >>> from rushlight.utils.data import DataLoader, TensorDataset
    >>> class Numbers(LightningDataModule):
    ...     def setup(self, stage):
    ...         self.data = TensorDataset(rl.arange(8.0).reshape(8, 1))
    ...
    ...     def train_dataloader(self):
    ...         return DataLoader(self.data, batch_size=4)
    """

    name: str | None = None
    CHECKPOINT_HYPER_PARAMS_KEY = "datamodule_hyper_parameters"
    CHECKPOINT_HYPER_PARAMS_NAME = "datamodule_hparams_name"
    CHECKPOINT_HYPER_PARAMS_TYPE = "datamodule_hparams_type"

    def __init__(self) -> None:
        super().__init__()
        self.trainer: Trainer | None = None

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of this data module, in plain types and tensors."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` returned."""

    @classmethod
    def from_datasets(
        cls,
        train_dataset: Any = None,
        val_dataset: Any = None,
        test_dataset: Any = None,
        predict_dataset: Any = None,
        batch_size: int = 1,
        num_workers: int = 0,
        **datamodule_kwargs: Any,
    ) -> LightningDataModule:
        """A data module around data sets; for validation, test and prediction also lists of them.

        Training data are shuffled unless the data set is iterable.
        """

        def loader(dataset: Any, shuffle: bool = False) -> DataLoader:
            shuffle = shuffle and not isinstance(dataset, IterableDataset)
            return DataLoader(
                dataset, batch_size=batch_size, shuffle=shuffle, num_workers=num_workers
            )

        def loaders(given: Any, shuffle: bool = False) -> Any:
            if isinstance(given, list | tuple):
                return [loader(each, shuffle) for each in given]
            return loader(given, shuffle)

        given = {
            "train": train_dataset,
            "val": val_dataset,
            "test": test_dataset,
            "predict": predict_dataset,
        }
        made = cls(**datamodule_kwargs)
        for kind, data in given.items():
            if data is not None:
                make = partial(loaders, data, shuffle=kind == "train")
                setattr(made, f"{kind}_dataloader", make)
        return made

    @classmethod
    def load_from_checkpoint(
        cls,
        checkpoint_path: Any,
        map_location: Any = None,
        hparams_file: Any = None,
        weights_only: bool | None = None,
        **kwargs: Any,
    ) -> LightningDataModule:
        """A data module made with the hyper-parameters that a checkpoint holds of it."""
        return checkpoint.load_datamodule(
            cls, checkpoint_path, map_location, hparams_file, weights_only, kwargs
        )
