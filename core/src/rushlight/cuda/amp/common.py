"""What is common to the former paths of mixed precision on the GPU."""

from __future__ import annotations

import warnings

from rushlight.amp.mode import is_autocast_available


def warn_deprecated(old, new):
    """Warn where a class of this path is made, and name what takes its place."""
    warnings.warn(
        f"`rushlight.cuda.amp.{old}` is deprecated. Please use `rushlight.amp.{new}` instead.",
        FutureWarning,
        stacklevel=3,
    )


def amp_definitely_not_available() -> bool:
    """Whether there is no GPU to compute on in other precisions."""
    return not is_autocast_available("cuda")
