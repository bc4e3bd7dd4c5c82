"""Handwritten digits: `rushlight_vision.datasets.MNIST` as a data module."""

from __future__ import annotations

import importlib
from typing import Any

import rushlight as rl
from lightning_lite.datamodule import LightningDataModule
from rushlight.utils.data import DataLoader, random_split


def _vision(module: str) -> Any:
    try:
        return importlib.import_module(f"rushlight_vision.{module}")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "MNIST needs rushlight-vision: pip install rushlight-vision"
        ) from error


def MNIST(*args: Any, **kwargs: Any) -> Any:
    """`rushlight_vision.datasets.MNIST`. ModuleNotFoundError without rushlight-vision."""
    return _vision("datasets").MNIST(*args, **kwargs)


class MNISTDataModule(LightningDataModule):
    """MNIST in `data_dir`: `val_split` of the training pictures for validation, the test set.

    Pictures are `(N, 1, 28, 28)`, with mean 0 and deviation 1 unless `normalize=False`; the split
    is drawn with `seed`.
    """

    name = "mnist"

    def __init__(
        self,
        data_dir: Any = "data",
        val_split: int = 5000,
        num_workers: int = 0,
        normalize: bool = True,
        seed: int = 42,
        batch_size: int = 32,
    ) -> None:
        super().__init__()
        self.data_dir, self.val_split, self.num_workers = data_dir, val_split, num_workers
        self.normalize, self.seed, self.batch_size = normalize, seed, batch_size

    @property
    def num_classes(self) -> int:
        """10."""
        return 10

    @property
    def default_transforms(self) -> Any:
        """What pictures go through."""
        kit = _vision("transforms")
        steps = [kit.ToTensor()]
        if self.normalize:
            steps.append(kit.Normalize(mean=(0.1307,), std=(0.3081,)))
        return kit.Compose(steps)

    def prepare_data(self) -> None:
        """Fetch both parts."""
        for train in (True, False):
            MNIST(self.data_dir, train=train, download=True)

    def setup(self, stage: str) -> None:
        """Divide the training pictures."""
        whole = MNIST(self.data_dir, train=True, transform=self.default_transforms)
        parts = [len(whole) - self.val_split, self.val_split]
        drawn = rl.Generator().manual_seed(self.seed)
        self.dataset_train, self.dataset_val = random_split(whole, parts, generator=drawn)
        self.dataset_test = MNIST(self.data_dir, train=False, transform=self.default_transforms)

    def _loader(self, dataset: Any, shuffle: bool = False) -> Any:
        return DataLoader(
            dataset, batch_size=self.batch_size, shuffle=shuffle, num_workers=self.num_workers
        )

    def train_dataloader(self) -> Any:
        """The training pictures, shuffled."""
        return self._loader(self.dataset_train, shuffle=True)

    def val_dataloader(self) -> Any:
        """The pictures for validation."""
        return self._loader(self.dataset_val)

    def test_dataloader(self) -> Any:
        """The pictures for testing."""
        return self._loader(self.dataset_test)
