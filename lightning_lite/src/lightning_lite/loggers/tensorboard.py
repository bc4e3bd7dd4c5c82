"""TensorBoardLogger: curves, hyper-parameters and graphs as TensorBoard's event files."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from lightning_lite.loggers.logger import Logger


class TensorBoardLogger(Logger):
    """Writes `save_dir/name/version_0/events...`; show them with ``tensorboard --logdir save_dir``.

    Without a `version`, the first unused number is taken. `log_graph` writes the model's graph
    where the module has an `example_input_array`; `default_hp_metric` gives the page of
    hyper-parameters a value before there is a metric; `sub_dir` is a folder inside of the run's.
    `experiment` is the `SummaryWriter`, for pictures, sounds and histograms; further keywords go
    to it.
    """

    LOGGER_JOIN_CHAR = "-"
    NAME_HPARAMS_FILE = "hparams.yaml"

    def __init__(
        self,
        save_dir: Any,
        name: str | None = "lightning_logs",
        version: int | str | None = None,
        log_graph: bool = False,
        default_hp_metric: bool = True,
        prefix: str = "",
        sub_dir: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self._save_dir, self._name = os.fspath(save_dir), name or ""
        self._version, self._prefix, self._sub_dir = version, prefix, sub_dir
        self._log_graph, self._default_hp_metric = log_graph, default_hp_metric
        self._kwargs, self._writer, self._count = kwargs, None, 0
        self.hparams: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self._name

    @property
    def version(self) -> int | str:
        """The number or name of this run."""
        if self._version is None:
            root = Path(self.root_dir)
            names = [path.name[8:] for path in root.glob("version_*")] if root.is_dir() else []
            self._version = max((int(n) for n in names if n.isdigit()), default=-1) + 1
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
    def sub_dir(self) -> Any:
        """The folder inside of the run's, or None."""
        return self._sub_dir

    @property
    def log_dir(self) -> str:
        """The folder of this run."""
        version = self.version if isinstance(self.version, str) else f"version_{self.version}"
        return os.path.join(self.root_dir, version, *([self._sub_dir] if self._sub_dir else []))

    @property
    def experiment(self) -> Any:
        """The `SummaryWriter`, made at first use."""
        if self._writer is None:
            from rushlight.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(self.log_dir, **self._kwargs)
        return self._writer

    def log_metrics(self, metrics: dict[str, Any], step: int | None = None) -> None:
        """Add points to curves; a dictionary is a chart of several."""
        step = self._count if step is None else step
        self._count = step + 1
        prefix = f"{self._prefix}{self.LOGGER_JOIN_CHAR}" if self._prefix else ""
        for name, value in metrics.items():
            if isinstance(value, dict):
                self.experiment.add_scalars(prefix + name, value, step)
            else:
                self.experiment.add_scalar(prefix + name, value, step)

    def log_hyperparams(
        self, params: Any, metrics: dict[str, Any] | float | None = None, step: int | None = None
    ) -> None:
        """Take the hyper-parameters, with the metrics that came of them."""
        from rushlight.utils.tensorboard import summaries

        given = vars(params) if isinstance(params, Namespace) else dict(params or {})
        self.hparams.update(given)
        if metrics is None and self._default_hp_metric:
            metrics = -1.0
        metrics = metrics if isinstance(metrics, dict | None) else {"hp_metric": metrics}
        self.save()
        if not metrics:
            return
        self.log_metrics(metrics, 0 if step is None else step)
        plain = {k: v if isinstance(v, int | float | str) else str(v) for k, v in given.items()}
        for made in summaries.hparams(plain, metrics):
            self.experiment._get_file_writer().add_summary(made)

    def log_graph(self, model: Any, input_array: Any = None) -> None:
        """Write the graph of a model, if the logger was asked for graphs."""
        given = getattr(model, "example_input_array", None) if input_array is None else input_array
        if self._log_graph and given is not None:
            self.experiment.add_graph(model, given)

    def save(self) -> None:
        """Write what is held, and the hyper-parameters."""
        if self._writer is not None:
            self._writer.flush()
        if self.hparams:
            path = Path(self.log_dir, self.NAME_HPARAMS_FILE)
            path.parent.mkdir(parents=True, exist_ok=True)
            # JSON is YAML too, and needs no library to write
            text = json.dumps(self.hparams, indent=2, default=str, ensure_ascii=False)
            path.write_text(text + "\n", encoding="utf-8")

    def finalize(self, status: str) -> None:
        """The run is over: close the file."""
        self.save()
        if self._writer is not None:
            self._writer.close()
