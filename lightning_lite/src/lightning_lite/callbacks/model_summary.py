"""ModelSummary: a table of the layers and their parameters, before training."""

from __future__ import annotations

from typing import Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.messages import info
from lightning_lite.summary import summarize


class ModelSummary(Callback):
    """Prints the layers of the model and their numbers of parameters before training.

    `max_depth` says how deep nested layers are listed; -1 lists all, 0 only the total.

    >>> import lightning_lite as L
    >>> trainer = L.Trainer(max_epochs=1, callbacks=[ModelSummary(max_depth=2)])
    """

    def __init__(self, max_depth: int = 1) -> None:
        super().__init__()
        if max_depth < -1:
            raise ValueError(f"ModelSummary: max_depth={max_depth}; expected -1 or more")
        self.max_depth = max_depth

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Print the table."""
        info(summarize(pl_module, self.max_depth))
