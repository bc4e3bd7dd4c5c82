"""One process on one device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite.strategies.strategy import Strategy

if TYPE_CHECKING:
    from lightning_lite.accelerators.accelerator import Accelerator
    from lightning_lite.plugins.io import CheckpointIO
    from lightning_lite.plugins.precision import Precision


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
        accelerator: Accelerator | None = None,
        checkpoint_io: CheckpointIO | None = None,
        precision_plugin: Precision | None = None,
    ) -> None:
        super().__init__(accelerator, checkpoint_io, precision_plugin)
        self.device = None if device is None else rl.device(device)

    @property
    def root_device(self) -> Any:
        """The device."""
        return super().root_device if self._trainer is not None else self.device
