"""Nested tensors: sequences of different lengths in one tensor.

>>> x = rushlight.nested.nested_tensor([rushlight.ones(1, 2), rushlight.ones(3, 2)])
>>> (x * 2).sum(1)
tensor([[2., 2.],
        [6., 6.]])
"""

from rushlight import refusals
from rushlight.ops.nested import parts as _parts  # noqa: F401 - what nested tensors can do
from rushlight.ops.nested import rules as _rules  # noqa: F401
from rushlight.ops.nested.tensors import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
)
from rushlight.ops.nested.tensors import to_padded as to_padded_tensor

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]
__getattr__ = refusals.rest_of(__name__)
