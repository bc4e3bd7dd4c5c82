"""Where PyTorch has `cond`."""

from rushlight.inspection import cond

__all__ = ["cond"]
