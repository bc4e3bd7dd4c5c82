"""All parameters as one vector, and back."""

from __future__ import annotations

from rushlight.ops.shape.joining import cat
from rushlight.tensor.tensor import Tensor


def parameters_to_vector(parameters) -> Tensor:
    """The elements of all parameters, flattened and joined."""
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters) -> None:
    """Give parameters the consecutive elements of a vector."""
    at = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[at : at + count].view(parameter.shape).data
        at += count
