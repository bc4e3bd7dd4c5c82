"""The only layer that imports array libraries and compilers; everything above asks here."""

import ml_dtypes
import numpy as np

__all__ = ["ml_dtypes", "np"]

# PyTorch's switches, each in a small module imported at first use.
_SWITCHES = frozenset(("cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "xnnpack"))


def __getattr__(name):
    if name in _SWITCHES:
        import importlib

        return importlib.import_module("rushlight.backends." + name)
    raise AttributeError(f"module 'rushlight.backends' has no attribute '{name}'")
