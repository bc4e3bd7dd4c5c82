"""The factor of a GradScaler on a GPU: in device memory, read and changed by kernels only.

Nothing here waits for the device: whether a gradient was infinite is known there, optimizers skip
their steps there, and the factor adapts there, also when a graph is replayed.
"""

from __future__ import annotations

import importlib

from rushlight.autograd.mode import no_grad
from rushlight.dtypes import float32, int32
from rushlight.ops.creation.tensors import full, zeros


def _kernels():
    return importlib.import_module("rushlight.kernels.optimizers.cuda_foreach")


class DeviceScale:
    """Factor, counter of good steps and, per optimizer, what was found, on one device."""

    def __init__(self, value, tracker, device):
        self.device = device
        self.factor = full((), float(value), dtype=float32, device=device)
        self.tracker = full((), int(tracker), dtype=int32, device=device)

    def scaled(self, outputs):
        """A loss times the factor, in the loss's dtype."""
        return outputs * self.factor.to(outputs.dtype)

    def found(self):
        """A new mark: 0 until a gradient is infinite or NaN."""
        return zeros((), dtype=float32, device=self.device)

    def unscale(self, grads, found) -> None:
        """Divide gradients by the factor, in place; `found` becomes 1 where one is not finite."""
        with no_grad():
            inverse = self.factor.reciprocal()
            groups: dict = {}
            for grad in grads:
                if grad.is_sparse:
                    raise NotImplementedError(
                        "GradScaler: sparse gradients on a GPU; make them dense with to_dense()"
                    )
                groups.setdefault(grad._dtype, []).append(grad)
            for group in groups.values():
                _kernels().unscale_([g._array for g in group], found._array, inverse._array)
                for grad in group:
                    grad.untyped_storage().version += 1

    def adapt(self, marks, growth, backoff, interval) -> None:
        """Shrink the factor if something was found since the last time, else count the step."""
        total = marks[0]
        for mark in marks[1:]:
            total = total + mark
        _kernels().update_scale_(
            self.factor._array, self.tracker._array, total._array, growth, backoff, interval
        )

    def step(self, optimizer, found, args, kwargs):
        """A step that has no effect where something was found."""
        if getattr(optimizer, "skips_on_device", False):
            optimizer.found_inf = found
            try:
                return optimizer.step(*args, **kwargs)
            finally:
                optimizer.found_inf = None
        if found.item():  # this optimizer knows nothing of it: wait and see
            return None
        return optimizer.step(*args, **kwargs)
