"""The two classes that programs derive from, by Lightning's path `core`."""

from lightning_lite.datamodule import LightningDataModule
from lightning_lite.hyperparameters import HyperparametersMixin
from lightning_lite.module import LightningModule

__all__ = ["HyperparametersMixin", "LightningDataModule", "LightningModule"]
