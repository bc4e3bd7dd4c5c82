"""CSVLogger: numbers in `metrics.csv`, hyper-parameters in `hparams.yaml`."""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lightning_lite.loggers.folder import FolderLogger
from lightning_lite.messages import warn
from lightning_lite.utilities.rank_zero import rank_zero_only

if TYPE_CHECKING:
    from os import PathLike


class CSVLogger(FolderLogger):
    """Writes `save_dir/name/version_0/metrics.csv`, a row per logged step.

    A name that appears later adds a column: the file is then written anew, aside, and renamed.
    Without a `version`, the first unused number is taken; with one whose folder holds a
    `metrics.csv` already, rows are added to it. When training goes on from a checkpoint, the rows
    that the file got after the checkpoint are removed, for they are logged again. `prefix` goes
    before every name; rows reach the file at the latest every `flush_logs_every_n_steps` steps.

    Args:
        save_dir: the folder of all experiments.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = CSVLogger(folder, name="digits", flush_logs_every_n_steps=1)
    ...     log.log_metrics({"loss": 0.5}, step=3)
    ...     log.save()
    ...     print(open(log.log_dir + "/metrics.csv").read().strip())
    loss,step
    0.5,3
    """

    METRICS_FILE = "metrics.csv"
    HPARAMS_FILE = "hparams.yaml"

    def __init__(
        self,
        save_dir: str | PathLike[str],
        name: str | None = "lightning_logs",
        version: int | str | None = None,
        prefix: str = "",
        flush_logs_every_n_steps: int = 100,
    ) -> None:
        super().__init__(save_dir, name, version, prefix)
        if flush_logs_every_n_steps < 1:
            raise ValueError(
                f"CSVLogger: flush_logs_every_n_steps={flush_logs_every_n_steps}: expected 1 or "
                "more"
            )
        self._flush_every = flush_logs_every_n_steps
        self._rows: list[dict[str, Any]] = []
        self._columns: list[str] = []
        # Rows of the file (None: not looked at yet), and the last one's step.
        self._written: int | None = None
        self._last_step: Any = None

    @property
    def metrics_file_path(self) -> str:
        """The file with the numbers."""
        return os.path.join(self.log_dir, self.METRICS_FILE)

    @property
    def experiment(self) -> ExperimentWriter:
        """What writes the files."""
        return ExperimentWriter(self.log_dir, self)

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Take a row; `step` defaults to the number of rows."""
        row = self._row(metrics, self._count if step is None else step)
        self._count += 1
        self._rows.append(row)
        self._last_step = row["step"]
        if (row["step"] + 1) % self._flush_every == 0:
            self.save()

    def _row(self, metrics: dict[str, float], step: int) -> dict[str, Any]:
        """What the file gets for a step."""
        row = {self._prefixed(name): _number(value) for name, value in metrics.items()}
        return {**row, "step": step}

    @rank_zero_only
    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Take the hyper-parameters; they are written with the next rows."""
        self._take_hyperparams(params)
        self._write_hyperparams(self.HPARAMS_FILE)

    @rank_zero_only
    def save(self) -> None:
        """Write the rows that are held."""
        if not self._rows:
            return
        path = Path(self.metrics_file_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        exists = path.is_file()
        self._written = self._count_written() + len(self._rows)
        if exists and not self._columns:
            with open(path, newline="", encoding="utf-8") as file:
                self._columns = next(csv.reader(file), [])
        names = set().union(*self._rows)
        if names <= set(self._columns) and exists:
            with open(path, "a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, self._columns).writerows(self._rows)
        else:
            self._columns = sorted(names | set(self._columns))
            self._write_rows(path, [*_rows_of(path), *self._rows])
        self._rows = []

    def state_dict(self) -> dict[str, Any]:
        """The file, how many rows it gets, and the step of the last."""
        rows = self._count_written() + len(self._rows)
        return {"file": self._absolute_path(), "rows": rows, "step": self._last_step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Remove the rows after those that there were, if the file holds the same log."""
        self.save()
        path = Path(self.metrics_file_path)
        rows, kept, step = _rows_of(path), state_dict["rows"], state_dict["step"]
        if len(rows) < kept or not rows:
            return
        if step is None:
            same = self._absolute_path() == state_dict["file"]
        else:
            same = rows[kept - 1].get("step") == str(step)
        if not same:
            warn(
                f"CSVLogger: row {kept} of {path} is not of step {step}, where the checkpoint was "
                "written, so the file is of another run; rows are added to it"
            )
            return
        with open(path, newline="", encoding="utf-8") as file:
            self._columns = next(csv.reader(file))
        self._write_rows(path, rows[:kept])
        self._written, self._last_step = kept, step

    def _absolute_path(self) -> str:
        return os.path.abspath(self.metrics_file_path)

    def _count_written(self) -> int:
        """Rows of the file, counted once."""
        if self._written is None:
            self._written = len(_rows_of(Path(self.metrics_file_path)))
        return self._written

    def _write_rows(self, path: Path, rows: list[dict[str, Any]]) -> None:
        """Write the whole file: aside, then renamed."""
        aside = path.with_name(f".{path.name}.{os.getpid()}.part")
        with open(aside, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self._columns)
            writer.writeheader()
            writer.writerows(rows)
        os.replace(aside, path)


class ExperimentWriter:
    """Writes numbers and hyper-parameters into the folder `log_dir`, which it makes.

    `log_metrics` takes rows, `save` writes them to `metrics.csv`; `log_hparams` writes
    `hparams.yaml`. `logger`: the CSVLogger whose rows these are; by default one of its own.

    >>> import tempfile
    >>> from pathlib import Path
    >>> writer = ExperimentWriter(tempfile.mkdtemp())
    >>> writer.log_metrics({"loss": 0.5}, step=1)
    >>> writer.save()
    >>> print(Path(writer.metrics_file_path).read_text().strip())
    loss,step
    0.5,1
    """

    NAME_HPARAMS_FILE = CSVLogger.HPARAMS_FILE
    NAME_METRICS_FILE = CSVLogger.METRICS_FILE

    def __init__(self, log_dir: Any, logger: CSVLogger | None = None) -> None:
        self.log_dir = os.fspath(log_dir)
        if logger is None:
            folder, name = os.path.split(os.path.abspath(self.log_dir))
            # Rows are written when `save` is called, and not before.
            logger = CSVLogger(folder, "", name, flush_logs_every_n_steps=sys.maxsize)
            os.makedirs(self.log_dir, exist_ok=True)
        self._logger = logger

    @property
    def metrics_file_path(self) -> str:
        """The file with the numbers."""
        return self._logger.metrics_file_path

    @property
    def hparams(self) -> dict[str, Any]:
        """The hyper-parameters so far."""
        return self._logger.hparams

    def log_hparams(self, params: dict[str, Any]) -> None:
        """Add hyper-parameters, and write them."""
        self._logger.log_hyperparams(params)

    def log_metrics(self, metrics_dict: dict[str, Any], step: int | None = None) -> None:
        """Take a row; `step` defaults to the number of rows."""
        self._logger.log_metrics(metrics_dict, step)

    def save(self) -> None:
        """Write the rows that are held."""
        self._logger.save()


def _rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; none if there is no file."""
    if not path.is_file():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _number(value: Any) -> Any:
    """A tensor of one element as a number."""
    return value.item() if hasattr(value, "item") else value
