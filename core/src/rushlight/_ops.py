"""PyTorch's inner path of the classes of operators."""

from __future__ import annotations

from rushlight.library.kinds import HigherOrderOperator, OpOverload, OpOverloadPacket
from rushlight.refusals import rest_of

__getattr__ = rest_of(__name__)
__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket"]
