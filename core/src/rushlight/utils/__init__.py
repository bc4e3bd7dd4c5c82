"""Data loading and other utilities."""

from rushlight.utils.exchange import swap_tensors

__all__ = [
    "benchmark",
    "checkpoint",
    "collect_env",
    "data",
    "dlpack",
    "flop_counter",
    "hooks",
    "model_zoo",
    "module_tracker",
    "summary",
    "swap_tensors",
    "tensorboard",
]

# Imported at first use; some have names that refuse.
_PARTS = frozenset(
    "_contextlib _foreach_utils _mode_utils _python_dispatch _pytree benchmark checkpoint "
    "collect_env cpp_extension data dlpack flop_counter hooks mobile_optimizer model_zoo "
    "module_tracker summary tensorboard".split()
)


def __getattr__(name):
    """The parts, imported at first use."""
    if name in _PARTS:
        import importlib

        return importlib.import_module("rushlight.utils." + name)
    raise AttributeError(f"module 'rushlight.utils' has no attribute '{name}'")
