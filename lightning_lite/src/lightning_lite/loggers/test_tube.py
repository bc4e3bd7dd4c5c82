"""TestTubeLogger: the folders of test-tube, which programs of Lightning's first versions read."""

from __future__ import annotations

import csv
import functools
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lightning_lite.loggers.csv_logs import CSVLogger
from lightning_lite.loggers.tensorboard import TensorBoardLogger
from lightning_lite.utilities.rank_zero import rank_zero_only


class TestTubeLogger(CSVLogger):
    """Writes a run as test-tube did: `save_dir/name/version_0/` with `metrics.csv` (a row for each
    step, and when it was logged), `meta_tags.csv` (hyper-parameters as keys and values) and the
    event files of TensorBoard in `tf/`.

    Args:
        save_dir: the folder of all experiments.
        name: of the experiment.
        description: what it is about, kept as `description`.
        debug: nothing is written.
        version: a number; by default the first one that is not used.
        create_git_tag: not available; tag the commit yourself.
        log_graph: whether the model's graph is written.
        prefix: what stands before every name.

    Raises:
        NotImplementedError: for `create_git_tag=True`.

    >>> import tempfile
    >>> log = TestTubeLogger(tempfile.mkdtemp(), name="digits")
    >>> log.log_hyperparams({"rate": 0.1})
    >>> log.log_metrics({"loss": 0.5}, step=3)
    >>> log.finalize("success")
    >>> sorted(os.listdir(log.log_dir))
    ['meta_tags.csv', 'metrics.csv', 'tf']
    """

    __test__ = False  # no test, whatever its name says
    TAGS_FILE = "meta_tags.csv"

    def __init__(
        self,
        save_dir: str | os.PathLike[str],
        name: str = "default",
        description: str | None = None,
        debug: bool = False,
        version: int | None = None,
        create_git_tag: bool = False,
        log_graph: bool = False,
        prefix: str = "",
    ) -> None:
        if create_git_tag:
            raise NotImplementedError(
                "TestTubeLogger(create_git_tag=True): not available; tag the commit yourself"
            )
        super().__init__(save_dir, name, version, prefix)
        self.description, self._debug, self._log_graph = description, debug, log_graph

    @functools.cached_property
    def _board(self) -> TensorBoardLogger:
        """What writes the curves of this run, in its folder `tf`."""
        return TensorBoardLogger(
            self.save_dir,
            self.name,
            self.version,
            self._log_graph,
            default_hp_metric=False,
            prefix=self._prefix,
            sub_dir="tf",
        )

    @property
    def experiment(self) -> Any:
        """The `SummaryWriter` of the run's folder `tf`, made at first use."""
        return self._board.experiment

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, Any], step: int | None = None) -> None:
        """Take a row, and add points to curves; `step` defaults to the number of rows."""
        if self._debug:
            return
        step = self._count if step is None else step
        super().log_metrics(metrics, step)
        self._board.log_metrics(metrics, step)

    def _row(self, metrics: dict[str, Any], step: int) -> dict[str, Any]:
        return {**super()._row(metrics, step), "created_at": str(datetime.now(UTC))}

    @rank_zero_only
    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Write the hyper-parameters as rows of a key and a value."""
        self._take_hyperparams(params)
        if self._debug:
            return
        path = Path(self.log_dir, self.TAGS_FILE)
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerows([("key", "value"), *self.hparams.items()])

    @rank_zero_only
    def log_graph(self, model: Any, input_array: Any = None) -> None:
        """Write the graph of a model, if the logger was asked for graphs."""
        if not self._debug:
            self._board.log_graph(model, input_array)

    @rank_zero_only
    def save(self) -> None:
        """Write the rows that are held."""
        if not self._debug:
            super().save()
            self._board.save()

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """The run is over: close the files."""
        self.save()
        if not self._debug:
            self._board.finalize(status)
