"""What poolings ask of their arguments, with and without values."""

from __future__ import annotations


def check_positions(grad, indices, input_shape):
    """A position for each element, in as many planes as the input has."""
    if grad.shape != indices.shape:
        raise ValueError(f"max_pool: grad {grad.shape} and indices {indices.shape} differ")
    if grad.ndim != len(input_shape) or grad.shape[:2] != tuple(input_shape[:2]):
        raise ValueError(f"max_pool: grad {grad.shape} is none of an input {tuple(input_shape)}")
