"""PyTorch's home of what `dynamic_shapes` of :func:`rushlight.export.export` may hold."""

from rushlight.export.dynamic.additional import AdditionalInputs
from rushlight.export.dynamic.declared import Constraint
from rushlight.export.dynamic.dims import Dim, ShapesCollection, dims
from rushlight.export.dynamic.refining import refine_dynamic_shapes_from_suggested_fixes

__all__ = [
    "AdditionalInputs",
    "Constraint",
    "Dim",
    "ShapesCollection",
    "dims",
    "refine_dynamic_shapes_from_suggested_fixes",
]
