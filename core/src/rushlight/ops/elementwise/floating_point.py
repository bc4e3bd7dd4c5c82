"""The anatomy of numbers: sign, neighbours, mantissa and exponent, replaced nan and infinities."""

from __future__ import annotations

import functools
import math

from rushlight import dtypes
from rushlight.compiler import xp
from rushlight.dtypes import BOOL, COMPLEX, FLOAT, INTEGER
from rushlight.errors import argument_error, shape_text
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.domains import nonzero, positive
from rushlight.ops._table.numpy_names import numpy_names
from rushlight.ops._table.op import composite, elementwise, op
from rushlight.ops._table.rules import (
    boolean,
    floating,
    floating_only,
    integral_or_bool,
    number_dtype,
    result_type,
    same,
)
from rushlight.ops._table.shape_rules import broadcast, walked
from rushlight.ops.elementwise.arithmetic import mul, pow, remainder
from rushlight.ops.elementwise.comparison import isfinite, isnan, where
from rushlight.ops.elementwise.exponential import exp2
from rushlight.ops.shape.complex_views import conj_of
from rushlight.tensor.tensor import Tensor, add_methods


def _category(value):
    return value._dtype.category if isinstance(value, Tensor) else number_dtype(value).category


def refuse_complex(name, tensors=0):
    """A check that refuses complex operands in the op's name, and numbers among the first
    `tensors` operands."""

    def check(*values):
        for position, value in enumerate(values):
            if position < tensors and not isinstance(value, Tensor):
                raise argument_error(name, ("input", "other")[position], "Tensor", value)
            if isinstance(value, Tensor) and value._dtype.category == COMPLEX:
                raise RuntimeError(
                    f"{name} is not implemented for complex tensors; got {value._dtype}"
                )

    return check


# --------------------------------------------------------------------------- nan and the infinities
@elementwise(
    method=False,
    inplace="_nan_to_num_",
    variants=({"nan": 0.0, "posinf": 9.0, "neginf": -9.0},),
    only_variants=True,
)
def _nan_to_num(input, nan: float, posinf: float, neginf: float):
    """`input` with nan and the infinities replaced by given numbers."""
    high = xp.where(input == math.inf, posinf, xp.where(input == -math.inf, neginf, input))
    return xp.where(xp.isnan(input), nan, high)


_nan_to_num.gradient(input=lambda grad, input: where(isfinite(input), grad, 0.0))


def _replacements(tensor, nan, posinf, neginf):
    most = _most(tensor._dtype)
    return (
        0.0 if nan is None else nan,
        most if posinf is None else posinf,
        -most if neginf is None else neginf,
    )


@functools.cache
def _most(dtype):
    """The largest number of a dtype or of its parts; the smallest is its opposite."""
    return dtypes.finfo(dtype.to_real()).max


@composite(limited="unsigned", samples=[(), (1.0, 2.0, -2.0)], sparse="elements", nested="elements")
def nan_to_num(input: Tensor, nan=None, posinf=None, neginf=None):
    """`input` with nan replaced by `nan` (0), and the infinities by `posinf` and `neginf` (the
    largest and smallest numbers of the dtype); of a complex number, both parts.

    >>> rushlight.nan_to_num(rushlight.tensor([float("nan"), 2.0]))
    tensor([0., 2.])
    """
    if input._dtype.category < FLOAT:
        return input.clone()
    numbers = _replacements(input, nan, posinf, neginf)
    if input._dtype.category == COMPLEX:
        from rushlight.ops.elementwise.complex_numbers import complex

        return complex(_nan_to_num(input.real, *numbers), _nan_to_num(input.imag, *numbers))
    return _nan_to_num(input, *numbers)


def nan_to_num_(self, nan=None, posinf=None, neginf=None):
    """In-place version of :func:`rushlight.nan_to_num`."""
    if self._dtype.category < FLOAT:
        return self
    if self._dtype.category == COMPLEX:
        return self.copy_(nan_to_num(self, nan, posinf, neginf))
    return self._nan_to_num_(*_replacements(self, nan, posinf, neginf))


