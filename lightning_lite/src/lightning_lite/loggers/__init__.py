"""Loggers: where logged numbers go.

They import core and the messages. Begin reading at `logger.py`; those of tracking services stand
over `client.py` and are imported when they are asked for.
"""

from lightning_lite.lazy import attach
from lightning_lite.loggers.csv_logs import CSVLogger
from lightning_lite.loggers.logger import DummyLogger, Logger
from lightning_lite.loggers.tensorboard import TensorBoardLogger

HOMES = {
    "CometLogger": "loggers.comet",
    "LitLogger": "loggers.litlogger",
    "MLFlowLogger": "loggers.mlflow",
    "TestTubeLogger": "loggers.test_tube",
    "WandbLogger": "loggers.wandb",
}
LightningLoggerBase = Logger  # its name in versions before 1.8
__all__ = ["CSVLogger", "DummyLogger", "Logger", "TensorBoardLogger", *sorted(HOMES)]
__getattr__ = attach(__name__, HOMES)
