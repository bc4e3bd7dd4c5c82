"""Loggers by Fabric's argument names."""

from __future__ import annotations

from typing import Any

from lightning_lite.loggers import csv_logs, tensorboard
from lightning_lite.loggers.logger import Logger

__all__ = ["CSVLogger", "Logger", "TensorBoardLogger"]


class CSVLogger(csv_logs.CSVLogger):
    """`lightning_lite.loggers.CSVLogger`, whose folder is called `root_dir` here."""

    def __init__(
        self,
        root_dir: Any = "logs",
        name: str | None = "lightning_logs",
        version: int | str | None = None,
        prefix: str = "",
        flush_logs_every_n_steps: int = 100,
    ) -> None:
        super().__init__(root_dir, name, version, prefix, flush_logs_every_n_steps)


class TensorBoardLogger(tensorboard.TensorBoardLogger):
    """`lightning_lite.loggers.TensorBoardLogger`, whose folder is called `root_dir` here."""

    def __init__(
        self,
        root_dir: Any = "logs",
        name: str | None = "lightning_logs",
        version: int | str | None = None,
        default_hp_metric: bool = True,
        prefix: str = "",
        sub_dir: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            root_dir,
            name,
            version,
            default_hp_metric=default_hp_metric,
            prefix=prefix,
            sub_dir=sub_dir,
            **kwargs,
        )
