"""Products with matrices of signed bytes."""

from __future__ import annotations

from rushlight.kernels.gemm import bytes as kernels
from rushlight.ops._calls.direct import arrays_of, tensor_of, unrecorded
from rushlight.tensor.tensor import Tensor

__all__ = ["byte_linear"]


def byte_linear(input: Tensor, weight: Tensor, scale: Tensor, bias: Tensor | None) -> Tensor | None:
    """``input @ (weight * scale[:, None]).T + bias`` by a kernel that reads bytes; None where there
    is none for these tensors, where the call is recorded, and where a mode is active.

    `input` (*, K) float32, `weight` (N, K) int8, `scale` and `bias` (N) float32.
    """
    if not unrecorded(input, weight, scale, bias):
        return None
    found = kernels.product(*arrays_of(input, weight, scale, bias))
    return None if found is None else tensor_of(found)
