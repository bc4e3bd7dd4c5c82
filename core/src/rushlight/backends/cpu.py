"""What the CPU can do, as PyTorch names it."""

from rushlight.machine.processors import get_cpu_capability

__all__ = ["get_cpu_capability"]
