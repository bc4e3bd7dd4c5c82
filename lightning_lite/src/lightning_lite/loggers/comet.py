"""CometLogger: Comet."""

from __future__ import annotations

from typing import Any

from lightning_lite.loggers.client import ClientLogger, client, flattened
from lightning_lite.utilities.rank_zero import rank_zero_only


class CometLogger(ClientLogger):
    """Logs to Comet, with the extra `comet`.

    `workspace`, `project`, `experiment_key`, `mode` ("get", "create", "get_or_create"), `online`
    and further keywords go to `comet_ml.start`. `log_model` keeps checkpoints (see
    `ClientLogger`).

    Args:
        api_key: the key of the account, by default the one that comet_ml is configured with.
        prefix: what stands before every name.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        workspace: str | None = None,
        project: str | None = None,
        experiment_key: str | None = None,
        mode: str | None = None,
        online: bool | None = None,
        prefix: str = "",
        log_model: bool | str = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(prefix, log_model)
        self._comet = client("comet_ml", "comet")
        self._key, self._project, self._run_name = experiment_key, project, name
        self._start = {
            "api_key": api_key,
            "workspace": workspace,
            "project": project,
            "experiment_key": experiment_key,
            "mode": mode,
            "online": online,
            "experiment_config": self._comet.ExperimentConfig(**{"name": name, **kwargs}),
        }

    def _make_experiment(self) -> Any:
        made = self._comet.start(**self._start)
        self._key = made.get_key()
        return made

    @property
    def name(self) -> str | None:
        """The project."""
        return self._project or "comet-default"

    @property
    def version(self) -> str | None:
        """The key of the experiment, once it was begun."""
        return self._key

    @rank_zero_only
    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Log hyper-parameters."""
        self.experiment.log_parameters(flattened(params))

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Log numbers."""
        epoch = metrics.get("epoch")
        named = self._numbers({k: v for k, v in metrics.items() if k != "epoch"})
        self.experiment.log_metrics(named, step=step, epoch=epoch)

    @rank_zero_only
    def log_graph(self, model: Any, input_array: Any = None) -> None:
        """Log the model's structure."""
        self.experiment.set_model_graph(model)

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """The run is over: send what is waiting."""
        if self._experiment is not None:
            self._finish_checkpoints()
            self.experiment.flush()

    def _send_file(self, path: str, score: Any, aliases: list[str]) -> None:
        self.experiment.log_model(name="model", file_or_folder=path, metadata={"aliases": aliases})
