"""Elementwise functions as core ATen graphs have them."""

from __future__ import annotations

import functools
import math

from rushlight.dtypes import bool_, finfo, get_default_dtype, int64
from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.numbers import (
    below,
    chosen,
    element,
    filled,
    number,
    scaled,
    shifted,
    totalled,
    widened,
)
from rushlight.fx.experimental.core_parts.shapes import range_of
from rushlight.library.operators import lookup
from rushlight.tensor.tensor import Tensor

_FIRST = 1e-05, 1e-08  # the relative and absolute tolerance of isclose
_NEAR = 0.5  # the weight from which lerp starts at the end


def floating(function):
    """A function of floating-point numbers, which whole numbers and bools become first."""

    @functools.wraps(function)
    def run(self, *args, **kwargs):
        if self.dtype.is_complex:
            return NotImplemented
        if not self.dtype.is_floating_point:
            self = self.to(get_default_dtype())
        return widened(function)(self, *args, **kwargs)

    return run


def real(function):
    """A function of real numbers: the op stays whole for complex ones."""

    @functools.wraps(function)
    def run(self, *args, **kwargs):
        return NotImplemented if self.dtype.is_complex else function(self, *args, **kwargs)

    return run


@widened
def _addcmul(self, tensor1, tensor2, *, value=1):
    return self + tensor1 * value * tensor2


@widened
def _addcdiv(self, tensor1, tensor2, *, value=1):
    return self + tensor1 * value / tensor2


@widened
def lerp(self, end, weight):
    """The sum of `self` and of its weighted distance from `end`, seen from the nearer of both."""
    if not isinstance(weight, Tensor):
        weight = filled(weight, self)
    where = lookup("aten").where.self
    behind = weight.abs() >= _NEAR
    factor = where(behind, weight - 1, weight)
    start = where(behind, end, self)
    return factor * (end - self) + start


def _masked_fill(self, mask, value):
    return lookup("aten").where.self(mask, element(value, self), self)


def _all(value, like):
    return lookup("aten").full_like.default(like, value, dtype=bool_)


@real
def is_finite(self):
    """Whether numbers are neither infinite nor NaN."""
    if not self.dtype.is_floating_point:
        return _all(True, self)
    bounded = self.abs() != math.inf
    return (self == self) * bounded


def _is(value):
    return real(lambda self: self == value if self.dtype.is_floating_point else _all(False, self))


@real
def _is_real(self):
    return _all(True, self)


@real
def _is_close(self, other, rtol=_FIRST[0], atol=_FIRST[1], equal_nan=False):
    close, isnan = self == other, lookup("aten").isnan.default
    if equal_nan:
        close = close | (isnan(self) & isnan(other))
    if not (rtol or atol):
        return close
    if not other.dtype.is_floating_point:
        other = other.to(get_default_dtype())
    allowed = shifted(scaled(other, rtol).abs(), atol)
    distance = (self - other).abs()
    return close | (is_finite(distance) & (distance <= allowed))


@real
def _log_add_exp(self, other):
    unbounded = lookup("aten").logical_not.default(is_finite(self))
    return _summed_powers(self, other, unbounded, Tensor.exp, None)


@real
def _log_add_exp2(self, other):
    return _summed_powers(
        self, other, lookup("aten").isinf.default(self), Tensor.exp2, 1 / math.log(2)
    )


def _summed_powers(self, other, unbounded, power, factor):
    """The logarithm of the sum of two powers, of equal infinities these."""
    aten = lookup("aten")
    where, first = aten.where.self, self >= other
    high, low = where(first, self, other), where(first, other, self)
    same = aten.logical_and.default(unbounded, self == other)
    rest = power(low - high).log1p()
    return where(same, self, high + (rest if factor is None else rest * factor))


@floating
def _logit(self, eps=None):
    low = -1.0 if eps is None else eps
    under, over = self < low, self > 1 - low
    self = chosen(over, 1 - low, self)
    self = chosen(under, low, self)
    return (self / below(1, self)).log()


def _heaviside(self, values):
    aten = lookup("aten")
    zero = self == 0
    negative = aten.logical_or.default(self < 0, aten.isnan.default(self))
    one = number(1, self, int64)
    step = aten.where.self(negative, number(0, self, int64), one)
    return aten.where.self(zero, values, step)


