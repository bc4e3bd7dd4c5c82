"""PyTorch's path to the marks that TorchScript reads."""

from __future__ import annotations

from rushlight.jit import export, ignore, is_scripting, unused
from rushlight.refusals import rest_of

__all__ = ["export", "ignore", "is_scripting", "unused"]


def _copy_to_script_wrapper(fn):
    """Mark a method that scripted modules keep in Python: they keep all that Python needs here."""
    return fn


__getattr__ = rest_of(__name__)
