"""TensorBoardLogger: curves, hyper-parameters and graphs as TensorBoard's event files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lightning_lite.loggers.folder import FolderLogger
from lightning_lite.utilities.rank_zero import rank_zero_only

if TYPE_CHECKING:
    from os import PathLike


class TensorBoardLogger(FolderLogger):
    """Writes `save_dir/name/version_0/events...`; show them with ``tensorboard --logdir save_dir``.

    Without a `version`, the first unused number is taken. `log_graph` writes the model's graph
    where the module has an `example_input_array`; `default_hp_metric` gives the page of
    hyper-parameters a value before there is a metric; `sub_dir` is a folder inside of the run's.
    `experiment` is the `SummaryWriter`, for pictures, sounds and histograms; further keywords go
    to it.

    Args:
        save_dir: the folder of all experiments.
        prefix: what stands before every name.
    """

    NAME_HPARAMS_FILE = "hparams.yaml"

    def __init__(
        self,
        save_dir: str | PathLike[str],
        name: str | None = "lightning_logs",
        version: int | str | None = None,
        log_graph: bool = False,
        default_hp_metric: bool = True,
        prefix: str = "",
        sub_dir: str | PathLike[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(save_dir, name, version, prefix)
        self._sub_dir, self._kwargs = sub_dir, kwargs
        self._writer: Any = None
        self._log_graph, self._default_hp_metric = log_graph, default_hp_metric

    @property
    def sub_dir(self) -> Any:
        """The folder inside of the run's, or None."""
        return self._sub_dir

    @property
    def log_dir(self) -> str:
        """The folder of this run."""
        return os.path.join(super().log_dir, *([self._sub_dir] if self._sub_dir else []))

    @property
    def experiment(self) -> Any:
        """The `SummaryWriter`, made at first use."""
        if self._writer is None:
            from rushlight.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(self.log_dir, **self._kwargs)
        return self._writer

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, Any], step: int | None = None) -> None:
        """Add points to curves; a dictionary is a chart of several."""
        step = self._count if step is None else step
        self._count = step + 1
        for name, value in metrics.items():
            if isinstance(value, dict):
                self.experiment.add_scalars(self._prefixed(name), value, step)
            else:
                self.experiment.add_scalar(self._prefixed(name), value, step)

    @rank_zero_only
    def log_hyperparams(
        self, params: Any, metrics: dict[str, Any] | float | None = None, step: int | None = None
    ) -> None:
        """Take the hyper-parameters, with the metrics that came of them."""
        from rushlight.utils.tensorboard.summary import hparams

        given = self._take_hyperparams(params)
        if metrics is None and self._default_hp_metric:
            metrics = -1.0
        metrics = metrics if isinstance(metrics, dict | None) else {"hp_metric": metrics}
        self.save()
        if not metrics:
            return
        self.log_metrics(metrics, 0 if step is None else step)
        plain = {k: v if isinstance(v, int | float | str) else str(v) for k, v in given.items()}
        for made in hparams(plain, metrics):
            self.experiment._get_file_writer().add_summary(made)

    def state_dict(self) -> dict[str, Any]:
        """The step of the last points."""
        return {"step": self._count - 1} if self._count else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Let TensorBoard forget the points after a step, which earlier files may hold."""
        if self._writer is not None:
            self._writer.close()  # a new file says where the points begin again
            self._writer = None
        self._kwargs["purge_step"] = state_dict["step"] + 1
        self._count = state_dict["step"] + 1

    @rank_zero_only
    def log_graph(self, model: Any, input_array: Any = None) -> None:
        """Write the graph of a model, if the logger was asked for graphs."""
        given = getattr(model, "example_input_array", None) if input_array is None else input_array
        if self._log_graph and given is not None:
            self.experiment.add_graph(model, given)

    @rank_zero_only
    def save(self) -> None:
        """Write what is held, and the hyper-parameters."""
        if self._writer is not None:
            self._writer.flush()
        if self.hparams:
            self._write_hyperparams(self.NAME_HPARAMS_FILE)

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """The run is over: close the file."""
        self.save()
        if self._writer is not None:
            self._writer.close()
