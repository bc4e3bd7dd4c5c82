"""SaveModel: the best weights of a training are what the model has at its end."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import rushlight as rl
from lightning_lite.easy.trackers import TrackerCallback


class SaveModel(TrackerCallback):
    """Keeps the weights of the epoch whose `monitor` was best over all trainings, and gives them
    back at the end.

    `monitor`, `comp`, `min_delta`: see `TrackerCallback`; `fname`: the file `path/fname.pt`. With
    `at_end=False` the model keeps the weights of the last epoch.
    """

    def __init__(
        self,
        monitor: str = "valid_loss",
        comp: str | Callable[[float, float], Any] | None = None,
        min_delta: float = 0.0,
        fname: str = "model",
        path: str | PathLike[str] | None = None,
        at_end: bool = True,
    ) -> None:
        super().__init__(monitor, comp, min_delta, reset_on_fit=False)
        self.fname, self.path, self.at_end = fname, path, at_end

    def _file(self, trainer: Any) -> Path:
        return Path(self.path or trainer.default_root_dir, f"{self.fname}.pt")

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Keep the weights if they are the best."""
        super().on_train_epoch_end(trainer, pl_module)
        if self.new_best and trainer.is_global_zero:
            path = self._file(trainer)
            path.parent.mkdir(parents=True, exist_ok=True)
            rl.save(pl_module.model.state_dict(), path)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Give the best weights back."""
        if self.at_end and self.best_epoch is not None:
            pl_module.model.load_state_dict(rl.load(self._file(trainer)))
