"""Where PyTorch has `scan`."""

from rushlight._higher_order_ops.loops import scan

__all__ = ["scan"]
