"""Passes for graphs of a dialect; `common` has those for graphs of all."""

from rushlight.fx.passes.dialect import common

__all__ = ["common"]
