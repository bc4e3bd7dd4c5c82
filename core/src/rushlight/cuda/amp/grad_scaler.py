"""The former path of `rushlight.amp.GradScaler` on the GPU."""

from __future__ import annotations

from rushlight import amp
from rushlight.amp.former_paths import warn_deprecated
from rushlight.amp.grad_scaler import OptState


class GradScaler(amp.GradScaler):
    """``rushlight.amp.GradScaler("cuda", ...)``."""

    def __init__(
        self,
        init_scale=65536.0,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        warn_deprecated("cuda", "GradScaler")
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )


__all__ = ["GradScaler", "OptState"]
