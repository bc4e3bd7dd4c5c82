"""Elementwise programs: bodies in array language, traced, compiled for the CPU, or run by NumPy.

``xp`` is the vocabulary of bodies, :func:`compile` makes a kernel of one, :func:`reference` an
executor that uses NumPy only. Nothing heavy is imported before the first kernel runs.
"""

from __future__ import annotations

from rushlight.compiler import composites as _composites  # noqa: F401 - adds words to xp
from rushlight.compiler.compilation import compile, reference
from rushlight.compiler.graph import Expr
from rushlight.compiler.kernel import Kernel, ReferenceKernel
from rushlight.compiler.vocabulary import is_traced, xp

__all__ = ["Expr", "Kernel", "ReferenceKernel", "compile", "is_traced", "reference", "xp"]
