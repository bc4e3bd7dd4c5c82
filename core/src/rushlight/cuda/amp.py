"""The former path of :mod:`rushlight.amp` for CUDA; without a GPU nothing is cast or scaled."""

from __future__ import annotations

import functools
import warnings

from rushlight import amp
from rushlight.dtypes import float16


class autocast(amp.autocast):  # noqa: N801 - PyTorch's name
    """``rushlight.autocast("cuda", ...)``; there is no GPU, so it changes nothing."""

    def __init__(self, enabled=True, dtype=float16, cache_enabled=True):
        _deprecated("autocast(args...)", "autocast('cuda', args...)")
        super().__init__("cuda", dtype, enabled, cache_enabled)

    def _recreate_cm(self):
        return amp.autocast(self.device, self.fast_dtype, self._enabled, self._cache_enabled)


class GradScaler(amp.GradScaler):
    """``rushlight.amp.GradScaler("cuda", ...)``; there is no GPU, so it scales nothing."""

    def __init__(
        self,
        init_scale=65536.0,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        _deprecated("GradScaler(args...)", "GradScaler('cuda', args...)")
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )


def _deprecated(old, new):
    warnings.warn(
        f"`rushlight.cuda.amp.{old}` is deprecated. Please use `rushlight.amp.{new}` instead.",
        FutureWarning,
        stacklevel=3,
    )


custom_fwd = functools.partial(amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(amp.custom_bwd, device_type="cuda")

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
