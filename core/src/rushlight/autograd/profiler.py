"""PyTorch's place for the former profiler; see :mod:`rushlight.profiler`."""

import importlib as _importlib


def __getattr__(name):
    """The names of the former profiler, imported at first use."""
    if name.startswith("__"):
        raise AttributeError(f"module 'rushlight.autograd.profiler' has no attribute '{name}'")
    return getattr(_importlib.import_module("rushlight.profiler.former"), name)
