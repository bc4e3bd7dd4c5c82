"""What a GradScaler computes, on the device of the gradients; nothing here waits for a GPU.

Whether a gradient was infinite is known on the device, and the factor adapts there, also when a
graph is replayed.
"""

from __future__ import annotations

import importlib
import math

from rushlight.autograd.mode import no_grad


def _kernels():
    return importlib.import_module("rushlight.kernels.optimizers.cuda_foreach")


@no_grad()
def _amp_foreach_non_finite_check_and_unscale_(self, found_inf, inv_scale) -> None:
    """Multiply a list of tensors in place by `inv_scale`; `found_inf` becomes 1 where an element
    was infinite or NaN. Both are float32 tensors of one element on the device of the list."""
    groups: dict = {}
    factor = None if inv_scale.is_cuda else inv_scale.item()
    for tensor in self:
        if tensor.is_cuda:
            groups.setdefault(tensor._dtype, []).append(tensor)
            continue
        if not bool(tensor.isfinite().all()):
            found_inf.fill_(1.0)
        tensor.mul_(factor)
    for group in groups.values():
        _kernels().unscale_([t._array for t in group], found_inf._array, inv_scale._array)
        for tensor in group:
            tensor.untyped_storage().version += 1


@no_grad()
def _amp_update_scale_(
    self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval
):
    """Shrink the factor `self` in place where `found_inf` is not 0; else count the step in
    `growth_tracker` (int32), and let the factor grow after `growth_interval` of them, while it
    stays finite. Returns `self`."""
    if self.is_cuda:
        arrays = self._array, growth_tracker._array, found_inf._array
        _kernels().update_scale_(
            *arrays, scale_growth_factor, scale_backoff_factor, growth_interval
        )
        return self
    if found_inf.item():
        self.mul_(scale_backoff_factor)
        growth_tracker.fill_(0)
        return self
    growth_tracker.add_(1)
    if growth_tracker.item() == growth_interval:
        grown = self * scale_growth_factor
        if math.isfinite(grown.item()):
            self.copy_(grown)
        growth_tracker.fill_(0)
    return self
