"""One process on one device."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from lightning_lite.strategies.strategy import Strategy


class SingleDeviceStrategy(Strategy):
    """One process on one device, which `device` may name.

    Args:
        accelerator: what is known of the device, by default found out.
        checkpoint_io: what writes and reads checkpoints.
        precision_plugin: the precision, by default what the Trainer is told.

    >>> SingleDeviceStrategy("cpu").root_device
    device(type='cpu')
    """

    strategy_name = "single_device"

    def __init__(
        self,
        device: Any = None,
        accelerator: Any = None,
        checkpoint_io: Any = None,
        precision_plugin: Any = None,
    ) -> None:
        super().__init__(accelerator, checkpoint_io, precision_plugin)
        self.device = None if device is None else rl.device(device)

    @property
    def root_device(self) -> Any:
        """The device."""
        return super().root_device if self._trainer is not None else self.device
