"""WandbLogger: Weights & Biases."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lightning_lite.errors import MisconfigurationException
from lightning_lite.loggers.client import ClientLogger, client, flattened
from lightning_lite.utilities.rank_zero import rank_zero_only

if TYPE_CHECKING:
    from os import PathLike


class WandbLogger(ClientLogger):
    """Logs to Weights & Biases, with the extra `wandb`.

    `name`, `project`, `id` (or `version`), `save_dir` (or `dir`), `offline` and further keywords go
    to `wandb.init`, unless `experiment` is a run that was begun. `log_model` keeps checkpoints as
    artifacts (see `ClientLogger`), named `checkpoint_name`. MisconfigurationException for
    checkpoints while offline.

    Args:
        anonymous: whether the run may be without an account.
        prefix: what stands before every name.
        add_file_policy: what wandb does with files of artifacts: "mutable" copies them first,
            "immutable" does not.
    """

    def __init__(
        self,
        name: str | None = None,
        save_dir: Any = ".",
        version: str | None = None,
        offline: bool = False,
        dir: str | PathLike[str] | None = None,
        id: str | None = None,
        anonymous: bool | None = None,
        project: str | None = None,
        log_model: bool | str = False,
        experiment: object = None,
        prefix: str = "",
        checkpoint_name: str | None = None,
        add_file_policy: str = "mutable",
        **kwargs: Any,
    ) -> None:
        if offline and log_model:
            raise MisconfigurationException(
                f"WandbLogger(offline=True, log_model={log_model!r}): artifacts need the service"
            )
        super().__init__(prefix, log_model)
        self._wandb = client("wandb", "wandb")
        self._experiment = experiment
        self._checkpoint_name, self._policy = checkpoint_name, add_file_policy
        self._offline = offline
        folder = os.fspath(dir if dir is not None else save_dir)
        self._save_dir, self._id = folder, version or id
        self._project = project or os.environ.get("WANDB_PROJECT", "lightning_logs")
        self._init = {
            "name": name,
            "project": self._project,
            "dir": folder,
            "id": self._id,
            "resume": "allow",
            **({"anonymous": "allow"} if anonymous else {}),
            **kwargs,
        }
        self._name = self._init["name"]

    def _make_experiment(self) -> Any:
        if self._offline:
            os.environ["WANDB_MODE"] = "offline"
        if self._wandb.run is not None:
            return self._wandb.run
        Path(self._save_dir).mkdir(parents=True, exist_ok=True)
        made = self._wandb.init(**self._init)
        if callable(getattr(made, "define_metric", None)):
            made.define_metric("trainer/global_step")
            made.define_metric("*", step_metric="trainer/global_step", step_sync=True)
        return made

    @property
    def name(self) -> str | None:
        """The project."""
        return self._project

    @property
    def version(self) -> str | None:
        """The id of the run."""
        return self._experiment.id if self._experiment is not None else self._id

    @property
    def save_dir(self) -> str:
        """The folder of the run's files."""
        return self._save_dir

    def watch(
        self, model: Any, log: str | None = "gradients", log_freq: int = 100, log_graph: bool = True
    ) -> None:
        """Let the service look at a model's gradients or parameters."""
        self.experiment.watch(model, log=log, log_freq=log_freq, log_graph=log_graph)

    @rank_zero_only
    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Add to the run's configuration."""
        self.experiment.config.update(flattened(params), allow_val_change=True)

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Log numbers, with the step beside them."""
        named = self._numbers(metrics)
        if step is not None:
            named["trainer/global_step"] = step
        self.experiment.log(named)

    def log_table(
        self,
        key: str,
        columns: list[str] | None = None,
        data: list[list[Any]] | None = None,
        dataframe: Any = None,
        step: int | None = None,
    ) -> None:
        """Log a table of any objects."""
        made = self._wandb.Table(columns=columns, data=data, dataframe=dataframe)
        self.log_metrics({key: made}, step)

    log_text = log_table

    def _log_media(self, kind: str, key: str, items: list[Any], step: Any, options: Any) -> None:
        if not isinstance(items, list):
            raise TypeError(f"log_{kind.lower()}: expected a list, got {type(items).__name__}")
        for name, values in options.items():
            if len(values) != len(items):
                raise ValueError(f"log_{kind.lower()}: {len(items)} items, {len(values)} {name}")
        make = getattr(self._wandb, kind)
        made = [
            make(item, **{name: values[number] for name, values in options.items()})
            for number, item in enumerate(items)
        ]
        self.log_metrics({key: made}, step)

    def log_image(
        self, key: str, images: list[Any], step: int | None = None, **kwargs: Any
    ) -> None:
        """Log pictures (arrays, tensors, PIL images, paths); keywords are lists, one entry each."""
        self._log_media("Image", key, images, step, kwargs)

    def log_audio(
        self, key: str, audios: list[Any], step: int | None = None, **kwargs: Any
    ) -> None:
        """Log sounds. Keywords are lists, one entry each."""
        self._log_media("Audio", key, audios, step, kwargs)

    def log_video(
        self, key: str, videos: list[Any], step: int | None = None, **kwargs: Any
    ) -> None:
        """Log videos. Keywords are lists, one entry each."""
        self._log_media("Video", key, videos, step, kwargs)

    def use_artifact(self, artifact: str, artifact_type: str | None = None) -> Any:
        """An artifact that the run is noted to use."""
        return self.experiment.use_artifact(artifact, type=artifact_type)

    @staticmethod
    def download_artifact(
        artifact: str,
        save_dir: Any = None,
        artifact_type: str | None = None,
        use_artifact: bool = True,
    ) -> str:
        """The folder of an artifact that is downloaded."""
        wandb = client("wandb", "wandb")
        if wandb.run is not None and use_artifact:
            found = wandb.run.use_artifact(artifact)
        else:
            found = wandb.Api().artifact(artifact, type=artifact_type)
        return str(found.download(root=None if save_dir is None else os.fspath(save_dir)))

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """The run is over: hand over what was kept."""
        if status == "success" and self._experiment is not None:
            self._finish_checkpoints()

    def _send_file(self, path: str, score: Any, aliases: list[str]) -> None:
        name = self._checkpoint_name or f"model-{self.experiment.id}"
        metadata = {"score": None if score is None else float(score), "file": Path(path).name}
        made = self._wandb.Artifact(name=name, type="model", metadata=metadata)
        made.add_file(path, name="model.ckpt", policy=self._policy)
        self.experiment.log_artifact(made, aliases=aliases)
