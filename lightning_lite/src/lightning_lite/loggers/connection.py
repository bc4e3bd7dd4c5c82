"""The loggers of a trainer."""

from __future__ import annotations

from typing import Any

from lightning_lite.loggers.csv_logs import CSVLogger
from lightning_lite.loggers.logger import DummyLogger, Logger


def make_loggers(given: Any, root: str, fast_dev_run: bool) -> list[Logger]:
    """What `Trainer(logger=...)` means: True or None a CSVLogger, False none, else those given."""
    if given is None or given is True:
        loggers: list[Logger] = [CSVLogger(root)]
    elif given is False:
        loggers = []
    elif isinstance(given, list | tuple):
        loggers = list(given)
    else:
        loggers = [given]
    for logger in loggers:
        if not hasattr(logger, "log_metrics"):
            raise TypeError(f"Trainer(logger=...): {type(logger).__name__} has no log_metrics")
    return [DummyLogger()] if fast_dev_run and loggers else loggers
