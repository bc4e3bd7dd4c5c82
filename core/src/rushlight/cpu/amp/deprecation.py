"""The warning of the former paths of mixed precision on the CPU."""

from __future__ import annotations

import warnings


def warn_deprecated(name):
    """Warn where a class of this path is made, and name what to use instead."""
    warnings.warn(
        f"`rushlight.cpu.amp.{name}(args...)` is deprecated. Please use "
        f"`rushlight.amp.{name}('cpu', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )
