"""The former path of `rushlight.autocast` on the CPU."""

from __future__ import annotations

from rushlight import amp
from rushlight.amp.former_paths import warn_deprecated
from rushlight.dtypes import bfloat16


class autocast(amp.autocast):  # noqa: N801 - PyTorch's name
    """``rushlight.autocast("cpu", ...)``."""

    def __init__(self, enabled=True, dtype=bfloat16, cache_enabled=True):
        warn_deprecated("cpu", "autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)

    def _recreate_cm(self):
        return amp.autocast(self.device, self.fast_dtype, self._enabled, self._cache_enabled)


__all__ = ["autocast"]
