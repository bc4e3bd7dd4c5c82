"""LearningRateFinder: the learning rate test at the start of `fit`, and before chosen epochs."""

from __future__ import annotations

from typing import Any

from lightning_lite.callbacks.callback import Callback


class LearningRateFinder(Callback):
    """Runs `Tuner.lr_find` when training starts, and trains with the rate that it suggests.

    Arguments as for `Tuner.lr_find`. The result is `optimal_lr`. Subclasses may call `lr_find`
    from other hooks, such as `on_train_epoch_start`, to look again.

    Args:
        min_lr: the first rate.
        max_lr: the last rate.
        num_training_steps: how many rates are tried.
        mode: "exponential" or "linear": how rates grow.
        early_stop_threshold: the loss, as a multiple of the smallest, that ends the search; None
            for none.
        update_attr: whether the module's rate becomes the suggested one.
        attr_name: the module's attribute that holds the rate.

    >>> import lightning_lite as L
    >>> trainer = L.Trainer(max_epochs=1, callbacks=[LearningRateFinder(num_training_steps=50)])
    """

    SUPPORTED_MODES = ("linear", "exponential")

    def __init__(
        self,
        min_lr: float = 1e-8,
        max_lr: float = 1,
        num_training_steps: int = 100,
        mode: str = "exponential",
        early_stop_threshold: float | None = 4.0,
        update_attr: bool = True,
        attr_name: str = "",
    ) -> None:
        mode = mode.lower()
        if mode not in self.SUPPORTED_MODES:
            raise ValueError(
                f"LearningRateFinder: mode {mode!r}; expected one of {self.SUPPORTED_MODES}"
            )
        self._options: dict[str, Any] = {
            "min_lr": min_lr,
            "max_lr": max_lr,
            "num_training": num_training_steps,
            "mode": mode,
            "early_stop_threshold": early_stop_threshold,
            "update_attr": update_attr,
            "attr_name": attr_name,
        }
        self.optimal_lr: Any = None

    def lr_find(self, trainer: Any, pl_module: Any) -> None:
        """Run the test, and give the suggested rate to the optimizers."""
        from lightning_lite.tuner.lr_finder import lr_find

        given = trainer.sources.given
        loaders = {"train_dataloaders": given.get("train"), "datamodule": trainer.datamodule}
        self.optimal_lr = lr_find(trainer, pl_module, loaders, **self._options)
        rate = self.optimal_lr.suggestion() if self.optimal_lr is not None else None
        if rate is None or not self._options["update_attr"]:
            return
        for optimizer in trainer.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
                if "initial_lr" in group:
                    group["initial_lr"] = rate
        for config in trainer.lr_scheduler_configs:
            if hasattr(config.scheduler, "base_lrs"):
                config.scheduler.base_lrs = [rate] * len(config.scheduler.base_lrs)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Look for a rate before training."""
        self.lr_find(trainer, pl_module)
