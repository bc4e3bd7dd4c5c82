"""Questions and marks of PyTorch's graph capture: nothing is captured here."""

from __future__ import annotations

from rushlight.compiler.eager import allow_in_graph, disable, is_compiling, reset
from rushlight.refusals import rest_of

__all__ = ["allow_in_graph", "disable", "is_compiling", "reset"]

__getattr__ = rest_of(__name__)
