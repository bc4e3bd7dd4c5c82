"""ShowGraph: the losses of training and validation as a picture, drawn anew after every epoch."""

from __future__ import annotations

import sys
from os import PathLike
from pathlib import Path
from typing import Any

from lightning_lite.easy.data.showing import pyplot
from lightning_lite.easy.recorder import Recorder


class ShowGraph(Recorder):
    """Draws the losses so far at the end of every epoch: in a notebook below the cell, elsewhere
    into the file `path`, by default ``losses.png`` in the Learner's folder. Needs the extra `plot`.

    >>> ShowGraph("losses.png").path
    'losses.png'
    """

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        super().__init__([])
        self.path = path
        self._shown: Any = None

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Draw."""
        super().on_train_epoch_end(trainer, pl_module)
        figure = self.plot_loss(skip_start=0).figure
        shell = sys.modules.get("IPython")
        if shell is not None and "IPKernelApp" in getattr(shell.get_ipython(), "config", {}):
            self._show(shell.display.display, figure)
        else:
            path = Path(self.path or Path(trainer.default_root_dir, "losses.png"))
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path)
        pyplot("ShowGraph").close(figure)

    def _show(self, display: Any, figure: Any) -> None:
        if self._shown is None:
            self._shown = display(figure, display_id=True)
        else:
            self._shown.update(figure)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """The next training has a picture of its own."""
        self._shown = None


ShowGraphCallback = ShowGraph
