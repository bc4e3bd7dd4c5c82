"""When captures track sizes: which become nodes of the graph instead of numbers.

Sizes are numbers while a program is captured. Where it gives ``cond`` a comparison of some, the
captures are made again with the sizes of ``tracked_numbers``: those that the program itself asks
for (not the framework), what it computes of them, and comparisons, which become nodes. So are they
where captures at several sizes do not tell by which expression a number follows the sizes: what
the program computes says it.
"""

from __future__ import annotations

from rushlight.fx.experimental.tracked_numbers import TrackedSize
from rushlight.fx.locations import is_ours
from rushlight.tensor.shape import Size


class Tracking:
    """Whether captures track sizes: from the first choice by a plain bool on."""

    def __init__(self, possible: bool, on: bool = False):
        self.possible = possible  # whether some sizes may differ
        self.asked = self.on = on
        self.numbers = False  # whether tensors of Python's numbers are computed, not constants
        self.computing = False  # whether numbers that nodes get are nodes as well

    def ask(self) -> None:
        """Note a choice by a bool, which may be a comparison of sizes."""
        self.asked = self.possible

    def compute(self, computing: bool) -> None:
        """Let numbers that are computed of sizes be nodes, or no longer."""
        self.computing = computing
        self.asked = self.on = self.on or computing

    def begins(self) -> bool:
        """Whether a capture was made without tracking that has to be made again."""
        begins = self.asked and not self.on
        self.on = self.on or self.asked
        return begins

    def seen(self, sizes, frame):
        """Sizes as the code of a frame gets them."""
        if not self.on or is_ours(frame):
            return sizes
        return Size(TrackedSize(n) if type(n) is int else n for n in sizes)


def written(recorder, value):
    """The node of a comparison, or of a size that was computed; other numbers as they are."""
    if getattr(value, "made_by", None) is None:
        return value
    known = getattr(value, "node", None)
    if known is not None and known.graph is recorder.graph:
        return known
    function, *operands = value.made_by
    args = tuple(written(recorder, operand) for operand in operands)
    node = recorder.node("call_function", function, args, {})
    node.meta["val"] = value.holds if hasattr(value, "holds") else value.as_plain()
    node.meta["of_sizes"] = True
    if hasattr(value, "node"):
        value.node = node
    return node
