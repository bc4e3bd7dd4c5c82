"""SpikeDetection: stops a training whose loss jumps, and remembers the batches that did it."""

from __future__ import annotations

import json
import math
import operator
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rushlight as rl

if TYPE_CHECKING:
    from os import PathLike


class TrainingSpikeException(RuntimeError):
    """The loss jumped; `batch_idx` says in which batch."""

    def __init__(self, batch_idx: int, *args: object) -> None:
        super().__init__(f"the loss jumped in batch {batch_idx}", *args)
        self.batch_idx = batch_idx


class SpikeDetection:
    """Compares each loss with the running mean of the losses before it.

    `mode` "min": losses should fall. A loss is a spike when it is worse than the mean of the last
    `window` losses by more than `atol`, or by more than the share `rtol`; in the first `warmup`
    losses none is. One that is not finite is, with `finite_only`. The numbers of the batches to
    leave out are then written to `exclude_batches_path` (default "skip_batches.json" in the
    trainer's folder) and TrainingSpikeException is raised.
    """

    def __init__(
        self,
        mode: str = "min",
        window: int = 10,
        warmup: int = 1,
        atol: float | None = None,
        rtol: float | None = 2.0,
        exclude_batches_path: str | PathLike[str] | None = None,
        finite_only: bool = True,
    ) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"SpikeDetection: mode {mode!r}; expected 'min' or 'max'")
        self.mode, self.window, self.warmup = mode, window, warmup
        self.atol, self.rtol, self.finite_only = atol, rtol, finite_only
        self.exclude_batches_path = exclude_batches_path
        self.last_val: float | None = None
        self.bad_batches: list[int] = []
        self.losses: list[float] = []
        self.seen = 0

    @property
    def running_mean(self) -> float:
        """Mean of the last `window` losses; NaN before the first."""
        return sum(self.losses) / len(self.losses) if self.losses else math.nan

    def on_train_batch_end(self, fabric: Any, loss: Any, batch: Any, batch_idx: int) -> None:
        """Look at the loss of one batch."""
        value = float(loss.detach().item() if isinstance(loss, rl.Tensor) else loss)
        if self._is_spike(value):
            self.bad_batches.append(batch_idx)
            self._write(fabric)
            raise TrainingSpikeException(batch_idx=batch_idx)
        self.losses = [*self.losses, value][-self.window :]
        self.last_val = value
        self.seen += 1

    def _is_spike(self, value: float) -> bool:
        if self.finite_only and not math.isfinite(value):
            return True
        if self.seen < self.warmup or not self.losses:
            return False
        mean = self.running_mean
        better = operator.lt if self.mode == "min" else operator.gt
        if better(value, mean):
            return False
        difference = abs(value - mean)
        if self.atol is not None and difference > self.atol:
            return True
        return self.rtol is not None and difference > self.rtol * abs(mean)

    def _write(self, fabric: Any) -> None:
        path = self.exclude_batches_path
        if path is None:
            root = getattr(fabric, "default_root_dir", None) or os.getcwd()
            path = self.exclude_batches_path = os.path.join(root, "skip_batches.json")
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(json.dumps(self.bad_batches), encoding="utf-8")

    def state_dict(self) -> dict[str, Any]:
        """What it has seen, in plain types."""
        return {
            "losses": list(self.losses),
            "seen": self.seen,
            "last_val": self.last_val,
            "bad_batches": list(self.bad_batches),
            "bad_batches_path": self.exclude_batches_path,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what was seen."""
        self.losses, self.seen = list(state_dict["losses"]), state_dict["seen"]
        self.last_val = state_dict["last_val"]
        self.bad_batches = list(state_dict["bad_batches"])
        self.exclude_batches_path = state_dict["bad_batches_path"]
