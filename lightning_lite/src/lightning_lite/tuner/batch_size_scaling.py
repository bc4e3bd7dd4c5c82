"""The largest batch size that fits into memory, by trial."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lightning_lite import running
from lightning_lite.errors import MisconfigurationException
from lightning_lite.messages import info
from lightning_lite.tuner.snapshot import quieten, untouched
from lightning_lite.utilities.data import sized_len
from lightning_lite.utilities.memory import garbage_collection_cuda, is_oom_error
from lightning_lite.utilities.parsing import (
    lightning_getattr,
    lightning_hasattr,
    lightning_setattr,
)


class Trial:
    """Runs a few steps at a batch size and says whether they fit."""

    def __init__(
        self, trainer: Any, model: Any, method: str, data: dict[str, Any], name: str
    ) -> None:
        self.trainer, self.model, self.method, self.data = trainer, model, method, data
        self.name = name
        self.items: int | None = None  # of the data set, once it is known

    def fits(self, size: int, steps: int) -> bool:
        """Whether `steps` steps at a batch size end without running out of memory."""
        lightning_setattr(self.owner, self.name, size)
        garbage_collection_cuda()
        try:
            with untouched(self.trainer, self.model):
                self._run(steps)
        except Exception as error:
            if not is_oom_error(error):
                raise
            garbage_collection_cuda()
            return False
        lightning_setattr(self.owner, self.name, size)
        return True

    @property
    def owner(self) -> Any:
        """Who has the attribute: the data module, else the module."""
        datamodule = self.data.get("datamodule")
        if datamodule is not None and lightning_hasattr(datamodule, self.name):
            return datamodule
        return self.model

    def _run(self, steps: int) -> None:
        trainer = self.trainer
        quieten(trainer, steps, [])
        if self.method == "fit":
            trainer.fit(self.model, **self.data)
            loader = trainer.feed.loader
        else:
            trainer.limits = replace(trainer.limits, val=steps, test=steps, predict=steps)
            getattr(trainer, self.method)(self.model, **self.data)
            loader = getattr(trainer, f"{running.KINDS[trainer.state.fn]}_loaders")[0]
        self.items = sized_len(getattr(loader, "dataset", None))


def scale_batch_size(
    trial: Trial, mode: str, steps: int, first: int, max_trials: int, max_size: int | None
) -> int | None:
    """Try sizes; see `Tuner.scale_batch_size`."""
    if mode not in ("power", "binsearch"):
        raise MisconfigurationException(
            f"scale_batch_size: mode {mode!r}; expected 'power' or 'binsearch'"
        )
    if not lightning_hasattr(trial.owner, trial.name):
        raise MisconfigurationException(
            f"scale_batch_size: neither the module nor the data module has {trial.name!r}; the "
            "loaders must be made with it"
        )
    before = lightning_getattr(trial.owner, trial.name)
    size, least_too_large = first, None
    best: int | None = None
    for _ in range(max_trials):
        if trial.fits(size, steps):
            best, grown = size, _next(size, least_too_large)
            if trial.items and size >= trial.items:
                break  # all data are one batch
            grown = min(grown, max_size or grown)
        else:
            least_too_large = size
            grown = (best or 0) + (size - (best or 0)) // 2 if mode == "binsearch" else size // 2
            if mode == "power":
                best = grown
                break
        if grown in (size, best) or grown < 1:
            break
        size = grown
    lightning_setattr(trial.owner, trial.name, best or before)
    info(f"scale_batch_size: {trial.name} is {best or before} now")
    return best


def _next(size: int, too_large: int | None) -> int:
    """The size after one that fits: twice as large, or half-way to one that does not."""
    return 2 * size if too_large is None else size + (too_large - size) // 2
