"""Throughput: batches, samples and operations per second over a window of batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

T = float


def measure_flops(
    model: Any,
    forward_fn: Callable[[], Any],
    loss_fn: Callable[[Any], Any] | None = None,
    display: bool = False,
) -> int:
    """The floating-point operations of one forward pass, with its backward pass if a loss is given.

    Products of matrices and convolutions count, as in PyTorch's FlopCounterMode.
    """
    from rushlight.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=display)
    with counter:
        if loss_fn is None:
            forward_fn()
        else:
            loss_fn(forward_fn()).backward()
    return counter.get_total_flops()


def get_available_flops(device: Any, dtype: Any) -> int | None:
    """The operations per second that a device can do at most; None, since no table is kept."""
    return None


class Throughput:
    """Rates over the last `window_size` batches, from totals that are given with `update`.

    `available_flops`: what the device can do at most, for `device/mfu`; `separator` stands in the
    names between "device" and the rate.
    """

    def __init__(
        self,
        available_flops: float | None = None,
        world_size: int = 1,
        window_size: int = 100,
        separator: str = "/",
    ) -> None:
        if world_size < 1:
            raise ValueError(f"Throughput: world_size={world_size}; expected 1 or more")
        if window_size < 2:
            raise ValueError(f"Throughput: window_size={window_size}; expected 2 or more")
        self.available_flops, self.world_size = available_flops, world_size
        self.separator = separator
        self._window = window_size
        self.reset()

    def reset(self) -> None:
        """Forget all totals."""
        self._rows: deque[tuple[float, int, int, int | None]] = deque(maxlen=self._window)
        self._flops: deque[int] = deque(maxlen=self._window)

    def update(
        self,
        *,
        time: float,
        batches: int,
        samples: int,
        lengths: int | None = None,
        flops: int | None = None,
    ) -> None:
        """Take totals since the start: seconds, batches, samples, tokens; `flops` of this batch.

        Raises ValueError for totals that fall.
        """
        if self._rows:
            last = self._rows[-1]
            for name, value, before in zip(
                ("time", "batches", "samples", "lengths"), (time, batches, samples, lengths), last,
                strict=True,
            ):  # fmt: skip
                if value is not None and before is not None and value < before:
                    raise ValueError(f"Throughput: {name}={value} after {before}: totals only grow")
        if lengths is not None and lengths < samples:
            raise ValueError(f"Throughput: lengths={lengths} is less than samples={samples}")
        self._rows.append((time, batches, samples, lengths))
        if flops is not None:
            self._flops.append(flops * self.world_size)

    def compute(self) -> dict[str, float]:
        """The totals, and once the window is full the rates."""
        if not self._rows:
            return {}
        time, batches, samples, lengths = self._rows[-1]
        found: dict[str, float] = {"time": time, "batches": batches, "samples": samples}
        if lengths is not None:
            found["lengths"] = lengths
        if len(self._rows) == self._window:
            self._add_rates(found)
        return found

    def _add_rates(self, found: dict[str, float]) -> None:
        first, last = self._rows[0], self._rows[-1]
        seconds = last[0] - first[0]
        names = ("batches", "samples", "items")
        for index, name in enumerate(names, start=1):
            before, after = first[index], last[index]
            if before is None or after is None:
                continue
            rate = (after - before) / seconds
            found[f"device{self.separator}{name}_per_sec"] = rate
            if self.world_size > 1:
                found[f"{name}_per_sec"] = rate * self.world_size
        if len(self._flops) == self._window:
            rate = sum(list(self._flops)[1:]) / seconds
            found[f"device{self.separator}flops_per_sec"] = rate / self.world_size
            if self.world_size > 1:
                found["flops_per_sec"] = rate
            if self.available_flops:
                used = rate / self.world_size / self.available_flops
                found[f"device{self.separator}mfu"] = used


class ThroughputMonitor(Throughput):
    """`Throughput` that logs what it computes through a Fabric."""

    def __init__(self, fabric: Any, **kwargs: Any) -> None:
        super().__init__(world_size=fabric.world_size, **kwargs)
        self._fabric = fabric
        self.step = -1

    def compute_and_log(self, step: int | None = None, **kwargs: Any) -> dict[str, float]:
        """Compute, and log under a step (default: the number of calls before)."""
        self.step = self.step + 1 if step is None else step
        found = self.compute(**kwargs)
        self._fabric.log_dict(metrics=found, step=self.step)
        return found
