# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.tensor.tensor import Tensor
from typing import Any
from typing import Self

class Tag:
    core: Any
    cudagraph_unsafe: Any
    data_dependent_output: Any
    dynamic_output_shape: Any
    flexible_layout: Any
    generated: Any
    inplace: Any
    inplace_view: Any
    maybe_aliasing_or_mutating: Any
    needs_contiguous_strides: Any
    needs_exact_strides: Any
    needs_fixed_stride_order: Any
    nondeterministic_bitwise: Any
    nondeterministic_seeded: Any
    out: Any
    out_variant: Any
    pointwise: Any
    pt2_compliant_tag: Any
    reduction: Any
    view_copy: Any
    def __new__(cls, value: Tensor) -> Self: ...
