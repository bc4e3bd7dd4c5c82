"""Tuner: learning rate and batch size by short trials, which leave no trace."""

from __future__ import annotations

from typing import Any

from lightning_lite.data_sources import check_module
from lightning_lite.errors import MisconfigurationException
from lightning_lite.tuner.batch_size_scaling import Trial, scale_batch_size
from lightning_lite.tuner.lr_finder import _LRFinder, lr_find

METHODS = ("fit", "validate", "test", "predict")


class Tuner:
    """Finds a learning rate and a batch size for a trainer.

    >>> import lightning_lite as L
    >>> from lightning_lite.demos import BoringModel
    >>> trainer = L.Trainer(max_epochs=1, logger=False, enable_progress_bar=False)
    >>> test = Tuner(trainer).lr_find(BoringModel(), num_training=20, update_attr=False)
    >>> len(test.results["lr"]) == len(test.results["loss"])
    True
    """

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer

    def lr_find(
        self,
        model: Any,
        train_dataloaders: Any = None,
        val_dataloaders: Any = None,
        dataloaders: Any = None,
        datamodule: Any = None,
        method: str = "fit",
        min_lr: float = 1e-8,
        max_lr: float = 1,
        num_training: int = 100,
        mode: str = "exponential",
        early_stop_threshold: float | None = 4.0,
        update_attr: bool = True,
        attr_name: str = "",
    ) -> _LRFinder | None:
        """Train for `num_training` steps while the rate grows from `min_lr` to `max_lr`.

        The rate grows by a factor (`mode` "exponential") or by a sum ("linear"); the test ends
        early when the smoothed loss is more than `early_stop_threshold` times the best (None:
        never). All parameter groups get the same rate. Afterwards weights, random numbers, the
        loaders' generators and the trainer are what they were, bit for bit. With `update_attr`,
        the module's `lr` or `learning_rate` (or `attr_name`), in itself or its `hparams`, is set
        to the suggestion. None in `fast_dev_run`.

        Raises MisconfigurationException for an unknown mode, or a method other than "fit".
        """
        if method != "fit":
            raise MisconfigurationException(
                f"lr_find: method={method!r}; only 'fit' has rates. A rule such as 'valley' is an "
                "argument of the result's suggestion(method=...)"
            )
        check_module(model, "lr_find")
        if not (num_training > 0 and 0 < min_lr < max_lr):
            raise ValueError(
                f"lr_find: num_training={num_training}, min_lr={min_lr}, max_lr={max_lr}; expected "
                "one step or more, and rates 0 < min_lr < max_lr"
            )
        self._check_callbacks("LearningRateFinder")
        if dataloaders is not None:
            raise MisconfigurationException("lr_find: give train_dataloaders, not dataloaders")
        loaders = {
            "train_dataloaders": train_dataloaders,
            "val_dataloaders": val_dataloaders,
            "datamodule": datamodule,
        }
        return lr_find(
            self._trainer,
            model,
            loaders,
            min_lr,
            max_lr,
            num_training,
            mode,
            early_stop_threshold,
            update_attr,
            attr_name,
        )

    def scale_batch_size(
        self,
        model: Any,
        train_dataloaders: Any = None,
        val_dataloaders: Any = None,
        dataloaders: Any = None,
        datamodule: Any = None,
        method: str = "fit",
        mode: str = "power",
        steps_per_trial: int = 3,
        init_val: int = 2,
        max_trials: int = 25,
        batch_arg_name: str = "batch_size",
        margin: float = 0.0,
        max_val: int | None = None,
    ) -> int | None:
        """The largest batch size with which `steps_per_trial` steps fit into memory.

        It begins with `init_val` and doubles; when memory runs out, "power" takes the size before,
        "binsearch" goes on in between, less a share `margin`. It stops where the data set is one
        batch, or at `max_val`. The module, or data module, must make its loaders with its attribute
        `batch_arg_name`, which is set to the answer. None where not even the first trial fits.
        """
        if method not in METHODS:
            raise ValueError(f"scale_batch_size: method {method!r}; expected one of {METHODS}")
        self._check_callbacks("BatchSizeFinder")
        given = (train_dataloaders, val_dataloaders, dataloaders)
        if any(each is not None for each in given):
            raise MisconfigurationException(
                "scale_batch_size: loaders were given, whose batch size is fixed; let the module "
                "or a datamodule make them"
            )
        check_module(model, "scale_batch_size")
        trial = Trial(self._trainer, model, method, {"datamodule": datamodule}, batch_arg_name)
        if self._trainer.fast_dev_run:
            return None
        best = scale_batch_size(trial, mode, steps_per_trial, init_val, max_trials, max_val)
        if best is not None and mode == "binsearch" and margin:
            from lightning_lite.utilities.parsing import lightning_setattr

            best = max(1, int(best * (1 - margin)))
            lightning_setattr(trial.owner, batch_arg_name, best)
        return best

    def _check_callbacks(self, name: str) -> None:
        """Complain of a trainer whose callback does the same."""
        if any(type(each).__name__ == name for each in self._trainer.callbacks):
            raise MisconfigurationException(
                f"Tuner: the Trainer has the callback {name}, which does the same in fit; remove it"
            )
