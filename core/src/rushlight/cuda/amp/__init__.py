"""The former path of :mod:`rushlight.amp` for the GPU."""

from rushlight.cuda.amp.autocast_mode import (
    amp_definitely_not_available,
    autocast,
    custom_bwd,
    custom_fwd,
)
from rushlight.cuda.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]
