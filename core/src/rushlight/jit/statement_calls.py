"""Calls that stand as statements in compiled Python: what a program prints and warns of."""

from __future__ import annotations

import warnings

from rushlight.jit import scalars, tree
from rushlight.jit.kinds import NONE


def _print(compiler, node, hint):
    args, _ = compiler.arguments(node)
    return tree.Call(scalars.Scalar("print", print), args, {}, type=NONE, at=compiler.at(node))


def _warn(compiler, node, hint):
    """``aten::warn(text, stacklevel)``, which knows no categories."""
    args, kwargs = compiler.arguments(node)
    args += [kwargs.pop("stacklevel")] if "stacklevel" in kwargs else []
    if not 1 <= len(args) <= 2 or kwargs:
        compiler.fault(node, "warnings.warn takes a text and 'stacklevel' in TorchScript")
    target = scalars.Scalar("warn", scalars.warn, "torch.")
    return tree.Call(target, args, {}, type=NONE, at=compiler.at(node))


CALLS = {print: _print, warnings.warn: _warn}

__all__ = ["CALLS"]
