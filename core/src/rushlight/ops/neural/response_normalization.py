"""Channels over the squares of their neighbours."""

from __future__ import annotations

from rushlight.tensor.overriding import overridable


@overridable
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Channels of (N, C, ...) divided by ``(k + alpha * mean of squares of neighbours) ** beta``.

    `size` neighbouring channels count, zeros beyond the first and last. (Krizhevsky et al., 2012.)
    """
    from rushlight.ops.neural.padding import pad

    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)"
        )
    if not input.numel():
        return input
    rest = (0, 0) * (input.dim() - 2)
    squares = pad(input * input, (*rest, size // 2, (size - 1) // 2))
    channels = input.shape[1]
    total = squares.narrow(1, 0, channels)
    for i in range(1, size):
        total = total + squares.narrow(1, i, channels)
    return input / (total * (alpha / size) + k) ** beta
