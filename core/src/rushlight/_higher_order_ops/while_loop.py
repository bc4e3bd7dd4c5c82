"""Where PyTorch has `while_loop`."""

from rushlight.inspection import while_loop

__all__ = ["while_loop"]
