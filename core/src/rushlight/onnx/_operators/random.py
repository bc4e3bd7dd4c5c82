"""Random tensors, by Rushlight's generator."""

from __future__ import annotations

import rushlight as rl
from rushlight.onnx._operators.dtypes import dtype_of
from rushlight.onnx._operators.registry import operator


@operator()
def RandomNormal(shape, dtype=1, mean=0.0, scale=1.0, seed=None):
    return (rl.randn(shape) * scale + mean).to(dtype_of(dtype))


@operator()
def RandomUniform(shape, dtype=1, high=1.0, low=0.0, seed=None):
    return (rl.rand(shape) * (high - low) + low).to(dtype_of(dtype))


@operator()
def RandomNormalLike(x, dtype=None, mean=0.0, scale=1.0, seed=None):
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return (rl.randn(x.shape) * scale + mean).to(kind)


@operator()
def RandomUniformLike(x, dtype=None, high=1.0, low=0.0, seed=None):
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return (rl.rand(x.shape) * (high - low) + low).to(kind)


@operator()
def Bernoulli(x, dtype=None, seed=None):
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return rl.bernoulli(x).to(kind)


@operator()
def Multinomial(x, dtype=6, sample_size=1, seed=None):
    return rl.multinomial(x.softmax(-1), sample_size, replacement=True).to(dtype_of(dtype))
