# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from enum import IntEnum
from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _str
from typing import Any

class PremultipliedSum:
    op: RedOpType
    def __init__(self, factor: _float) -> None: ...
    factor: _float
class RedOpType(IntEnum):
    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8
    UNUSED = 9
    def __call__(self, factor: _float) -> Any: ...
class ReduceOp:
    SUM: RedOpType
    AVG: RedOpType
    PRODUCT: RedOpType
    MIN: RedOpType
    MAX: RedOpType
    BAND: RedOpType
    BOR: RedOpType
    BXOR: RedOpType
    PREMUL_SUM: RedOpType
class _FormerNames:
    def __getattr__(self, name: _str) -> Any: ...
def premultiplied_sum(factor: _float) -> PremultipliedSum: ...
reduce_op: _FormerNames
def supports_complex(reduceOp: RedOpType) -> _bool: ...
