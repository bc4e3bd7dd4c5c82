"""New tensors."""

from __future__ import annotations

import rushlight
from rushlight.onnx._builder import Value
from rushlight.onnx._registry import aten


def filled(g, sizes, value, dtype):
    """A tensor of one number."""
    if isinstance(value, Value):
        return g.op("Expand", g.cast(value, dtype), g.sizes(list(sizes)))
    if all(not isinstance(size, Value) for size in sizes):
        return g.op("Expand", g.constant(value, dtype), g.integers(sizes))
    return g.op("Expand", g.constant(value, dtype), g.sizes(list(sizes)))


@aten("full", "new_full")
def full(g, size, fill_value):
    return filled(g, size, fill_value, g.dtype)


@aten("zeros", "new_zeros", "empty.memory_format", "new_empty", "empty_strided", "empty_permuted")
def zeros(g, size):
    return filled(g, size, 0, g.dtype)


@aten("ones", "new_ones")
def ones(g, size):
    return filled(g, size, 1, g.dtype)


@aten("zeros_like", "empty_like")
def zeros_like(g, self):
    return _like(g, self, 0)


@aten("ones_like")
def ones_like(g, self):
    return _like(g, self, 1)


@aten("full_like", "fill.Scalar", "fill.Tensor")
def full_like(g, self, fill_value=None, value=None):
    return _like(g, self, fill_value if value is None else value)


@aten("zero")
def zero(g, self):
    return _like(g, self, 0)


def _like(g, x, value):
    number = g.cast(value, g.dtype) if isinstance(value, Value) else g.constant(value, g.dtype)
    return g.op("Expand", number, g.shape_of(x))


@aten("scalar_tensor")
def scalar_tensor(g, s):
    return g.constant(s, g.dtype)


@aten("arange", "arange.start", "arange.start_step")
def arange(g, end, start=0, step=1):
    if not any(isinstance(v, Value) for v in (start, end, step)):
        return g.tensor(rushlight.arange(start, end, step, dtype=g.dtype), "range")
    return g.op("Range", *g.to(g.dtype, start, end, step))


@aten("linspace")
def linspace(g, start, end, steps):
    if any(isinstance(v, Value) for v in (start, end, steps)):
        raise NotImplementedError("a range that is computed in the program")
    return g.tensor(rushlight.linspace(start, end, steps, dtype=g.dtype), "range")


@aten("logspace")
def logspace(g, start, end, steps, base=10.0):
    raise NotImplementedError("a range that is computed in the program")


@aten("eye", "eye.m")
def eye(g, n, m=None):
    return g.tensor(rushlight.eye(n, n if m is None else m, dtype=g.dtype), "eye")


@aten("rand", "rand_like")
def rand(g, size=None, self=None):
    return _random(g, "RandomUniform", size, self)


@aten("randn", "randn_like", "normal_functional")
def randn(g, size=None, self=None):
    return _random(g, "RandomNormal", size, self)


def _random(g, kind, size, like):
    from rushlight.onnx._types import number_of

    dtype = number_of(g.dtype)
    if like is not None:
        return g.op(f"{kind}Like", like, dtype=g.dtype, **{})
    if not size:  # ONNX's checker takes no empty shape
        return g.op(f"{kind}Like", g.constant(0, g.dtype))
    if any(isinstance(s, Value) for s in size):
        wide = filled(g, size, 0, g.dtype)
        return g.op(f"{kind}Like", wide)
    found = g._add(kind, [], 1, g.dtype, tuple(size), "", {"shape": list(size), "dtype": dtype})
    return found


@aten("bernoulli", "bernoulli.p")
def bernoulli(g, self, p=None):
    if p is not None:
        self = _like(g, self, p)
    if g.opset >= 15:
        return g.op("Bernoulli", self)
    drawn = g.op("RandomUniformLike", self)
    return g.cast(g.op("Less", drawn, self, dtype=rushlight.bool), g.dtype)


@aten("tril_indices", "triu_indices")
def tril_indices(g, row, col, offset=0):
    raise NotImplementedError("indices of triangles are constants: make them outside of the model")


@aten("copy")
def copy(g, self, src):
    """`self` filled with other values."""
    value = g.cast(src, g.dtype)
    return value if value.shape == self.shape else g.op("Expand", value, g.shape_of(self))
