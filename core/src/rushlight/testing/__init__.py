"""Checks for programs that use Rushlight, and the generated tests of its own ops."""

from rushlight.testing.close import assert_allclose, assert_close
from rushlight.testing.creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
