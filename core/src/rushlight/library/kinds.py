"""The kinds of operators, as programs ask for them with ``isinstance``."""

from __future__ import annotations


class OpOverload:
    """The class of single overloads, such as ``ops.aten.add.Tensor``."""


class OpOverloadPacket:
    """The class of operators with all their overloads, such as ``ops.aten.add``."""


class HigherOrderOperator:
    """The class of operators that take functions. No object is of it: :func:`rushlight.cond`,
    `while_loop` and their like are functions here.

    Raises NotImplementedError when one is made.
    """

    def __init__(self, name: str, *, cacheable: bool = False):
        raise NotImplementedError(
            f"HigherOrderOperator({name!r}) is not available: write a Python function, or "
            "rushlight.library.custom_op where a function takes tensors alone"
        )
