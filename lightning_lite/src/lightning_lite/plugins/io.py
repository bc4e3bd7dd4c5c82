"""Writing, reading and removing checkpoint files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from lightning_lite import checkpoint as checkpoint_files
from lightning_lite.batches import map_tensors
from lightning_lite.lazy import attach

__getattr__ = attach(__name__, {})


class CheckpointIO:
    """The base of what writes and reads checkpoints: `Trainer(plugins=[MyIO()])`."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None
    ) -> None:
        """Write a checkpoint."""
        raise NotImplementedError(f"{type(self).__name__} does not define save_checkpoint")

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Read a checkpoint."""
        raise NotImplementedError(f"{type(self).__name__} does not define load_checkpoint")

    def remove_checkpoint(self, path: Any) -> None:
        """Remove a checkpoint."""
        raise NotImplementedError(f"{type(self).__name__} does not define remove_checkpoint")

    def teardown(self) -> None:
        """Finish what is under way."""


class TorchCheckpointIO(CheckpointIO):
    """Files of `rushlight.save`, each written aside and renamed: whole or not there.

    >>> import tempfile
    >>> import rushlight as rl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.ckpt")
    ...     TorchCheckpointIO().save_checkpoint({"state_dict": {"w": rl.ones(2)}}, path)
    ...     print(TorchCheckpointIO().load_checkpoint(path)["state_dict"]["w"])
    tensor([1., 1.])
    """

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None
    ) -> None:
        """Write a checkpoint. TypeError for storage options, which files have none of."""
        if storage_options is not None:
            raise TypeError("TorchCheckpointIO: storage_options mean nothing for a file")
        checkpoint_files.write(checkpoint, path)

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Read a checkpoint; nothing in it is executed unless `weights_only=False`."""
        return checkpoint_files.read(path, map_location, weights_only)

    def remove_checkpoint(self, path: Any) -> None:
        """Remove a file, or a folder with all in it, if it is there."""
        if Path(path).is_dir():
            shutil.rmtree(path)
        else:
            Path(path).unlink(missing_ok=True)


class AsyncCheckpointIO(CheckpointIO):
    """Writes in a thread, so that training goes on; reads and removes as `checkpoint_io` does.

    What is written is the state at the call: tensors are copied before the thread begins. An error
    of the thread is raised at the next call or at the end of the run.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     io = AsyncCheckpointIO()
    ...     io.save_checkpoint({"state_dict": {}}, Path(folder, "a.ckpt"))
    ...     io.teardown()
    ...     print(Path(folder, "a.ckpt").is_file())
    True
    """

    def __init__(self, checkpoint_io: CheckpointIO | None = None) -> None:
        self.checkpoint_io = checkpoint_io or TorchCheckpointIO()
        self._executor: ThreadPoolExecutor | None = None
        self._pending: list[Future] = []

    def _submit(self, work: Callable, *arguments: Any) -> None:
        self._raise_errors()
        if self._executor is None:
            self._executor = ThreadPoolExecutor(max_workers=1)
        self._pending.append(self._executor.submit(work, *arguments))

    def _raise_errors(self, wait: bool = False) -> None:
        done = [each for each in self._pending if wait or each.done()]
        self._pending = [each for each in self._pending if each not in done]
        for each in done:
            each.result()

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None
    ) -> None:
        """Write a checkpoint, later."""
        copied = map_tensors(checkpoint, lambda tensor: tensor.detach().clone())
        self._submit(self.checkpoint_io.save_checkpoint, copied, path, storage_options)

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Read a checkpoint, after all that is under way."""
        self._raise_errors(wait=True)
        return self.checkpoint_io.load_checkpoint(path, map_location, weights_only=weights_only)

    def remove_checkpoint(self, path: Any) -> None:
        """Remove a checkpoint, after all that is under way."""
        self._submit(self.checkpoint_io.remove_checkpoint, path)

    def teardown(self) -> None:
        """Wait until all is written."""
        self._raise_errors(wait=True)
        if self._executor is not None:
            self._executor.shutdown(wait=True)
            self._executor = None
