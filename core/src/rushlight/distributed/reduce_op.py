"""How values of several processes become one."""

from __future__ import annotations

import enum
import warnings


class RedOpType(enum.IntEnum):
    """The names of the reductions."""

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

    def __repr__(self):
        return f"<RedOpType.{self.name}: {self.value}>"

    def __str__(self):
        return f"RedOpType.{self.name}"

    def __call__(self, factor):
        """``ReduceOp.PREMUL_SUM(factor)``: a sum of what is multiplied by `factor` first."""
        if self is not RedOpType.PREMUL_SUM:
            raise TypeError(f"{self} takes no factor; only ReduceOp.PREMUL_SUM does")
        return PremultipliedSum(factor)


class PremultipliedSum:
    """The sum of inputs that are multiplied by a number or a tensor of one element first."""

    op = RedOpType.PREMUL_SUM

    def __init__(self, factor):
        self.factor = factor


class _Kinds(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, (RedOpType, PremultipliedSum))

    def __call__(cls, op: int) -> RedOpType:
        return RedOpType(op)


class ReduceOp(metaclass=_Kinds):
    """The reductions: ``SUM, AVG, PRODUCT, MIN, MAX``, on integers and bools ``BAND, BOR, BXOR``,
    and ``PREMUL_SUM(factor)``. Complex tensors take ``SUM``, ``AVG`` and ``PREMUL_SUM``."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT
    MIN, MAX = RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM


class _FormerNames:
    """``reduce_op.SUM``, which is called ``ReduceOp.SUM`` now."""

    def __getattr__(self, name):
        found = getattr(ReduceOp, name)
        warnings.warn(
            "`rushlight.distributed.reduce_op` is deprecated, please use "
            "`rushlight.distributed.ReduceOp` instead",
            FutureWarning,
            stacklevel=2,
        )
        return found


reduce_op = _FormerNames()


def supports_complex(reduceOp: RedOpType) -> bool:
    """Whether a reduction takes complex tensors."""
    return getattr(reduceOp, "op", reduceOp) in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PREMUL_SUM)


def premultiplied_sum(factor) -> PremultipliedSum:
    """PyTorch's ``_make_nccl_premul_sum``."""
    return PremultipliedSum(factor)
