"""What MPI or NCCL reduces instead of each dtype, and with which of its operations."""

from __future__ import annotations

from rushlight.distributed.reduce_op import RedOpType, ReduceOp, supports_complex
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE, bfloat16

# Reduced in another type: bools as bytes of 0 and 1, small floats in float32, which rounds once.
_CARRIED: dict = {
    np.dtype(bool): np.dtype(np.uint8),
    np.dtype(np.float16): np.dtype(np.float32),
    bfloat16: np.dtype(np.float32),
}
# NCCL knows small floats, and no numbers of 16 bits.
_CARRIED_BY_NCCL: dict = {
    np.dtype(bool): np.dtype(np.uint8),
    np.dtype(np.int16): np.dtype(np.int32),
    np.dtype(np.uint16): np.dtype(np.uint32),
}
_BY_NCCL = ("SUM", "PROD", "MIN", "MAX")
_OF_BOOLS = {
    ReduceOp.SUM: "MAX", ReduceOp.PRODUCT: "MIN", ReduceOp.MIN: "MIN", ReduceOp.MAX: "MAX",
    ReduceOp.BAND: "MIN", ReduceOp.BOR: "MAX", ReduceOp.BXOR: "BXOR",
}  # fmt: skip
_PLAIN = {
    ReduceOp.SUM: "SUM", ReduceOp.AVG: "SUM", ReduceOp.PREMUL_SUM: "SUM",
    ReduceOp.PRODUCT: "PROD", ReduceOp.MIN: "MIN", ReduceOp.MAX: "MAX",
    ReduceOp.BAND: "BAND", ReduceOp.BOR: "BOR", ReduceOp.BXOR: "BXOR",
}  # fmt: skip
_BITWISE = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


class Reduction:
    """One reduction of one dtype: ``operation`` is MPI's name for it.

    on_device: NCCL reduces, not MPI.
    """

    __slots__ = ("array_dtype", "carried", "factor", "kind", "name", "operation", "parts", "size")

    def __init__(self, name: str, dtype, op, size: int, on_device: bool = False):
        self.name, self.size = name, size
        self.kind = RedOpType(getattr(op, "op", op))
        self.factor = _factor(name, op)
        self.array_dtype = BY_CODE[dtype.code]
        self._check(dtype)
        # A complex number is added as two real ones.
        self.parts = 2 if dtype.is_complex else 1
        real = BY_CODE[dtype.to_real().code]
        self.carried = (_CARRIED_BY_NCCL if on_device else _CARRIED).get(real, real)
        self.operation = (_OF_BOOLS if self.array_dtype.kind == "b" else _PLAIN)[self.kind]
        if on_device and self.operation not in _BY_NCCL:
            raise ValueError(
                f"{name}: Cannot use ReduceOp.{self.kind.name} with NCCL; reduce tensor.cpu()"
            )

    def _check(self, dtype):
        kind = self.kind
        if dtype.is_complex and not supports_complex(kind):
            raise ValueError(f"{self.name} does not support {kind} on complex tensors")
        inexact = dtype.is_floating_point or dtype.is_complex
        if kind in _BITWISE and inexact:
            raise RuntimeError(f"{self.name}: Cannot use ReduceOp.{kind.name} with {dtype}")
        if kind in (ReduceOp.AVG, ReduceOp.PREMUL_SUM) and not inexact:
            raise RuntimeError(
                f"{self.name}: ReduceOp.{kind.name} needs floating or complex tensors: its result "
                f"can't be cast to the desired output type {dtype}"
            )

    def encode(self, elements: np.ndarray) -> np.ndarray:
        """What is reduced: the elements themselves where it knows their type."""
        found = elements
        # MPI knows no complex numbers of half precision, and adds pairs as fast as numbers.
        if self.parts == 2:
            halves = self.array_dtype.itemsize == 4
            found = found.astype(np.complex64) if halves else found
            found = found.view(np.float64 if found.itemsize == 16 else np.float32)
            self.carried = found.dtype
        elif self.array_dtype.kind == "b":
            found = found.view(np.uint8)
        else:
            found = found.astype(self.carried, copy=False)
        if self.factor is not None:
            found = found * found.dtype.type(self.factor)
        return found

    def decode(self, found: np.ndarray) -> np.ndarray:
        """The reduced elements in their own dtype."""
        if self.kind is ReduceOp.AVG:
            found /= self.size
        if self.parts == 2:
            pairs = found.view(np.complex128 if found.itemsize == 8 else np.complex64)
            return pairs.astype(self.array_dtype, copy=False)
        if self.array_dtype.kind == "b":
            return found.view(bool)
        with np.errstate(over="ignore"):
            return found.astype(self.array_dtype, copy=False)


def _factor(name, op):
    factor = getattr(op, "factor", None)
    if factor is None:
        if op == ReduceOp.PREMUL_SUM:
            raise ValueError(f"{name}: ReduceOp.PREMUL_SUM needs its factor: PREMUL_SUM(factor)")
        return None
    return factor.item() if hasattr(factor, "item") else factor
