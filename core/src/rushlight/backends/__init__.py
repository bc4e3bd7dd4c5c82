"""The only layer that imports array libraries and compilers; everything above asks here."""

import ml_dtypes
import numpy as np

__all__ = ["engine_watchers", "ml_dtypes", "np"]

# Called with the engine of machine code once it is there: what Python did so far may then be done
# by compiled functions.
engine_watchers: list = []

# PyTorch's switches, each in a small module imported at first use.
_SWITCHES = frozenset(("cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "xnnpack"))


def __getattr__(name):
    if name in _SWITCHES:
        import importlib

        return importlib.import_module("rushlight.backends." + name)
    raise AttributeError(f"module 'rushlight.backends' has no attribute '{name}'")