Tensor.nan_to_num_ = nan_to_num_

_TEST = {"rule": boolean, "differentiable": False, "inplace": False}


@elementwise(check=refuse_complex("isposinf"), **_TEST, limited="unsigned", sparse="elements")
def isposinf(input):
    """True where an element is plus infinity."""
    return xp.isposinf(input)


@elementwise(check=refuse_complex("isneginf"), **_TEST, limited="unsigned", sparse="elements")
def isneginf(input):
    """True where an element is minus infinity."""
    return xp.isneginf(input)


@elementwise(
    check=refuse_complex("signbit"), **_TEST, limited="unsigned", reads_sign=True, sparse="elements"
)
def signbit(input):
    """True where the sign bit is set: negative numbers, -0.0 included."""
    return xp.signbit(input)


# -------------------------------------------------------------------------------------------- signs
@elementwise(
    rule=floating,
    domain=nonzero,
    check=refuse_complex("copysign", 1),
    aten="Tensor Scalar out Scalar_out default",
    aten_inplace="Tensor Scalar",
)
def copysign(input, other):
    """The size of `input` with the sign of `other`, broadcast."""
    return xp.copysign(input, other)


copysign.gradient(
    input=lambda grad, input, out: grad * where(input == 0, 0.0, out / where(input == 0, 1, input)),
    other=lambda grad: grad * 0,
)


def _heaviside_check(input, values):
    refuse_complex(heaviside.op.name, 2)(input, values)
    if isinstance(values, Tensor) and isinstance(input, Tensor) and input._dtype != values._dtype:
        raise RuntimeError(
            "heaviside is not yet implemented for tensors with different dtypes: input is "
            f"{input._dtype}, values is {values._dtype}"
        )


@elementwise(domain=nonzero, differentiable=False, check=_heaviside_check, rule=same)
def heaviside(input, values: Tensor):
    """0 where `input` is negative, 1 where positive, `values` where it is zero."""
    return xp.heaviside(input, values)


# ------------------------------------------------------------------------------- larger and smaller
@elementwise(check=refuse_complex("fmax", 2), inplace=False)
def fmax(input, other: Tensor):
    """The larger element of each pair; of a pair with one nan the number."""
    return xp.fmax(input, other)


@elementwise(check=refuse_complex("fmin", 2), inplace=False)
def fmin(input, other: Tensor):
    """The smaller element of each pair; of a pair with one nan the number."""
    return xp.fmin(input, other)


fmax.gradient(
    input=lambda grad, input, other: where((input >= other) | isnan(other), grad, 0.0),
    other=lambda grad, input, other: where((input >= other) | isnan(other), 0.0, grad),
)
fmin.gradient(
    input=lambda grad, input, other: where((input <= other) | isnan(other), grad, 0.0),
    other=lambda grad, input, other: where((input <= other) | isnan(other), 0.0, grad),
)


# ------------------------------------------------------------------------- neighbours and the parts
def broadcast_pair(function, name=None):
    """Make a body on arrays of a NumPy function of two arrays, with a broadcasting error that names
    it."""
    name = name or function.__name__

    def run(input, other):
        try:
            return function(input, other)
        except ValueError:
            raise RuntimeError(
                f"{name}: The size of tensor input must match the size of tensor other at every "
                f"non-singleton dimension: input has shape {shape_text(input.shape)}, other has "
                f"shape {shape_text(other.shape)}"
            ) from None

    return run


def _pair_samples(make):
    return [
        ((make(3, 4), make(3, 4)), {}),
        ((make(3, 1), make(4)), {}),
        ((make(), make(2)), {}),
        ((make(0, 3), make(3)), {}),
    ]


_nextafter = broadcast_pair(np.nextafter)


@op(
    batching="elements",
    rule=floating_only,
    samples=_pair_samples,
    meta=broadcast,
    inplace=True,
    sweep=(2,),
)
def nextafter(input: Tensor, other: Tensor):
    """The next number of the dtype after `input` toward `other`."""
    if input.dtype.kind == "c":
        raise RuntimeError(f"nextafter is not implemented for complex tensors; got {input.dtype}")
    return np.asarray(_nextafter(input, other), input.dtype)


