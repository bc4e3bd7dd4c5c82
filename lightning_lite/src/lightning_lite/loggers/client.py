"""What loggers share that hand numbers to the client of a tracking service."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lightning_lite.configuration import as_dictionary, plain_form
from lightning_lite.loggers.logger import Logger, rank_zero_experiment
from lightning_lite.utilities.rank_zero import rank_zero_only


def client(module: str, extra: str | None = None) -> Any:
    """A service's client. Raises ModuleNotFoundError, with what to install, without it: an `extra`
    of this package, or the client's own one."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.partition(".")[0]):
            raise
        package = (
            module.partition(".")[0] if extra is None else f"rushlight-lightning-lite[{extra}]"
        )
        raise ModuleNotFoundError(
            f"this logger needs {module}: pip install {package}", name=error.name
        ) from error


def flattened(params: Any, separator: str = "/") -> dict[str, Any]:
    """Hyper-parameters without nesting: `{"a": {"b": 1}}` is `{"a/b": 1}`."""
    found: dict[str, Any] = {}
    for name, value in (as_dictionary(params) or {}).items():
        inner = as_dictionary(value)
        if inner:
            nested = flattened(inner, separator)
            found.update({f"{name}{separator}{key}": each for key, each in nested.items()})
        else:
            found[str(name)] = plain_form(value)
    return found


def plain_numbers(metrics: Mapping[str, Any], prefix: str, joint: str) -> dict[str, Any]:
    """Metrics with a prefix, tensors of one element as Python numbers."""
    named = {f"{prefix}{joint}{name}" if prefix else name: each for name, each in metrics.items()}
    return {name: v.item() if hasattr(v, "item") else v for name, v in named.items()}


class ClientLogger(Logger):
    """A logger over a client; `experiment` is the client's object, made at first use.

    `log_model`: "all" hands every checkpoint to the service when it is written, True those that
    are kept at the end, False none.
    """

    LOGGER_JOIN_CHAR = "-"

    def __init__(self, prefix: str, log_model: bool | str) -> None:
        super().__init__()
        self._prefix, self._log_model = prefix, log_model
        self._experiment: Any = None
        self._checkpoint_callback: Any = None
        self._sent: dict[str, float] = {}

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """The client's object; in other processes than the first, one that does nothing."""
        if self._experiment is None:
            self._experiment = self._make_experiment()
        return self._experiment

    def _make_experiment(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define _make_experiment")

    def _numbers(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        return plain_numbers(metrics, self._prefix, self.LOGGER_JOIN_CHAR)

    # -- checkpoints ----------------------------------------------------------------------------

    @rank_zero_only
    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        """Hand a checkpoint over now, or remember who keeps them."""
        if self._log_model == "all" or (
            self._log_model is True and getattr(checkpoint_callback, "save_top_k", 1) == -1
        ):
            self._send_checkpoints(checkpoint_callback)
        elif self._log_model is True:
            self._checkpoint_callback = checkpoint_callback

    def _finish_checkpoints(self) -> None:
        """Hand over what was kept."""
        if self._checkpoint_callback is not None:
            self._send_checkpoints(self._checkpoint_callback)

    def _send_checkpoints(self, callback: Any) -> None:
        kept = {str(path): score for path, score in callback.best_k_models.items()}
        kept.setdefault(callback.best_model_path, callback.best_model_score)
        kept.setdefault(callback.last_model_path, callback.current_score)
        for path, score in sorted(kept.items()):
            if not path or not Path(path).is_file():
                continue
            changed = Path(path).stat().st_mtime
            if self._sent.get(path) != changed:
                aliases = [
                    word
                    for word, own in (
                        ("latest", callback.last_model_path or path),
                        ("best", callback.best_model_path),
                    )
                    if own == path
                ]
                self._send_file(path, score, aliases)
                self._sent[path] = changed

    def _send_file(self, path: str, score: Any, aliases: list[str]) -> None:
        raise NotImplementedError(f"{type(self).__name__} keeps no checkpoints")
