"""Loggers: where logged numbers go."""

from lightning_lite.loggers.csv_logs import CSVLogger
from lightning_lite.loggers.logger import DummyLogger, Logger

__all__ = ["CSVLogger", "DummyLogger", "Logger"]
