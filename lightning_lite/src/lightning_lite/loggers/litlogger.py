"""LitLogger: experiments of Lightning AI's platform."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lightning_lite.loggers.client import ClientLogger, client
from lightning_lite.messages import warn
from lightning_lite.utilities.rank_zero import rank_zero_only


class LitLogger(ClientLogger):
    """Logs to lightning.ai by the package litlogger (`pip install litlogger`).

    Args:
        root_dir: the folder of logs, "./lightning_logs" by default.
        name: the experiment's name, by default one that litlogger makes up.
        teamspace: where the experiment is shown.
        metadata: tags of the experiment.
        store_step: accepted as by Lightning; steps are always stored.
        log_model: whether checkpoints are uploaded: all of them where the callback keeps all,
            otherwise at the end those that were kept.
        save_logs: whether the terminal's output is uploaded.
        checkpoint_name: the name of uploaded checkpoints, by default the experiment's.

    Raises ModuleNotFoundError without litlogger.

        trainer = lightning_lite.Trainer(logger=LitLogger(name="digits", log_model=True))
    """

    def __init__(
        self,
        root_dir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        teamspace: str | None = None,
        metadata: dict[str, str] | None = None,
        store_step: bool = True,
        log_model: bool = False,
        save_logs: bool = True,
        checkpoint_name: str | None = None,
    ) -> None:
        super().__init__("", log_model)
        self._client = client("litlogger")
        self._root_dir = os.fspath(root_dir or "./lightning_logs")
        self._name = name or client("litlogger.generator")._create_name()
        self._version: str | None = None
        self._teamspace, self._metadata = teamspace, metadata or {}
        self._save_logs, self._checkpoint_name = save_logs, checkpoint_name
        self._step = -1
        self._last_saved: int | None = None

    def _make_experiment(self) -> Any:
        Path(self._root_dir).mkdir(parents=True, exist_ok=True)
        if self._version is None:
            moment = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._version = moment.replace(":", "-")
        made = self._client.Experiment(
            name=self._model_key(),
            teamspace=self._teamspace,
            metadata={key: str(value) for key, value in self._metadata.items()},
            store_step=True,
            store_created_at=True,
            log_dir=self.log_dir,
            save_logs=self._save_logs,
        )
        made.print_url()
        return made

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self._name

    @property
    def version(self) -> str | None:
        """The moment at which the experiment began, once it did."""
        return self._version

    @property
    def root_dir(self) -> str:
        """The folder of all experiments."""
        return self._root_dir

    @property
    def log_dir(self) -> str:
        """The folder of this experiment."""
        joined = os.path.join(self._root_dir, self._name)
        return os.path.expanduser(os.path.expandvars(joined))

    save_dir = log_dir

    @property
    def url(self) -> str:
        """Where the experiment is shown."""
        return self.experiment.url

    def _model_key(self) -> str:
        return self._name if self._version is None else f"{self._name}-{self._version}"

    # -- numbers --------------------------------------------------------------------------------

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Log numbers; without a step, one after the last."""
        self._step = self._step + 1 if step is None else step
        for name, value in self._numbers(metrics).items():
            self.experiment[name].append(value, step=self._step)

    @rank_zero_only
    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Log hyper-parameters as texts: a dictionary or a Namespace."""
        params = params if isinstance(params, Mapping) else vars(params)
        for name, value in params.items():
            self.experiment[name] = str(value)

    log_metadata = log_hyperparams

    def log_graph(self, model: Any, input_array: Any = None) -> None:
        """Warns: the platform shows no structure of models."""
        warn("LitLogger: log_graph is not supported; the structure of the model is not logged")

    # -- files ----------------------------------------------------------------------------------

    @rank_zero_only
    def log_model(
        self,
        model: Any,
        staging_dir: str | None = None,
        verbose: bool = False,
        version: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Upload a model.

        Args:
            model: the object.
            staging_dir: the folder in which it is written before.
            verbose: accepted as by Lightning.
            version: by default the number of the last step.
            metadata: tags of the model.
        """
        version = _version_of(version, self._step)
        experiment = self.experiment
        experiment[self._model_key()] = self._client.Model(
            model, version=version, metadata=metadata, staging_dir=staging_dir
        )

    @rank_zero_only
    def log_model_artifact(
        self, path: str, verbose: bool = False, version: str | None = None
    ) -> None:
        """Upload a model's file or folder; `version` is by default the number of the last step."""
        version = _version_of(version, self._step)
        experiment = self.experiment
        experiment[self._model_key()] = self._client.Model(path, version=version)

    @rank_zero_only
    def log_file(self, path: str) -> None:
        """Upload a file; it is found again under its path from the working folder."""
        self.experiment[_key(path)] = self._client.File(path)

    @rank_zero_only
    def get_file(self, path: str, verbose: bool = True) -> str:
        """Download a file that was uploaded under this path; where it is written."""
        return self.experiment[_key(path)].save(path)

    # -- checkpoints ----------------------------------------------------------------------------

    @rank_zero_only
    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        """Upload a checkpoint now, or remember who keeps them."""
        self._last_saved = getattr(checkpoint_callback, "_last_step_written", None)
        super().after_save_checkpoint(checkpoint_callback)

    def _send_file(self, path: str, score: Any, aliases: list[str]) -> None:
        version = _version_of(None, self._last_saved)
        key = self._checkpoint_name or self.experiment.name
        self.experiment[key] = self._client.Model(path, version=version)

    @rank_zero_only
    def finalize(self, status: str | None = None) -> None:
        """The run is over: upload what was kept."""
        if self._experiment is not None:
            self._finish_checkpoints()
            self._experiment.finalize(status)


def _version_of(version: str | None, step: int | None) -> str | None:
    """A version, by default the number of a step from 0 on."""
    return str(step) if version is None and step is not None and step >= 0 else version


def _key(path: str) -> str:
    """A file's path from the working folder, or its name where it is outside of that."""
    inside = os.path.relpath(path)
    return (os.path.basename(path) if inside.startswith("..") else inside).replace("\\", "/")
