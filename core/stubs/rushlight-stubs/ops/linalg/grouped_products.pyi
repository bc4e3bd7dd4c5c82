# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _int
from rushlight.dtypes import dtype
from rushlight.tensor.tensor import Tensor

class ScalingType(Enum):
    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5
class SwizzleType(Enum):
    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1
def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = ..., bias: Tensor | None = ..., out_dtype: _dtype | None = ...) -> Tensor: ...
def scaled_grouped_mm(mat_a: Tensor, mat_b: Tensor, scale_a: Tensor | Sequence[Tensor], scale_recipe_a: ScalingType | Sequence[ScalingType], scale_b: Tensor | Sequence[Tensor], scale_recipe_b: ScalingType | Sequence[ScalingType], swizzle_a: SwizzleType | Sequence[SwizzleType] | None = ..., swizzle_b: SwizzleType | Sequence[SwizzleType] | None = ..., bias: Tensor | None = ..., offs: Tensor | None = ..., output_dtype: _dtype | None = ..., contraction_dim: Sequence[_int] = ..., use_fast_accum: _bool = ...) -> Tensor: ...
def scaled_mm(mat_a: Tensor, mat_b: Tensor, scale_a: Tensor | Sequence[Tensor], scale_recipe_a: ScalingType | Sequence[ScalingType], scale_b: Tensor | Sequence[Tensor], scale_recipe_b: ScalingType | Sequence[ScalingType], swizzle_a: SwizzleType | Sequence[SwizzleType] | None = ..., swizzle_b: SwizzleType | Sequence[SwizzleType] | None = ..., bias: Tensor | None = ..., output_dtype: _dtype | None = ..., contraction_dim: Sequence[_int] = ..., use_fast_accum: _bool = ...) -> Tensor: ...
