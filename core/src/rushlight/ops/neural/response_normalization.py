"""Channels over the squares of their neighbours."""

from __future__ import annotations

from rushlight.ops.neural.padding import pad
from rushlight.ops.neural.pooling import avg_pool2d, avg_pool3d
from rushlight.tensor.overriding import overridable


@overridable
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Channels of (N, C, ...) divided by ``(k + alpha * mean of squares of neighbours) ** beta``.

    `size` neighbouring channels count, zeros beyond the first and last. (Krizhevsky et al., 2012.)
    """
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)"
        )
    if not input.numel():
        return input
    around = size // 2, (size - 1) // 2
    squares, shape = input * input, tuple(input.shape)
    if input.dim() == 3:
        means = avg_pool2d(pad(squares.unsqueeze(1), (0, 0, *around)), (size, 1), stride=1)
    else:
        planes = squares.reshape(shape[0], 1, shape[1], shape[2], -1)
        means = avg_pool3d(pad(planes, (0, 0, 0, 0, *around)), (size, 1, 1), stride=1)
    means = means.squeeze(1)
    means = means if input.dim() == 3 else means.reshape(shape)
    return input / (means * alpha + k) ** beta
