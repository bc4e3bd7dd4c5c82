"""Whether MKL is used: it is not; linear algebra is OpenBLAS's."""

from __future__ import annotations


def is_available() -> bool:
    """Whether MKL is used: never."""
    return False
