"""Complex numbers, of which runtimes have none: pairs of real values that the graph carries.

They live between inputs and outputs: a model takes and gives the pairs of ``view_as_real``.
"""

from __future__ import annotations

import functools

import rushlight
from rushlight.onnx._builder import Complex, Value
from rushlight.onnx._registry import aten, called, table
from rushlight.onnx._translations.creating import filled

# What only moves elements does to both parts what it does to one.
_MOVING = (
    "view reshape permute transpose.int t unsqueeze squeeze squeeze.dim expand select.int "
    "slice.Tensor narrow flip flatten.using_ints unflatten.int clone contiguous index_select "
    "movedim.int movedim.intlist swapaxes repeat constant_pad_nd pad neg roll index.Tensor "
    "sum sum.dim_IntList mean mean.dim unfold"
).split()


def _part(value, name):
    if isinstance(value, Complex):
        return getattr(value, name)
    return [_part(v, name) for v in value] if isinstance(value, list | tuple) else value


def on_both(name, known):
    """The translation of an op that does to a complex number's parts what it does to each."""

    function = known[name]

    @functools.wraps(function)  # `called` gives what the signature takes
    def moved(g, *values, **named):
        out, results = g.out, []
        for part in ("real", "imag"):
            g.out = out.real
            g.dtype = g.out.dtype
            parts_of = {k: _part(v, part) for k, v in named.items()}
            found = function(g, *(_part(v, part) for v in values), **parts_of)
            results.append(_shaped(found, out))
        return Complex(*results)

    return moved


def _shaped(value, like):
    return Value(value.name, value.dtype, tuple(like.shape), value.array)


def add_moves(known) -> None:
    """Register what only moves elements, by the `known` translations for one part; once, behind
    those."""
    for name in _MOVING:
        full = name if "." in name else f"{name}.default"
        if full in known:
            aten(full, of_complex=True)(on_both(full, known))


def parts(g, value):
    """The parts of a value or a number as values; None for no imaginary part."""
    if isinstance(value, Complex):
        return value.real, value.imag
    if isinstance(value, complex):
        return g.constant(value.real, g.dtype.to_real()), g.constant(value.imag, g.dtype.to_real())
    if isinstance(value, Value):
        return g.cast(value, g.dtype.to_real()), None
    return g.constant(value, g.dtype.to_real()), None


def multiplied(g, a, b):
    """The product of two pairs."""
    if a[1] is None or b[1] is None:
        (real, imag), factor = (b, a[0]) if a[1] is None else (a, b[0])
        return Complex(g.op("Mul", real, factor), g.op("Mul", imag, factor))
    real = g.op("Sub", g.op("Mul", a[0], b[0]), g.op("Mul", a[1], b[1]))
    return Complex(real, g.op("Add", g.op("Mul", a[0], b[1]), g.op("Mul", a[1], b[0])))


@aten("mul.Tensor", "mul.Scalar", of_complex=True)
def mul(g, self, other):
    return multiplied(g, parts(g, self), parts(g, other))


@aten("div.Tensor", "div.Scalar", "true_divide.Tensor", of_complex=True)
def div(g, self, other):
    a, (real, imag) = parts(g, self), parts(g, other)
    if imag is None:
        return Complex(g.op("Div", a[0], real), g.op("Div", a[1], real))
    size = g.op("Add", g.op("Mul", real, real), g.op("Mul", imag, imag))
    found = multiplied(g, a, (real, g.op("Neg", imag)))
    return Complex(g.op("Div", found.real, size), g.op("Div", found.imag, size))


def _combined(g, kind, self, other, alpha):
    if alpha != 1:
        raise NotImplementedError("complex numbers with alpha")
    a, b = parts(g, self), parts(g, other)
    zero = g.constant(0.0, g.dtype.to_real())
    second = (zero if v is None else v for v in (a[1], b[1]))
    return Complex(g.op(kind, a[0], b[0]), g.op(kind, *second))


@aten("add.Tensor", "add.Scalar", of_complex=True)
def add(g, self, other, alpha=1):
    return _combined(g, "Add", self, other, alpha)


@aten("sub.Tensor", "sub.Scalar", of_complex=True)
def sub(g, self, other, alpha=1):
    return _combined(g, "Sub", self, other, alpha)


@aten("to.dtype", "_to_copy", of_complex=True)
def to(g, self, dtype=None):
    real = g.dtype.to_real()
    pair = parts(g, self)
    imag = g.op("Sub", pair[0], pair[0]) if pair[1] is None else g.cast(pair[1], real)
    return Complex(g.cast(pair[0], real), imag)


@aten("conj", "conj_physical", of_complex=True)
def conj(g, self):
    return Complex(self.real, g.op("Neg", self.imag))


@aten("resolve_conj", of_complex=True)
def resolve_conj(g, self):
    return self


@aten("abs", of_complex=True)
def absolute(g, self):
    squares = (g.op("Mul", v, v) for v in (self.real, self.imag))
    return g.op("Sqrt", g.op("Add", *squares))


@aten("ones", "new_ones", "full", "new_full", of_complex=True)
def full(g, size, fill_value=1):
    number, real = complex(fill_value), g.dtype.to_real()
    return Complex(filled(g, size, number.real, real), filled(g, size, number.imag, real))


@aten("zeros", "new_zeros", of_complex=True)
def zeros(g, size):
    return full(g, size, 0)


@aten("view_as_real", "view_as_real_copy", of_complex=True)
def view_as_real(g, self):
    both = [g.unsqueeze(v, self.rank) for v in (self.real, self.imag)]
    return g.op("Concat", *both, axis=self.rank)


@aten("view_as_complex", "view_as_complex_copy", of_complex=True)
def view_as_complex(g, self):
    last = self.rank - 1
    both = (g.op("Gather", self, g.constant(n, rushlight.int64), axis=last) for n in (0, 1))
    return Complex(*(_shaped(v, g.out) for v in both))


@aten("polar", of_complex=True)
def polar(g, abs, angle):  # noqa: A002 - ATen's name
    return Complex(g.op("Mul", abs, g.op("Cos", angle)), g.op("Mul", abs, g.op("Sin", angle)))


@aten("complex", of_complex=True)
def as_pair(g, real, imag):
    return Complex(real, imag)


@aten("angle", of_complex=True)
def angle(g, self):
    found = table()["atan2.default"]
    return called(found, g, {"self": self.imag, "other": self.real})


@aten("cat", "concat", "concatenate", of_complex=True)
def cat(g, tensors, dim=0):
    pairs = [parts(g, v) for v in tensors]
    axis = dim % len(g.out.shape)
    zeros = [g.op("Sub", real, real) if imag is None else imag for real, imag in pairs]
    real = g.op("Concat", *(pair[0] for pair in pairs), axis=axis)
    return Complex(real, g.op("Concat", *zeros, axis=axis))
