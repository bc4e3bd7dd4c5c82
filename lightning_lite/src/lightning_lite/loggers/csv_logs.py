"""CSVLogger: numbers in `metrics.csv`, hyper-parameters in `hparams.yaml`."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from lightning_lite.loggers.folder import FolderLogger


class CSVLogger(FolderLogger):
    """Writes `save_dir/name/version_0/metrics.csv`, a row per logged step.

    A name that appears later adds a column: the file is then written anew, aside, and renamed.
    Without a `version`, the first unused number is taken; with one whose folder holds a
    `metrics.csv` already, rows are added to it. `prefix` goes before every name; rows reach the
    file at the latest every `flush_logs_every_n_steps` steps.
    """

    METRICS_FILE = "metrics.csv"
    HPARAMS_FILE = "hparams.yaml"

    def __init__(
        self,
        save_dir: Any,
        name: str | None = "lightning_logs",
        version: int | str | None = None,
        prefix: str = "",
        flush_logs_every_n_steps: int = 100,
    ) -> None:
        super().__init__(save_dir, name, version, prefix)
        self._flush_every = flush_logs_every_n_steps
        self._rows: list[dict[str, Any]] = []
        self._columns: list[str] = []

    @property
    def metrics_file_path(self) -> str:
        """The file with the numbers."""
        return os.path.join(self.log_dir, self.METRICS_FILE)

    @property
    def experiment(self) -> CSVLogger:
        """The logger itself: there is nothing behind it."""
        return self

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Take a row; `step` defaults to the number of rows."""
        row = {self._prefixed(name): _number(value) for name, value in metrics.items()}
        row["step"] = self._count if step is None else step
        self._count += 1
        self._rows.append(row)
        if (row["step"] + 1) % self._flush_every == 0:
            self.save()

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Take the hyper-parameters; they are written with the next rows."""
        self._take_hyperparams(params)
        self._write_hyperparams(self.HPARAMS_FILE)

    def save(self) -> None:
        """Write the rows that are held."""
        if not self._rows:
            return
        path = Path(self.metrics_file_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        exists = path.is_file()
        if exists and not self._columns:
            with open(path, newline="", encoding="utf-8") as file:
                self._columns = next(csv.reader(file), [])
        names = set().union(*self._rows)
        if names <= set(self._columns) and exists:
            with open(path, "a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, self._columns).writerows(self._rows)
        else:
            self._columns = sorted(names | set(self._columns))
            self._write_anew(path, exists)
        self._rows = []

    def _write_anew(self, path: Path, exists: bool) -> None:
        """Write the file with the new columns: aside, then renamed."""
        rows: list[dict[str, Any]] = []
        if exists:
            with open(path, newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
        aside = path.with_name(f".{path.name}.{os.getpid()}.part")
        with open(aside, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self._columns)
            writer.writeheader()
            writer.writerows(rows)
            writer.writerows(self._rows)
        os.replace(aside, path)


def _number(value: Any) -> Any:
    """A tensor of one element as a number."""
    return value.item() if hasattr(value, "item") else value
