"""Choices and loops over tensors under PyTorch's inner names; see :func:`rushlight.cond`.

In a captured program `cond` and `while_loop` are nodes with graphs as arguments, `map` and `scan`,
whose lengths are known, are as many calls as there are slices.
"""

from rushlight._higher_order_ops.loops import map, scan
from rushlight.inspection import cond, while_loop

__all__ = ["cond", "map", "scan", "while_loop"]
