"""Loggers: where logged numbers go."""

from lightning_lite.loggers.csv_logs import CSVLogger
from lightning_lite.loggers.logger import DummyLogger, Logger
from lightning_lite.loggers.tensorboard import TensorBoardLogger

__all__ = ["CSVLogger", "DummyLogger", "Logger", "TensorBoardLogger"]
