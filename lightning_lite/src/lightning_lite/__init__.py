"""A trainer for Rushlight models, with the names and habits of Lightning.

import lightning_lite as L

class Model(L.LightningModule): ...

L.Trainer(max_epochs=3).fit(Model(), loader)
"""

from lightning_lite import callbacks, loggers, messages
from lightning_lite._version import __version__
from lightning_lite.callbacks import Callback
from lightning_lite.combined_loader import CombinedLoader
from lightning_lite.datamodule import LightningDataModule
from lightning_lite.errors import MisconfigurationException
from lightning_lite.lazy import attach
from lightning_lite.module import LightningModule
from lightning_lite.random_state import seed_everything
from lightning_lite.trainer import Trainer

_logger = messages.log  # by this name programs quieten it
LAZY = {"Fabric": "fabric.fabric"}
__all__ = [
    *LAZY,
    "Callback",
    "CombinedLoader",
    "LightningDataModule",
    "LightningModule",
    "MisconfigurationException",
    "Trainer",
    "__version__",
    "callbacks",
    "loggers",
    "seed_everything",
]
__getattr__ = attach(__name__, LAZY)
