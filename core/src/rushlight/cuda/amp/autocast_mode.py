"""The former path of `rushlight.autocast` on the GPU."""

from __future__ import annotations

import functools

from rushlight import amp
from rushlight.amp.former_paths import warn_deprecated
from rushlight.amp.mode import is_autocast_available
from rushlight.dtypes import float16


class autocast(amp.autocast):  # noqa: N801 - PyTorch's name
    """``rushlight.autocast("cuda", ...)``."""

    def __init__(self, enabled=True, dtype=float16, cache_enabled=True):
        warn_deprecated("cuda", "autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)

    def _recreate_cm(self):
        return amp.autocast(self.device, self.fast_dtype, self._enabled, self._cache_enabled)


custom_fwd = functools.partial(amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(amp.custom_bwd, device_type="cuda")


def amp_definitely_not_available() -> bool:
    """Whether there is no GPU to compute on in other precisions."""
    return not is_autocast_available("cuda")


__all__ = ["amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]