@real
def _nan_to_num(self, nan=None, posinf=None, neginf=None):
    if not self.dtype.is_floating_point:
        return self.clone()
    isnan, limits = lookup("aten").isnan.default, finfo(self.dtype)
    found = chosen(isnan(self), 0.0 if nan is None else nan, self)
    least = limits.min if neginf is None else neginf
    found = chosen(self == -math.inf, least, found)
    return chosen(self == math.inf, limits.max if posinf is None else posinf, found)


@real
def _sign(self):
    return lookup("aten").sign.default(self)


@real
def _fraction(self):
    return self - self.trunc()


def _floor_divide(self, other):
    return exact(lookup("aten").div.Tensor_mode, self, other, rounding_mode="floor")


def _positive(self):
    return self


@floating
def _radians(self):
    return self * (math.pi / 180)


@floating
def _degrees(self):
    return self * (180 / math.pi)


@floating
def _sinc(self):
    angle = self * math.pi
    return chosen(angle == 0, 1, angle.sin() / angle)


@floating
def _entropy(self):
    aten = lookup("aten")
    unknown, inside = aten.isnan.default(self), self > 0
    found = -self * self.log()
    outside = aten.where.self(self == 0, number(0, self), number(-math.inf, self))
    return aten.where.self(unknown, self, aten.where.self(inside, found, outside))


@floating
def _normal_integral(self):
    return scaled(shifted(scaled(self, math.sqrt(0.5)).erf(), 1), 0.5)


@floating
def _log_normal_integral(self):
    root, aten = self * math.sqrt(0.5), lookup("aten")
    low = (aten.special_erfcx.default(-root) / 2).log() - root * root
    return aten.where.self(self < 1.0, low, (-root.erfc() / 2).log1p())


@floating
def _multivariate_lgamma(self, p):
    offsets = range_of(1 - p, 1, self, self.dtype) * 0.5
    found = totalled((self.unsqueeze(-1) + offsets).lgamma(), [-1])
    return found + 0.25 * math.log(math.pi) * p * (p - 1)


def _below_all(self, max):
    return lookup("aten").clamp.default(self, None, max)


def _within(bounds):
    def run(self, limit):
        return exact(lookup("aten").clamp.Tensor, self, *bounds(limit))

    return run


def _of_sums(aten):
    return {
        aten.addcmul.default: _addcmul,
        aten.addcdiv.default: _addcdiv,
        aten.lerp.Scalar: lerp,
        aten.lerp.Tensor: lerp,
        aten.logaddexp.default: _log_add_exp,
        aten.logaddexp2.default: _log_add_exp2,
        aten.floor_divide.default: _floor_divide,
        aten.floor_divide.Scalar: _floor_divide,
    }


def _of_choices(aten):
    return {
        aten.masked_fill.Scalar: _masked_fill,
        aten.masked_fill.Tensor: _masked_fill,
        aten.isfinite.default: is_finite,
        aten.isneginf.default: _is(-math.inf),
        aten.isposinf.default: _is(math.inf),
        aten.isreal.default: _is_real,
        aten.isclose.default: _is_close,
        aten.heaviside.default: _heaviside,
        aten.nan_to_num.default: _nan_to_num,
        aten.clamp_max.default: _below_all,
        aten.clamp_max.Tensor: _within(lambda limit: (None, limit)),
        aten.clamp_min.Tensor: _within(lambda limit: (limit,)),
    }


def _of_one(aten):
    return {
        aten.logit.default: _logit,
        aten.sgn.default: _sign,
        aten.frac.default: _fraction,
        aten.positive.default: _positive,
        aten.deg2rad.default: _radians,
        aten.rad2deg.default: _degrees,
        aten.sinc.default: _sinc,
        aten.special_entr.default: _entropy,
        aten.special_ndtr.default: _normal_integral,
        aten.special_log_ndtr.default: _log_normal_integral,
        aten.mvlgamma.default: _multivariate_lgamma,
    }


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return _of_sums(aten) | _of_choices(aten) | _of_one(aten)
