"""PyTorch's path of the former profiler; see :mod:`rushlight.profiler`."""

from rushlight.autograd.later import later as _later


def __getattr__(name):
    """The names of the former profiler, imported at first use."""
    if name.startswith("__"):
        raise AttributeError(f"module 'rushlight.autograd.profiler' has no attribute '{name}'")
    return getattr(_later("former_profiler"), name)
