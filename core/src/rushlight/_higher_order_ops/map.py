"""Where PyTorch has `map`."""

from rushlight._higher_order_ops.loops import map

__all__ = ["map"]
