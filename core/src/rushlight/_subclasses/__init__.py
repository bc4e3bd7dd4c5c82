"""Tensors that pretend: shapes, strides, dtypes and devices without elements, at PyTorch's path."""

from __future__ import annotations

from rushlight._subclasses.fake_tensor import (
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)

__all__ = [
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
]
