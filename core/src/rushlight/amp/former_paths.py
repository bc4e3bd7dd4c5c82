"""The warning of `rushlight.cpu.amp` and `rushlight.cuda.amp`, former paths of `rushlight.amp`."""

from __future__ import annotations

import warnings


def warn_deprecated(device, name):
    """Warn where a class of these paths is made, and name what to use instead."""
    warnings.warn(
        f"`rushlight.{device}.amp.{name}(args...)` is deprecated. Please use "
        f"`rushlight.amp.{name}('{device}', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )
