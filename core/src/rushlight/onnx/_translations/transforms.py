"""Fourier transforms as products with constant matrices, which all opsets have."""

from __future__ import annotations

import math

import rushlight
from rushlight.machine import np
from rushlight.onnx._builder import Complex, Value
from rushlight.onnx._registry import aten
from rushlight.onnx._tables import Waves

# Points up to which a transform is one product: a matrix of 2048 points has 16 MB in float32, and
# there are two. Larger transforms are made of two smaller ones.
_LARGEST_MATRIX = 2048


def _power(norm, back):
    """A transform is divided by the root of its size to this power; `back`: whether it is the one
    back."""
    norm = norm or "backward"
    if norm == "ortho":
        return 1
    return 2 if (norm == "backward") == back else 0


def _known(size):
    """A number of points, which constant matrices need to be known."""
    if type(size) is not int:
        raise NotImplementedError("a Fourier transform of sizes that may differ")
    return size


def _factors(size):
    """Two numbers of points whose transforms make that of `size`, as equal as can be."""
    low = next(n for n in range(math.isqrt(size), 0, -1) if size % n == 0)
    if size // low > _LARGEST_MATRIX:
        raise NotImplementedError(
            f"a Fourier transform of {size} points, {low} times {size // low}: expected a product "
            f"of two numbers up to {_LARGEST_MATRIX}"
        )
    return low, size // low


def _size(value, dim, n=None):
    return _known(value.shape[dim] if n is None else n)


def _product(g, value, waves, numbers, dim):
    """A value times a matrix along one dimension."""
    matrix = g.table(waves, *numbers, dtype=value.dtype)
    order = [d for d in range(value.rank) if d != dim] + [dim]
    back = [order.index(d) for d in range(value.rank)]
    turned = g.transpose(value, order)
    found = g.op("MatMul", turned, matrix)
    sizes = tuple(turned.shape[:-1]) + (matrix.shape[1],)
    return g.transpose(Value(found.name, value.dtype, sizes), back)


def _resized(g, value, dim, size):
    """A real value with `size` elements along a dimension: cut, or zeros at the end."""
    known = _known(value.shape[dim])
    if known == size:
        return value
    sizes = list(value.shape)
    if known > size:
        sizes[dim] = size
        cut = g.slice(value, dim, 0, size)
        return Value(cut.name, value.dtype, tuple(sizes))
    sizes[dim] = size - known
    zeros = g.op("Expand", g.constant(0.0, value.dtype), g.sizes(sizes))
    sizes[dim] = size
    found = g.op("Concat", value, zeros, axis=dim)
    return Value(found.name, value.dtype, tuple(sizes))


def _both(value, function):
    if isinstance(value, Complex):
        return Complex(function(value.real), function(value.imag))
    return function(value)


def transformed(g, value, dim, norm, back, count=None):
    """The transform of real or complex values along `dim`; `count`: so many frequencies."""
    size = _size(value, dim)
    if size > _LARGEST_MATRIX:
        found = _in_two_steps(g, value, dim, norm, back)
        return _both(found, lambda part: _resized(g, part, dim, count or size))
    numbers, power = (size, count or size, size), _power(norm, back)
    cosine, sine = Waves("cos", 1, power), Waves("sin", 1 if back else -1, power)

    def times(part, waves):
        return _product(g, part, waves, numbers, dim)

    if not isinstance(value, Complex):
        return Complex(times(value, cosine), times(value, sine))
    real, imag, shape = value.real, value.imag, value.shape
    return Complex(
        g.op("Sub", times(real, cosine), times(imag, sine), shape=shape),
        g.op("Add", times(real, sine), times(imag, cosine), shape=shape),
    )


def _in_two_steps(g, value, dim, norm, back):
    """A transform of p * q points by transforms of p and of q points (Cooley and Tukey, 1965)."""
    p, q = _factors(value.shape[dim])
    before, after = list(value.shape[:dim]), list(value.shape[dim + 1 :])
    value = _both(value, lambda part: g.reshape(part, [*before, p, q, *after]))
    value = transformed(g, value, dim, norm, back)
    angles = np.outer(np.arange(p), np.arange(q)) * (2 * np.pi / (p * q))
    angles = angles.reshape(p, q, *[1] * len(after))
    turn = (np.cos(angles), np.sin(angles) if back else -np.sin(angles))
    real, imag = (g.constant(part, value.real.dtype) for part in turn)
    value = Complex(
        g.op("Sub", g.op("Mul", value.real, real), g.op("Mul", value.imag, imag),
             shape=value.real.shape),
        g.op("Add", g.op("Mul", value.real, imag), g.op("Mul", value.imag, real),
             shape=value.real.shape),
    )  # fmt: skip
    value = transformed(g, value, dim + 1, norm, back)
    order = [*range(dim), dim + 1, dim, *range(dim + 2, len(before) + len(after) + 2)]
    return _both(value, lambda part: g.reshape(g.transpose(part, order), [*before, p * q, *after]))


def _whole(g, value, dim, size):
    """All frequencies of real numbers, of the first half of them."""
    half = value.real.shape[dim]
    back = g.constant(np.arange(size - half, 0, -1), rushlight.int64)
    mirrored = Complex(
        g.op("Gather", value.real, back, axis=dim),
        g.op("Neg", g.op("Gather", value.imag, back, axis=dim)),
    )
    sizes = (*value.real.shape[:dim], size, *value.real.shape[dim + 1 :])
    # the imaginary parts of the first and of the middle frequency do not count
    counted = np.ones(half)
    counted[:: half - 1 if size % 2 == 0 else half] = 0
    counted = g.constant(counted.reshape(half, *[1] * (len(sizes) - dim - 1)), value.imag.dtype)
    imag = g.op("Mul", value.imag, counted)
    return Complex(
        g.op("Concat", value.real, mirrored.real, axis=dim, shape=sizes),
        g.op("Concat", imag, mirrored.imag, axis=dim, shape=sizes),
    )


def to_real(g, value, dim, norm, size):
    """Real numbers of the first half of their frequencies, each other one counted twice."""
    half = _known(size) // 2 + 1
    value = _both(value, lambda part: _resized(g, part, dim, half))
    if size > _LARGEST_MATRIX:
        return _in_two_steps(g, _whole(g, value, dim, size), dim, norm, True).real
    numbers, power = (half, size, size), _power(norm, True)
    real = _product(g, value.real, Waves("cos", 1, power, True), numbers, dim)
    imag = _product(g, value.imag, Waves("sin", 1, power, True), numbers, dim)
    return g.op("Sub", real, imag)


def _floating(g, value):
    """Whole numbers as the result's real dtype."""
    return value if isinstance(value, Complex) else g.cast(value, g.dtype.to_real())


def _along(g, value, n, dim):
    value = _floating(g, value)
    dim %= value.rank
    size = _size(value, dim, n)
    return _both(value, lambda part: _resized(g, part, dim, size)), dim


@aten("fft_fft", of_complex=True)
def fft(g, self, n=None, dim=-1, norm=None):
    value, dim = _along(g, self, n, dim)
    return transformed(g, value, dim, norm, False)


@aten("fft_ifft", of_complex=True)
def ifft(g, self, n=None, dim=-1, norm=None):
    value, dim = _along(g, self, n, dim)
    return transformed(g, value, dim, norm, True)


@aten("fft_rfft", of_complex=True)
def rfft(g, self, n=None, dim=-1, norm=None):
    value, dim = _along(g, self, n, dim)
    return transformed(g, value, dim, norm, False, value.shape[dim] // 2 + 1)


@aten("fft_irfft", of_complex=True)
def irfft(g, self, n=None, dim=-1, norm=None):
    dim %= self.rank
    size = _size(self, dim, n) if n is not None else 2 * (_size(self, dim) - 1)
    if not isinstance(self, Complex):
        raise NotImplementedError("irfft of real numbers")
    return to_real(g, self, dim, norm, size)


@aten("_fft_r2c", of_complex=True)
def r2c(g, input, dim, normalization, onesided):  # noqa: A002 - the op's name
    value = input
    for place, axis in enumerate(reversed(dim)):
        half = value.shape[axis] // 2 + 1 if onesided and not place else None
        value = transformed(g, value, axis % input.rank, normalization, False, half)
    return value


@aten("_fft_c2c", of_complex=True)
def c2c(g, input, dim, normalization, forward):  # noqa: A002 - the op's name
    value = input
    for axis in dim:
        value = transformed(g, value, axis % input.rank, normalization, not forward)
    return value


@aten("_fft_c2r", of_complex=True)
def c2r(g, input, dim, normalization, last_dim_size):  # noqa: A002 - the op's name
    value = input
    for axis in dim[:-1]:
        value = transformed(g, value, axis % input.rank, normalization, True)
    return to_real(g, value, dim[-1] % input.rank, normalization, last_dim_size)
