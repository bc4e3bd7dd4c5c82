"""Data loading and other utilities."""

from rushlight.utils import data

__all__ = [
    "benchmark",
    "checkpoint",
    "data",
    "dlpack",
    "hooks",
    "model_zoo",
]

# Imported at first use; the last ones have names that refuse.
_PARTS = frozenset(
    "_pytree benchmark checkpoint dlpack hooks model_zoo bottleneck cpp_extension flop_counter "
    "mobile_optimizer tensorboard".split()
)


def __getattr__(name):
    """The parts, imported at first use."""
    if name in _PARTS:
        import importlib

        return importlib.import_module("rushlight.utils." + name)
    raise AttributeError(f"module 'rushlight.utils' has no attribute '{name}'")
