"""OnExceptionCheckpoint: a checkpoint of the moment at which something was raised."""

from __future__ import annotations

import os
from typing import Any

from lightning_lite.callbacks.checkpoint import Checkpoint


class OnExceptionCheckpoint(Checkpoint):
    """Writes `dirpath/filename.ckpt` when training, validation, test or prediction raises.

    Training goes on from it with `ckpt_path`. Raises ValueError without a file name.

    >>> import lightning_lite as L
    >>> trainer = L.Trainer(max_epochs=1, callbacks=[OnExceptionCheckpoint("runs")])
    """

    FILE_EXTENSION = ".ckpt"

    def __init__(self, dirpath: str | os.PathLike, filename: str = "on_exception") -> None:
        super().__init__()
        if not filename:
            raise ValueError("OnExceptionCheckpoint: filename is empty")
        self.dirpath, self.filename = dirpath, filename

    @property
    def ckpt_path(self) -> str:
        """The file."""
        return os.path.join(self.dirpath, self.filename + self.FILE_EXTENSION)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Write it."""
        trainer.save_checkpoint(self.ckpt_path)
