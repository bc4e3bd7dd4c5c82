"""New tensors."""

from __future__ import annotations

import rushlight
from rushlight.onnx._builder import Value
from rushlight.onnx._registry import aten
from rushlight.onnx._types import number_of


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
    numbers = start, end, step
    if any(isinstance(v, Value) for v in numbers):
        return g.op("Range", *g.to(g.dtype, *numbers))
    if all(isinstance(v, int) for v in numbers):
        return g.cast(_range(g, *numbers), g.dtype)
    count = len(rushlight.arange(start, end, step, dtype=g.dtype))
    return g.cast(_line(g, _positions(g, count), start, step), g.dtype)


def _range(g, start, end, step=1):
    """Whole numbers one after the other: a constant, which may be longer at other sizes."""
    return g.tensor(rushlight.arange(start, end, step, dtype=rushlight.int64), "range")


def _positions(g, count):
    """0, 1, ... as float64."""
    return g.cast(_range(g, 0, count), rushlight.float64)


def _line(g, positions, start, step):
    """``start + step * positions``."""
    return g.op("Add", g.op("Mul", positions, step), g.constant(float(start), rushlight.float64))


@aten("linspace")
def linspace(g, start, end, steps):
    """From both ends to the middle, so that both are exact."""
    if any(isinstance(v, Value) for v in (start, end, steps)):
        raise NotImplementedError("a range that is computed in the program")
    kind = rushlight.float64 if g.dtype.is_floating_point else g.dtype
    if kind is not rushlight.float64 or steps < 2:
        return g.tensor(rushlight.linspace(start, end, steps, dtype=g.dtype), "range")
    positions = _range(g, 0, steps)
    from_end = g.op("Sub", g.constant(steps - 1, rushlight.int64), positions)
    near = g.op("Less", positions, from_end, dtype=rushlight.bool)
    intervals = g.op("Cast", g.constant(steps - 1, rushlight.int64), dtype=kind, to=number_of(kind))
    step = g.op("Div", g.constant(float(end) - float(start), kind), intervals)
    ascending = _line(g, g.cast(positions, kind), start, step)
    descending = g.op(
        "Sub", g.constant(float(end), kind), g.op("Mul", g.cast(from_end, kind), step)
    )
    return g.cast(g.op("Where", near, ascending, descending, dtype=kind), g.dtype)


@aten("logspace")
def logspace(g, start, end, steps, base=10.0):
    raise NotImplementedError("a range that is computed in the program")


@aten("eye", "eye.m")
def eye(g, n, m=None):
    if any(isinstance(v, Value) for v in (n, m)):
        raise NotImplementedError("an identity matrix whose size is computed in the program")
    rows, columns = (_range(g, 0, size) for size in (n, n if m is None else m))
    on = g.op("Equal", g.unsqueeze(rows, 1), g.unsqueeze(columns, 0), dtype=rushlight.bool)
    return g.cast(on, g.dtype)


@aten("rand", "rand_like")
def rand(g, size=None, self=None):
    return _random(g, "RandomUniform", size, self)


@aten("randn", "randn_like", "normal_functional")
def randn(g, size=None, self=None):
    return _random(g, "RandomNormal", size, self)


def _random(g, kind, size, like):
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
