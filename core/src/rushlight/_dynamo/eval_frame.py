"""PyTorch's path to the class of compiled modules."""

from rushlight.capture.compiling import OptimizedModule

__all__ = ["OptimizedModule"]
