"""The former path of :mod:`rushlight.amp` for the CPU."""

from __future__ import annotations

import warnings

from rushlight import amp
from rushlight.dtypes import bfloat16


class autocast(amp.autocast):  # noqa: N801 - PyTorch's name
    """``rushlight.autocast("cpu", ...)``."""

    def __init__(self, enabled=True, dtype=bfloat16, cache_enabled=True):
        _deprecated("autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)

    def _recreate_cm(self):
        return amp.autocast(self.device, self.fast_dtype, self._enabled, self._cache_enabled)


class GradScaler(amp.GradScaler):
    """``rushlight.amp.GradScaler("cpu", ...)``."""

    def __init__(
        self,
        init_scale=65536.0,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        _deprecated("GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def _deprecated(name):
    warnings.warn(
        f"`rushlight.cpu.amp.{name}(args...)` is deprecated. Please use "
        f"`rushlight.amp.{name}('cpu', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


__all__ = ["GradScaler", "autocast"]
