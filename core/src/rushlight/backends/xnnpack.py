"""Whether XNNPACK is used: it is not; nothing is quantized."""

from __future__ import annotations

enabled = False


def is_available() -> bool:
    """Whether XNNPACK is used: never."""
    return False
