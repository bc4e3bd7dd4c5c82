"""SaveModel: the best weights of a training are what the model has at its end."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import rushlight as rl
from lightning_lite.callbacks.callback import Callback
from lightning_lite.messages import warn


class SaveModel(Callback):
    """Keeps the weights of the epoch whose `monitor` was best, and gives them back at the end.

    `comp`: "less" or "greater" is better; None: less for losses and errors, else greater.
    `min_delta`: by how much; `fname`: the file `path/fname.pt`. With `at_end=False` the model keeps
    the weights of the last epoch.
    """

    def __init__(
        self,
        monitor: str = "valid_loss",
        comp: str | None = None,
        min_delta: float = 0.0,
        fname: str = "model",
        path: str | PathLike[str] | None = None,
        at_end: bool = True,
    ) -> None:
        if comp not in (None, "less", "greater"):
            raise ValueError(f"SaveModel: comp={comp!r}; expected 'less' or 'greater'")
        self.monitor, self.min_delta, self.fname, self.path = monitor, abs(min_delta), fname, path
        losses = monitor.endswith(("loss", "error", "error_rate"))
        self.less = losses if comp is None else comp == "less"
        self.at_end = at_end
        self.best: float | None = None
        self.best_epoch: int | None = None

    def _file(self, trainer: Any) -> Path:
        return Path(self.path or trainer.default_root_dir, f"{self.fname}.pt")

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Keep the weights if they are the best."""
        value = trainer.callback_metrics.get(self.monitor)
        if value is None:
            warn(f"SaveModel: {self.monitor!r} was not logged: {sorted(trainer.callback_metrics)}")
            return
        value = float(value)
        gain = 0.0 if self.best is None else (self.best - value if self.less else value - self.best)
        if self.best is None or gain > self.min_delta:
            self.best, self.best_epoch = value, trainer.current_epoch
            path = self._file(trainer)
            path.parent.mkdir(parents=True, exist_ok=True)
            rl.save(pl_module.model.state_dict(), path)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Give the best weights back."""
        if self.at_end and self.best is not None:
            pl_module.model.load_state_dict(rl.load(self._file(trainer)))
