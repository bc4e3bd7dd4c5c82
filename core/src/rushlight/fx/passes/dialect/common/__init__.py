"""Passes for graphs of every dialect: calls that others have made already."""

from rushlight.fx.passes.dialect.common import cse_pass

__all__ = ["cse_pass"]
