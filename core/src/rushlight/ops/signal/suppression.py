"""Greedy suppression of boxes that overlap a better one."""

from __future__ import annotations

import importlib

from rushlight import dtypes
from rushlight.kernels.signal import suppression as kernels
from rushlight.ops._table.op import op
from rushlight.tensor.tensor import Tensor


@op(
    method=False,
    tested_by="tests/signal/test_suppression.py",
    samples=lambda make: [],
    differentiable=False,
    meta=lambda boxes, groups, threshold: (boxes.shape[:1], dtypes.bool_),
)
def _suppressed(boxes: Tensor, groups: Tensor, threshold):
    """Which boxes (N, 4), best first, stay: bool (N,); those of one of the groups (N,), int64,
    stand together and alone compete."""
    return kernels.suppressed_reference(boxes, groups, threshold)


def _on_gpu():
    return importlib.import_module("rushlight.kernels.signal.cuda_suppression")


_suppressed.cpu(kernels.suppressed)
_suppressed.cuda(lambda *arrays: _on_gpu().suppressed(*arrays))