nextafter.gradient(input=lambda grad: grad, other=lambda grad: grad * 0)


@op(
    schemas=("frexp.Tensor(Tensor self) -> (Tensor, Tensor)",),
    batching="elements",
    meta=lambda input: [walked(input), walked(input).astype(np.int32)],
    result="mantissa exponent",
    samples=lambda make: [((make(3, 4),), {}), ((make(),), {})],
    sweep=(2,),
    barred="unsigned complex",
    aten="Tensor Tensor_out default",
    saves="exponent:result1",
)
def frexp(input: Tensor):
    """Mantissa and exponent: ``input == mantissa * 2 ** exponent``, ``0.5 <= |mantissa| < 1``."""
    if input.dtype.kind in "biuc":
        raise RuntimeError(f"frexp() only supports floating-point dtypes; got {dtype_of(input)}")
    mantissa, exponent = np.frexp(input)
    return [np.asarray(mantissa, input.dtype), np.asarray(exponent, np.int32)]


@frexp.gradients("input")
def _frexp_gradient(grad, out1, needs):
    grad = grad[0] if isinstance(grad, list) else grad
    return (None if grad is None else grad / exp2(out1.to(grad._dtype)),)


@elementwise(method=False, inplace=False, limited=False, tested_by="ldexp", node="Ldexp")
def _scaled_by_power(input, other):
    """``input * 2 ** other`` of one floating dtype."""
    return input * xp.power(2.0, other)


_scaled_by_power.gradient(
    input=lambda grad, other: grad * conj_of(pow(2.0, other)),
    other=lambda grad, out: grad * conj_of(out) * math.log(2.0),
)


@composite(
    samples=lambda make: [(make(3, 1), make.integers(-2, 3, (4,))), (make(3, 4), make(3, 4))],
    aten="Tensor out default",
)
def ldexp(input: Tensor, other: Tensor):
    """``input * 2 ** other``, broadcast; of a float tensor and integers, in its dtype and without
    overflow on the way."""
    _two_tensors("ldexp", input, other)
    if input._dtype.category != FLOAT or other._dtype.category != INTEGER:
        if input._dtype.category == COMPLEX or not other._array.ndim:
            other = other.to(dtypes.promote_types(input._dtype, other._dtype))
        if input._dtype is other._dtype and input._dtype.category >= FLOAT:
            return _scaled_by_power(input, other)
        return mul(input, pow(2.0, other))
    half = other.div(2, rounding_mode="trunc")
    powers = [pow(2.0, part.double()) for part in (half, other - half)]
    return (input.double() * powers[0] * powers[1]).to(input._dtype)


def _two_tensors(name, input, other):
    for position, value in enumerate((input, other)):
        if not isinstance(value, Tensor):
            raise argument_error(name, ("input", "other")[position], "Tensor", value)


@numpy_names
def ldexp_(self, other):
    """In-place version of :func:`rushlight.ldexp`."""
    _two_tensors(ldexp.op.name + "_", self, other)
    return self.mul_(pow(2.0, other))


Tensor.ldexp_ = ldexp_


# ---------------------------------------------------------------------------- powers and remainders
def _to_double(value):
    if isinstance(value, Tensor):
        wide = dtypes.complex128 if value._dtype.category == COMPLEX else dtypes.float64
        return value.to(wide)
    return value


@composite(
    samples=lambda make: [(make(3, 4), 2), (2.0, make(3, 4)), (make(3, 1), make(4))],
    domain=positive,
    aten="Tensor_Tensor Tensor_Scalar Scalar Tensor_Tensor_out Scalar_out Tensor_Scalar_out",
    aten_inplace="Tensor Scalar",
)
def float_power(input, exponent):
    """``input ** exponent`` computed and returned in double precision (complex128 for complex)."""
    values = (input, exponent)
    if not any(isinstance(v, Tensor) for v in values):
        raise TypeError("float_power(): argument 'input' or 'exponent' must be a Tensor")
    found = [_to_double(v) for v in values]
    if any(isinstance(v, complex) for v in values):
        found = [v.to(dtypes.complex128) if isinstance(v, Tensor) else v for v in found]
    elif not isinstance(found[0], Tensor) and not isinstance(found[0], complex):
        found[0] = float(found[0])
    return pow(*found)


