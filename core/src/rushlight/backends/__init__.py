"""PyTorch's switches, under ``torch.backends``: each in a small module imported at first use."""

import contextlib
import importlib

_SWITCHES = frozenset(
    ("cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "xnnpack")
)


def __allow_nonbracketed_mutation():  # noqa: N807 - PyTorch's name
    """A context in which switches may be set; here they may always be."""
    return contextlib.nullcontext()


def __getattr__(name):
    if name in _SWITCHES:
        return importlib.import_module("rushlight.backends." + name)
    raise AttributeError(f"module 'rushlight.backends' has no attribute '{name}'")
