"""PyTorch's switches, under ``torch.backends``: each in a small module imported at first use."""

import importlib

_SWITCHES = frozenset(("cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "xnnpack"))


def __getattr__(name):
    if name in _SWITCHES:
        return importlib.import_module("rushlight.backends." + name)
    raise AttributeError(f"module 'rushlight.backends' has no attribute '{name}'")