def float_power_(self, exponent):
    """In-place version of :func:`rushlight.float_power`; the tensor must be double already."""
    complex_ = COMPLEX in (self._dtype.category, _category(exponent))
    wide = dtypes.complex128 if complex_ else dtypes.float64
    if self._dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self._dtype} but the operation's result "
            f"requires dtype {wide}"
        )
    return self.pow_(_to_double(exponent))


Tensor.float_power_ = float_power_


def _reflected_remainder(self, other):
    """``other % self``."""
    if isinstance(other, Tensor):
        return remainder(other, self)
    if number_dtype(other) is None:
        return NotImplemented
    from rushlight.ops.creation.tensors import scalar_tensor

    found = result_type([self], [other])
    return remainder(scalar_tensor(other, dtype=found), self)


add_methods(__rmod__=_reflected_remainder)


# ----------------------------------------------------------------------------------------- integers
_INTEGERS = {
    "rule": integral_or_bool,
    "samples": _pair_samples,
    "domain": "integers",
    "meta": broadcast,
    "differentiable": False,
    "inplace": True,
    "sweep": (1, 2),
}


def _refuse_bool(name, array):
    if array.dtype.kind == "b":
        raise RuntimeError(f'"{name}" not implemented for dtype bool')


@op(batching="elements", **_INTEGERS)
def gcd(input: Tensor, other: Tensor):
    """The greatest common divisor of integers, broadcast; ``gcd(0, 0)`` is 0."""
    _refuse_bool("gcd", input)
    return np.asarray(broadcast_pair(np.gcd)(input, other), input.dtype)


@op(batching="elements", **_INTEGERS)
def lcm(input: Tensor, other: Tensor):
    """The least common multiple of integers, broadcast; 0 if either is 0."""
    _refuse_bool("lcm", input)
    return np.asarray(broadcast_pair(np.lcm)(input, other), input.dtype)


def _integers(promoted):
    if promoted.category >= FLOAT or promoted.category == BOOL:
        raise NotImplementedError(f"not implemented for dtype {promoted}; shifts take integers")
    return promoted, promoted


_SHIFT = {"rule": _integers, "differentiable": False, "domain": "integers", "numbers": True}


@elementwise(
    operators=("__lshift__",),
    samples=lambda make: _shift_samples(make),
    **_SHIFT,
    aten="Tensor Tensor_Scalar Scalar_Tensor Tensor_out Tensor_Scalar_out Scalar_Tensor_out",
    aten_inplace="Tensor_Scalar Tensor",
)
def bitwise_left_shift(input, other):
    """The bits of integers moved left by `other` positions; what leaves is lost."""
    return xp.left_shift(input, other)


@elementwise(
    operators=("__rshift__",),
    samples=lambda make: _shift_samples(make),
    **_SHIFT,
    aten="Tensor Tensor_Scalar Scalar_Tensor Tensor_out Tensor_Scalar_out Scalar_Tensor_out",
    aten_inplace="Tensor_Scalar Tensor",
)
def bitwise_right_shift(input, other):
    """The bits of integers moved right by `other` positions, the sign bit repeated."""
    return xp.right_shift(input, other)


def _shift_samples(make):
    count = make.integers(0, 7, (3, 4)).to(make.dtype)
    return [((make(3, 4), count), {}), ((make(3, 4), 2), {}), ((make(), count), {})]


def _reflected_shift(function):
    def call(self, other):
        if number_dtype(other) is None:
            return NotImplemented
        from rushlight.ops.creation.tensors import scalar_tensor

        return function(scalar_tensor(other, dtype=result_type([self], [other])), self)

    return call


add_methods(__rlshift__=_reflected_shift(bitwise_left_shift))
add_methods(__rrshift__=_reflected_shift(bitwise_right_shift))
