"""Whether OpenMP is used: it is not; threads come from a pool of its own."""

from __future__ import annotations


def is_available() -> bool:
    """Whether OpenMP is used: never."""
    return False
