"""BatchSizeFinder: the largest batch size that fits, before training, validation, test or
prediction."""

from __future__ import annotations

from typing import Any

from lightning_lite.callbacks.callback import Callback


class BatchSizeFinder(Callback):
    """Runs `Tuner.scale_batch_size` before a run, which then uses what it found.

    Arguments as for `Tuner.scale_batch_size`. The result is `optimal_batch_size`.

    Args:
        mode: "power" doubles the size, "binsearch" then searches between the last two.
        steps_per_trial: steps with each size.
        init_val: the first size.
        max_trials: how many sizes are tried.
        batch_arg_name: the attribute of module or data module that holds the size.
        margin: the share that "binsearch" takes off the size it found.
        max_val: the largest size that is tried.

    >>> import lightning_lite as L
    >>> trainer = L.Trainer(max_epochs=1, callbacks=[BatchSizeFinder(mode="binsearch", init_val=8)])
    """

    SUPPORTED_MODES = ("power", "binsearch")

    def __init__(
        self,
        mode: str = "power",
        steps_per_trial: int = 3,
        init_val: int = 2,
        max_trials: int = 25,
        batch_arg_name: str = "batch_size",
        margin: float = 0.05,
        max_val: int | None = None,
    ) -> None:
        mode = mode.lower()
        if mode not in self.SUPPORTED_MODES:
            raise ValueError(
                f"BatchSizeFinder: mode {mode!r}; expected one of {self.SUPPORTED_MODES}"
            )
        self.optimal_batch_size: int | None = init_val
        self._options: dict[str, Any] = {
            "mode": mode,
            "steps_per_trial": steps_per_trial,
            "init_val": init_val,
            "max_trials": max_trials,
            "batch_arg_name": batch_arg_name,
            "margin": margin,
            "max_val": max_val,
        }

    def scale_batch_size(self, trainer: Any, pl_module: Any) -> None:
        """Look for the batch size of this kind of run."""
        from lightning_lite.tuner.tuner import Tuner

        kept = trainer.callbacks
        trainer.callbacks = [each for each in kept if each is not self]
        method, datamodule = trainer.state.fn.value, trainer.datamodule
        self.optimal_batch_size = Tuner(trainer).scale_batch_size(
            pl_module, datamodule=datamodule, method=method, **self._options
        )
        trainer.callbacks = kept

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Look before training; its loaders are made afterwards."""
        self.scale_batch_size(trainer, pl_module)
        trainer.feed = None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Look before a validation, test or prediction."""
        if stage != "fit":
            self.scale_batch_size(trainer, pl_module)
