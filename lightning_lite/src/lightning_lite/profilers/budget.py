"""StepBudget: where a training step's time goes, in one line."""

from __future__ import annotations

import os
import time
from collections import defaultdict

from lightning_lite.profilers.profiler import Profiler


class StepBudget(Profiler):
    """`Trainer(profiler="budget")`: the shares of data, forward, backward, optimizer, and of hooks,
    logging and validation, told when training ends.

    Each action's time is its own, without that of the actions inside of it.
    """

    def __init__(
        self, dirpath: str | os.PathLike | None = None, filename: str | None = None
    ) -> None:
        super().__init__(dirpath, filename)
        self.seconds: dict[str, float] = defaultdict(float)
        self.steps = 0
        self._open: list[str] = []
        self._mark = self._begun = time.perf_counter()

    def setup(self, stage: str, local_rank: int | None = None, log_dir: str | None = None) -> None:
        """Begin to count."""
        super().setup(stage, local_rank, log_dir)
        self.seconds.clear()
        self.steps, self._open = 0, []
        self._mark = self._begun = time.perf_counter()

    def _charge(self) -> None:
        """Give the time since the last mark to the action that is under way."""
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._mark
        self._mark = now

    def start(self, action_name: str) -> None:
        """An action begins."""
        self._charge()
        self._open.append(kind_of(action_name))
        self.steps += action_name.endswith(".training_step")

    def stop(self, action_name: str) -> None:
        """An action ends. ValueError if none is under way."""
        self._charge()
        if not self._open:
            raise ValueError(f"profiler: {action_name!r} ends, but did not begin")
        self._open.pop()

    def shares(self) -> dict[str, float]:
        """The share of each kind of work in the whole; "loop" is what no action accounts for."""
        whole = max(self._mark - self._begun, 1e-12)
        found = {kind: self.seconds[kind] / whole for kind in KINDS}
        return {**found, "loop": max(0.0, 1.0 - sum(found.values()))}

    def summary(self) -> str:
        """The line."""
        whole = self._mark - self._begun
        each = 1e3 * whole / max(1, self.steps)
        parts = [f"{name} {share:.0%}" for name, share in self.shares().items() if share >= 0.005]
        return f"{self.steps} steps, {each:.3g} ms each: {', '.join(parts)}"


KINDS = ("data", "forward", "backward", "optimizer", "validation", "hooks")
_ENDINGS = {
    "train_dataloader_next": "data",
    "training_step": "forward",
    "backward": "backward",
    "optimizer_step": "optimizer",
    "optimizer_zero_grad": "optimizer",
    "configure_gradient_clipping": "optimizer",
    "validation_step": "validation",
}


def kind_of(action_name: str) -> str:
    """The kind of work that an action is."""
    return _ENDINGS.get(action_name.rpartition(".")[2], "hooks")
