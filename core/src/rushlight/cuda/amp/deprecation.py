"""The warning of the former paths of mixed precision on the GPU."""

from __future__ import annotations

import warnings


def warn_deprecated(old, new):
    """Warn where a class of this path is made, and name what to use instead."""
    warnings.warn(
        f"`rushlight.cuda.amp.{old}` is deprecated. Please use `rushlight.amp.{new}` instead.",
        FutureWarning,
        stacklevel=3,
    )
