"""MLFlowLogger: MLflow."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from lightning_lite.loggers.client import ClientLogger, client, flattened
from lightning_lite.messages import warn
from lightning_lite.utilities.rank_zero import rank_zero_only

LONGEST_VALUE = 6000


class MLFlowLogger(ClientLogger):
    """Logs to MLflow, with the extra `mlflow`.

    `tracking_uri` (default: the variable `MLFLOW_TRACKING_URI`, else files in `save_dir`) is where;
    `experiment_name`, `run_name`, `tags`, `artifact_location` describe the run, unless `run_id`
    names one that was begun. `log_model` keeps checkpoints as artifacts (see `ClientLogger`).

    Args:
        checkpoint_path_prefix: the folder of artifacts that holds checkpoints.
        prefix: what stands before every name.
        synchronous: whether calls wait for the server.
    """

    def __init__(
        self,
        experiment_name: str = "lightning_logs",
        run_name: str | None = None,
        tracking_uri: str | None = None,
        tags: dict[str, Any] | None = None,
        save_dir: str | None = "./mlruns",
        log_model: bool | str = False,
        checkpoint_path_prefix: str = "",
        prefix: str = "",
        artifact_location: str | None = None,
        run_id: str | None = None,
        synchronous: bool | None = None,
    ) -> None:
        super().__init__(prefix, log_model)
        self._tracking = client("mlflow.tracking", "mlflow")
        uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
        self._uri = uri or f"file:{os.path.abspath(save_dir or 'mlruns')}"
        self._experiment_name, self._run_name = experiment_name, run_name
        self._tags, self._location = dict(tags or {}), artifact_location
        self._run_id, self._experiment_id = run_id, None
        self._path_prefix = checkpoint_path_prefix
        self._options = {} if synchronous is None else {"synchronous": synchronous}
        self._mlflow = self._tracking.MlflowClient(self._uri)

    def _make_experiment(self) -> Any:
        if self._run_id is not None:
            run = self._mlflow.get_run(self._run_id)
            self._experiment_id = run.info.experiment_id
            return self._mlflow
        found = self._mlflow.get_experiment_by_name(self._experiment_name)
        if found is not None and found.lifecycle_stage != "deleted":
            self._experiment_id = found.experiment_id
        else:
            self._experiment_id = self._mlflow.create_experiment(
                name=self._experiment_name, artifact_location=self._location
            )
        if self._run_name is not None:
            self._tags["mlflow.runName"] = self._run_name
        run = self._mlflow.create_run(experiment_id=self._experiment_id, tags=self._tags)
        self._run_id = run.info.run_id
        return self._mlflow

    @property
    def run_id(self) -> str:
        """The id of the run, which is begun if it was not."""
        _ = self.experiment
        return self._run_id or ""

    @property
    def experiment_id(self) -> Any:
        """The id of the experiment."""
        _ = self.experiment
        return self._experiment_id

    @property
    def name(self) -> str | None:
        """The id of the experiment."""
        return self.experiment_id

    @property
    def version(self) -> str | None:
        """The id of the run."""
        return self.run_id

    @property
    def save_dir(self) -> str | None:
        """The folder, where runs are files; None for a server."""
        return self._uri.removeprefix("file:") if self._uri.startswith("file:") else None

    @rank_zero_only
    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Log hyper-parameters; values longer than MLflow takes are cut, with a warning."""
        for name, value in flattened(params).items():
            text = str(value)
            if len(text) > LONGEST_VALUE:
                warn(f"MLFlowLogger: {name} has {len(text)} characters; {LONGEST_VALUE} are kept")
            self.experiment.log_param(self.run_id, name, text[:LONGEST_VALUE], **self._options)

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Log numbers; characters that MLflow's names cannot have become `_`."""
        for name, value in self._numbers(metrics).items():
            if isinstance(value, str):
                warn(f"MLFlowLogger: {name} is a string, which is no metric")
                continue
            allowed = re.sub(r"[^a-zA-Z0-9_/. -]+", "_", name)
            self.experiment.log_metric(self.run_id, allowed, value, step=step or 0, **self._options)

    @rank_zero_only
    def finalize(self, status: str = "success") -> None:
        """The run is over: hand over what was kept, and say how it ended."""
        if self._experiment is None:
            return
        self._finish_checkpoints()
        words = {"success": "FINISHED", "failed": "FAILED", "interrupted": "KILLED"}
        self.experiment.set_terminated(self.run_id, words.get(status, "FINISHED"))

    def _send_file(self, path: str, score: Any, aliases: list[str]) -> None:
        folder = "/".join(p for p in ("model/checkpoints", self._path_prefix, Path(path).stem) if p)
        self.experiment.log_artifact(self.run_id, path, folder)
