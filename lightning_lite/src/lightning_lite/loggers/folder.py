"""What loggers share that write runs into folders of their own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from lightning_lite.configuration import as_dictionary
from lightning_lite.loggers.logger import Logger


class FolderLogger(Logger):
    """Runs in `save_dir/name/version_0`, `version_1`, ...

    Without a `version`, the first unused number is taken. `prefix` goes before every name.
    """

    LOGGER_JOIN_CHAR = "-"

    def __init__(
        self, save_dir: Any, name: str | None, version: int | str | None, prefix: str
    ) -> None:
        super().__init__()
        self._save_dir, self._name = os.fspath(save_dir), name or ""
        self._version, self._prefix = version, prefix
        self._count = 0
        self.hparams: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self._name

    @property
    def version(self) -> int | str:
        """The number or name of this run."""
        if self._version is None:
            self._version = self._unused_version()
        return self._version

    @property
    def save_dir(self) -> str:
        """The folder of all experiments."""
        return self._save_dir

    @property
    def root_dir(self) -> str:
        """The folder of all runs of the experiment."""
        return os.path.join(self._save_dir, self._name)

    @property
    def log_dir(self) -> str:
        """The folder of this run."""
        version = self.version if isinstance(self.version, str) else f"version_{self.version}"
        return os.path.join(self.root_dir, version)

    def _unused_version(self) -> int:
        root = Path(self.root_dir)
        names = [path.name for path in root.glob("version_*")] if root.is_dir() else []
        numbers = [int(name[8:]) for name in names if name[8:].isdigit()]
        return max(numbers, default=-1) + 1

    def _prefixed(self, name: str) -> str:
        return f"{self._prefix}{self.LOGGER_JOIN_CHAR}{name}" if self._prefix else name

    def _take_hyperparams(self, params: Any) -> dict[str, Any]:
        """Add to the hyper-parameters; what was added."""
        given = as_dictionary(params) or {}
        self.hparams.update(given)
        return given

    def _write_hyperparams(self, name: str) -> None:
        path = Path(self.log_dir, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        # JSON is YAML too, and needs no library to write
        text = json.dumps(self.hparams, indent=2, default=str, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
