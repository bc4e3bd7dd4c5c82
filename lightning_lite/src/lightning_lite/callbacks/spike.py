"""SpikeDetection as a callback of the Trainer."""

from __future__ import annotations

from typing import Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.utilities import spike


class SpikeDetection(spike.SpikeDetection, Callback):
    """Stops training when the loss jumps; arguments as in `utilities.spike.SpikeDetection`."""

    def on_train_batch_end(  # type: ignore[override]
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Look at the loss of the batch."""
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None:
            spike.SpikeDetection.on_train_batch_end(self, trainer, loss, batch, batch_idx)
