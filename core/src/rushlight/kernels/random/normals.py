"""Normals from uniforms: the transform of Box and Muller (1958) on blocks of 16, as PyTorch's."""

from __future__ import annotations

import functools
import math

from rushlight.kernels.launch.execution import FLOAT32, referenced_by
from rushlight.kernels.random.engine import box_muller as reference
from rushlight.machine import np

__all__ = ["box_muller"]

_EIGHT = np.dtype("V32")  # eight float32 as one item


def _pair(first, second, mean, std):
    """Two normals of two uniforms."""
    from rushlight.compiler import xp

    radius = xp.sqrt(-2.0 * xp.log(1.0 - first))
    theta = 2.0 * math.pi * second
    return radius * xp.cos(theta) * std + mean, radius * xp.sin(theta) * std + mean


@functools.cache
def _kernel():
    from rushlight.compiler import compile_kernel

    uniforms = {"first": "f32", "second": "f32"}
    scalars = {"mean": "f64", "std": "f64"}
    return compile_kernel(_pair, uniforms, uniforms, scalars, {}, ("f32", "f32"))


@referenced_by(reference)
def box_muller(data, mean, std):
    """``data``, uniforms in [0, 1), a multiple of 16 of them, as normals: in every block the first
    8 give radii, the last 8 angles."""
    if data.dtype != FLOAT32:
        return reference(data, mean, std)  # bit for bit what PyTorch's doubles are
    blocks = data.view(_EIGHT).reshape(-1, 2)  # NumPy moves eight at a time
    first, second = (blocks[:, i].copy().view(FLOAT32) for i in (0, 1))
    out = np.empty(blocks.shape, _EIGHT)
    for i, half in enumerate(_kernel()(first, second, float(mean), float(std))):
        out[:, i] = half.view(_EIGHT)
    return out.reshape(-1).view(FLOAT32)
