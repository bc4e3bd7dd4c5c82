# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _str
from rushlight.tensor.tensor import Tensor
from typing import Any
from typing import Self

class PremultipliedSum:
    op: RedOpType
    def __init__(self, factor: _float) -> None: ...
    factor: _float
class RedOpType:
    def __call__(self, factor: _float) -> Any: ...
    SUM: RedOpType
    AVG: RedOpType
    PRODUCT: RedOpType
    MIN: RedOpType
    MAX: RedOpType
    BAND: RedOpType
    BOR: RedOpType
    BXOR: RedOpType
    PREMUL_SUM: RedOpType
    UNUSED: RedOpType
    def __new__(cls, value: Tensor) -> Self: ...
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
