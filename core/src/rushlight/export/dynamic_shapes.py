"""PyTorch's home of what `dynamic_shapes` of :func:`rushlight.export.export` may hold."""

from rushlight.export.dynamic.additional import AdditionalInputs
from rushlight.export.dynamic.dims import Dim, ShapesCollection, dims

__all__ = ["AdditionalInputs", "Dim", "ShapesCollection", "dims"]
