"""The base of progress bars."""

from __future__ import annotations

from typing import Any

from lightning_lite.callbacks.callback import Callback


class ProgressBar(Callback):
    """Shows how far a run has come. Subclasses draw; `get_metrics` gives the numbers beside."""

    def __init__(self) -> None:
        super().__init__()
        self._trainer: Any = None

    @property
    def trainer(self) -> Any:
        """The trainer whose run is shown."""
        if self._trainer is None:
            raise TypeError(f"{type(self).__name__} has no trainer yet: it gets one in setup")
        return self._trainer

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Remember the trainer; draw in the first process alone."""
        self._trainer = trainer
        if not trainer.is_global_zero:
            self.disable()

    # What a line is called before its numbers; subclasses may say it otherwise.
    sanity_check_description = "Sanity Checking"
    train_description = "Training"
    validation_description = "Validation"
    test_description = "Testing"
    predict_description = "Predicting"

    @property
    def total_train_batches(self) -> float:
        """How many batches an epoch has; infinity if nobody knows."""
        return self.trainer.num_training_batches

    @property
    def total_val_batches(self) -> float:
        """How many batches a validation has, over all loaders."""
        return sum(self.trainer.num_val_batches)

    def disable(self) -> None:
        """Draw nothing from now on."""
        raise NotImplementedError(f"{type(self).__name__} does not define disable")

    def enable(self) -> None:
        """Draw again."""
        raise NotImplementedError(f"{type(self).__name__} does not define enable")

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print without tearing the bar."""
        print(*args, **kwargs)

    def get_metrics(self, trainer: Any, pl_module: Any) -> dict[str, Any]:
        """The numbers beside the bar: what was logged with `prog_bar=True`, the run's version."""
        return {**get_standard_metrics(trainer), **trainer.progress_bar_metrics}


def get_standard_metrics(trainer: Any) -> dict[str, Any]:
    """What every bar shows: the run's version as `v_num`, if a logger gives it one."""
    version = trainer.logger.version if trainer.logger is not None else None
    if version in (None, ""):
        return {}
    return {"v_num": version if isinstance(version, int) else str(version)[-4:]}


def total_or_none(number: float) -> int | None:
    """A number of batches for a bar: None if it is not known."""
    return None if number == float("inf") else int(number)


def shown_numbers(metrics: dict[str, Any]) -> dict[str, str]:
    """Numbers as they stand beside a bar: three significant digits."""
    return {
        name: f"{value:.3g}" if isinstance(value, float) else str(value)
        for name, value in metrics.items()
    }
