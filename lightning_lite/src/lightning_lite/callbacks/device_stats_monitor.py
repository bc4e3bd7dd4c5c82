"""DeviceStatsMonitor: what the device does, logged at every batch."""

from __future__ import annotations

from typing import Any

from lightning_lite.accelerators import accelerator_of
from lightning_lite.callbacks.callback import Callback
from lightning_lite.errors import MisconfigurationException


class DeviceStatsMonitor(Callback):
    """Logs memory and use of the device at the start and end of every batch that is logged.

    `cpu_stats`: None logs the processor's where training runs on it; True always; False never.
    Names are `DeviceStatsMonitor.on_train_batch_start/cpu_percent` and so on. Raises
    MisconfigurationException for a trainer without a logger.

    >>> import lightning_lite as L
    >>> trainer = L.Trainer(max_epochs=1, callbacks=[DeviceStatsMonitor()])
    """

    def __init__(self, cpu_stats: bool | None = None) -> None:
        self._cpu_stats = cpu_stats

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Complain where nothing could be logged."""
        if stage == "fit" and not trainer.loggers:
            raise MisconfigurationException("DeviceStatsMonitor: the Trainer has no logger")

    def _log(self, trainer: Any, moment: str) -> None:
        every = trainer.log_every_n_steps
        progress = trainer.state.progress
        if not trainer.loggers or not every or (progress.logged_steps + 1) % every:
            return
        device = trainer.root_device
        found = dict(accelerator_of(device).get_device_stats(device))
        if self._cpu_stats is False and device.type == "cpu":
            found = {}
        if self._cpu_stats and device.type != "cpu":
            found.update(accelerator_of("cpu").get_device_stats(device))
        prefix = type(self).__qualname__
        named = {f"{prefix}.{moment}/{name}": value for name, value in found.items()}
        for logger in trainer.loggers:
            logger.log_metrics(named, step=progress.logged_steps)

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log before a training batch."""
        self._log(trainer, "on_train_batch_start")

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log after a training batch."""
        self._log(trainer, "on_train_batch_end")
