"""The namespaces of operators as attributes of a module: what ``torch.ops`` is for programs that
import Rushlight under PyTorch's name."""

from __future__ import annotations

from rushlight.library.operators import lookup
from rushlight.ops import load_library

__all__ = ["load_library"]


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'rushlight.library.namespaces' has no attribute '{name}'")
    return lookup(name)
