"""Operations on each element."""

from __future__ import annotations

import math

import rushlight
from rushlight.onnx._builder import Value
from rushlight.onnx._registry import aten

_UNARY = {
    "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan",
    "atanh": "Atanh", "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp", "log": "Log",
    "reciprocal": "Reciprocal", "sigmoid": "Sigmoid", "sin": "Sin", "sinh": "Sinh",
    "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip
_KEEPING = {"abs": "Abs", "neg": "Neg", "sign": "Sign", "sgn": "Sign", "relu": "Relu"}
_ROUNDING = {"ceil": "Ceil", "floor": "Floor"}


def _declare():
    def unary(kind):
        return lambda g, self: g.op(kind, *g.to(g.dtype, self))

    def rounding(kind):
        return lambda g, self: g.op(kind, self) if g.dtype.is_floating_point else self

    for name, kind in (_UNARY | _KEEPING).items():
        aten(name)(unary(kind))
    for name, kind in _ROUNDING.items():
        aten(name)(rounding(kind))


_declare()


def number(g, value):
    """A number as a constant of the result's dtype."""
    return value if isinstance(value, Value) else g.constant(value, g.dtype)


@aten("add.Tensor", "add.Scalar")
def add(g, self, other, alpha=1):
    a, b = g.to(g.dtype, self, other)
    if g.dtype is rushlight.bool:
        return g.op("Or", a, b)
    return g.op("Add", a, b if alpha == 1 else g.op("Mul", b, g.like(alpha, b)))


@aten("sub.Tensor", "sub.Scalar", "subtract.Tensor", "subtract.Scalar")
def sub(g, self, other, alpha=1):
    a, b = g.to(g.dtype, self, other)
    return g.op("Sub", a, b if alpha == 1 else g.op("Mul", b, g.like(alpha, b)))


@aten("rsub.Tensor", "rsub.Scalar")
def rsub(g, self, other, alpha=1):
    a, b = g.to(g.dtype, self, other)
    return g.op("Sub", b, a if alpha == 1 else g.op("Mul", a, g.like(alpha, a)))


@aten("mul.Tensor", "mul.Scalar", "multiply.Tensor", "multiply.Scalar")
def mul(g, self, other):
    a, b = g.to(g.dtype, self, other)
    return g.op("And" if g.dtype is rushlight.bool else "Mul", a, b)


@aten("div.Tensor", "div.Scalar", "true_divide.Tensor", "divide.Tensor")
def div(g, self, other):
    return g.op("Div", *g.to(g.dtype, self, other))


@aten("div.Tensor_mode", "div.Scalar_mode")
def div_mode(g, self, other, rounding_mode=None):
    if rounding_mode is None:
        return div(g, self, other)
    a, b = g.common(self, other)
    if a.dtype.is_floating_point:
        quotient = g.op("Div", a, b)
        return g.op("Floor", quotient) if rounding_mode == "floor" else truncated(g, quotient)
    return floor_divided(g, a, b) if rounding_mode == "floor" else g.op("Div", a, b)


@aten("floor_divide", "floor_divide.Scalar")
def floor_divide(g, self, other):
    return div_mode(g, self, other, "floor")


def floor_divided(g, a, b):
    """The quotient of whole numbers, rounded down: what is left has the divisor's sign."""
    return g.op("Div", g.op("Sub", a, g.op("Mod", a, b)), b)


def truncated(g, x):
    """Cut towards zero."""
    return g.op("Mul", g.op("Sign", x), g.op("Floor", g.op("Abs", x)))


@aten("trunc", "fix")
def trunc(g, self):
    return truncated(g, self) if g.dtype.is_floating_point else self


@aten("frac")
def frac(g, self):
    return g.op("Sub", self, truncated(g, self))


@aten("remainder.Tensor", "remainder.Scalar")
def remainder(g, self, other):
    a, b = g.to(g.dtype, self, other)
    if not g.dtype.is_floating_point:
        return g.op("Mod", a, b)
    rest = g.op("Mod", a, b, fmod=1)
    wrong = g.op(
        "And",
        g.op("Not", g.op("Equal", rest, g.like(0, rest), dtype=rushlight.bool)),
        g.op("Xor", negative(g, rest), negative(g, b)),
    )
    return g.op("Where", wrong, g.op("Add", rest, b), rest, dtype=g.dtype)


def negative(g, x):
    """Whether values are below zero."""
    return g.op("Less", x, g.like(0, x), dtype=rushlight.bool)


@aten("fmod.Tensor", "fmod.Scalar")
def fmod(g, self, other):
    return g.op("Mod", *g.to(g.dtype, self, other), fmod=1)


@aten("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "float_power.Tensor_Scalar")
def power(g, self, exponent):
    if exponent == 2 and not isinstance(exponent, Value):
        (base,) = g.to(g.dtype, self)
        return g.op("Mul", base, base)
    if exponent == 0.5 and g.dtype.is_floating_point:
        return g.op("Sqrt", *g.to(g.dtype, self))
    return g.op("Pow", *g.to(g.dtype, self, exponent))


@aten("square")
def square(g, self):
    return g.op("Mul", self, self)


@aten("rsqrt")
def rsqrt(g, self):
    return g.op("Reciprocal", g.op("Sqrt", *g.to(g.dtype, self)))


@aten("exp2")
def exp2(g, self):
    (x,) = g.to(g.dtype, self)
    return g.op("Pow", g.like(2, x), x)


@aten("expm1")
def expm1(g, self):
    (x,) = g.to(g.dtype, self)
    # (e^(x/2) - e^(-x/2)) e^(x/2): no digits are lost near zero.
    half = g.op("Mul", x, g.like(0.5, x))
    return g.op("Mul", g.op("Mul", g.op("Sinh", half), g.op("Exp", half)), g.like(2, x))


@aten("log1p")
def log1p(g, self):
    (x,) = g.to(g.dtype, self)
    return log1p_of(g, x)


def log1p_of(g, x):
    """log(1 + x) without loss near zero: log(u) x / (u - 1) with u = 1 + x rounded."""
    one = g.like(1, x)
    u = g.op("Add", x, one)
    same = g.op("Equal", u, one, dtype=rushlight.bool)
    safe = g.op("Where", same, g.like(2, x), u, dtype=x.dtype)
    near = g.op("Div", g.op("Mul", g.op("Log", safe), x), g.op("Sub", safe, one))
    endless = g.op("IsInf", g.cast(u, rushlight.float32), dtype=rushlight.bool)
    return g.op(
        "Where", same, x, g.op("Where", endless, g.op("Log", u), near, dtype=x.dtype), dtype=x.dtype
    )


@aten("log2")
def log2(g, self):
    (x,) = g.to(g.dtype, self)
    return g.op("Div", g.op("Log", x), g.like(math.log(2), x))


@aten("log10")
def log10(g, self):
    (x,) = g.to(g.dtype, self)
    return g.op("Div", g.op("Log", x), g.like(math.log(10), x))


@aten("erfc", "special_erfc")
def erfc(g, self):
    (x,) = g.to(g.dtype, self)
    return g.op("Sub", g.like(1, x), g.op("Erf", x))


@aten("special_ndtr")
def ndtr(g, self):
    (x,) = g.to(g.dtype, self)
    bell = g.op("Erf", g.op("Mul", x, g.like(math.sqrt(0.5), x)))
    return g.op("Mul", g.op("Add", bell, g.like(1, x)), g.like(0.5, x))


@aten("deg2rad")
def deg2rad(g, self):
    (x,) = g.to(g.dtype, self)
    return g.op("Mul", x, g.like(math.pi / 180, x))


@aten("rad2deg")
def rad2deg(g, self):
    (x,) = g.to(g.dtype, self)
    return g.op("Mul", x, g.like(180 / math.pi, x))


@aten("sinc", "special_sinc")
def sinc(g, self):
    (x,) = g.to(g.dtype, self)
    scaled = g.op("Mul", x, g.like(math.pi, x))
    zero = g.op("Equal", x, g.like(0, x), dtype=rushlight.bool)
    safe = g.op("Where", zero, g.like(1, x), scaled, dtype=x.dtype)
    return g.op("Where", zero, g.like(1, x), g.op("Div", g.op("Sin", safe), safe), dtype=x.dtype)


@aten("atan2", "arctan2")
def atan2(g, self, other):
    y, x = g.to(g.dtype, self, other)
    zero = g.like(0, x)
    none = g.op("Equal", x, zero, dtype=rushlight.bool)
    base = g.op("Atan", g.op("Div", y, g.op("Where", none, g.like(1, x), x, dtype=x.dtype)))
    left, below = negative(g, x), negative(g, y)
    turn = g.op("Where", below, g.like(-math.pi, x), g.like(math.pi, x), dtype=x.dtype)
    turned = g.op("Where", left, g.op("Add", base, turn), base, dtype=x.dtype)
    upright = g.op("Mul", g.op("Sign", y), g.like(math.pi / 2, x))
    return g.op("Where", none, upright, turned, dtype=x.dtype)


@aten("hypot")
def hypot(g, self, other):
    a, b = g.to(g.dtype, self, other)
    return g.op("Sqrt", g.op("Add", g.op("Mul", a, a), g.op("Mul", b, b)))


@aten("addcmul")
def addcmul(g, self, tensor1, tensor2, value=1):
    a, b, c = g.to(g.dtype, self, tensor1, tensor2)
    product = g.op("Mul", b, c)
    return g.op("Add", a, product if value == 1 else g.op("Mul", product, g.like(value, a)))


@aten("addcdiv")
def addcdiv(g, self, tensor1, tensor2, value=1):
    a, b, c = g.to(g.dtype, self, tensor1, tensor2)
    quotient = g.op("Div", b, c)
    return g.op("Add", a, quotient if value == 1 else g.op("Mul", quotient, g.like(value, a)))


@aten("lerp.Tensor", "lerp.Scalar")
def lerp(g, self, end, weight):
    a, b, w = g.to(g.dtype, self, end, weight)
    return g.op("Add", a, g.op("Mul", w, g.op("Sub", b, a)))


@aten("clamp", "clamp.Tensor", "clip", "clip.Tensor")
def clamp(g, self, min=None, max=None):
    (x,) = g.to(g.dtype, self)
    if min is not None:
        x = g.op("Max", x, *g.to(g.dtype, min))
    return x if max is None else g.op("Min", x, *g.to(g.dtype, max))


@aten("clamp_min", "clamp_min.Tensor")
def clamp_min(g, self, min):
    return clamp(g, self, min)


@aten("clamp_max", "clamp_max.Tensor")
def clamp_max(g, self, max):
    return clamp(g, self, None, max)


@aten("maximum", "max.other")
def maximum(g, self, other):
    return g.op("Max", *g.to(g.dtype, self, other))


@aten("minimum", "min.other")
def minimum(g, self, other):
    return g.op("Min", *g.to(g.dtype, self, other))


@aten("fmax")
def fmax(g, self, other):
    return _without_nan(g, "Max", self, other)


@aten("fmin")
def fmin(g, self, other):
    return _without_nan(g, "Min", self, other)


def _without_nan(g, kind, self, other):
    a, b = g.to(g.dtype, self, other)
    if not g.dtype.is_floating_point:
        return g.op(kind, a, b)
    best = g.op(kind, a, b)
    best = g.op("Where", isnan(g, b), a, best, dtype=g.dtype)
    return g.op("Where", isnan(g, a), b, best, dtype=g.dtype)


@aten("isnan")
def isnan(g, self):
    if not self.dtype.is_floating_point:
        return g.op("Not", g.op("Equal", self, self, dtype=rushlight.bool))
    return g.op("IsNaN", self, dtype=rushlight.bool)


@aten("isinf")
def isinf(g, self):
    return _infinite(g, self)


@aten("isposinf")
def isposinf(g, self):
    return _infinite(g, self, detect_negative=0)


@aten("isneginf")
def isneginf(g, self):
    return _infinite(g, self, detect_positive=0)


def _infinite(g, x, **signs):
    if not x.dtype.is_floating_point:
        return g.op("Not", g.op("Equal", x, x, dtype=rushlight.bool))
    return g.op("IsInf", x, dtype=rushlight.bool, **signs)


@aten("isfinite")
def isfinite(g, self):
    if not self.dtype.is_floating_point:
        return g.op("Equal", self, self, dtype=rushlight.bool)
    return g.op("Not", g.op("Or", _infinite(g, self), isnan(g, self)))


@aten("nan_to_num")
def nan_to_num(g, self, nan=None, posinf=None, neginf=None):
    if not g.dtype.is_floating_point:
        return self
    limits = rushlight.finfo(g.dtype)
    x = g.op("Where", isnan(g, self), g.like(nan or 0.0, self), self, dtype=g.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    x = g.op("Where", isposinf(g, self), g.like(high, self), x, dtype=g.dtype)
    return g.op("Where", isneginf(g, self), g.like(low, self), x, dtype=g.dtype)


@aten("round", "round.decimals")
def round_(g, self, decimals=0):
    if not g.dtype.is_floating_point:
        return self
    if not decimals:
        return g.op("Round", self)
    scale = g.like(10.0 ** abs(decimals), self)
    before, after = ("Mul", "Div") if decimals > 0 else ("Div", "Mul")
    return g.op(after, g.op("Round", g.op(before, self, scale)), scale)


@aten("signbit")
def signbit(g, self):
    if not self.dtype.is_floating_point:
        return negative(g, self)
    flipped = g.op("Reciprocal", self)  # of -0 it is minus infinity
    return g.op("Or", negative(g, self), negative(g, flipped))


@aten("copysign.Tensor", "copysign.Scalar")
def copysign(g, self, other):
    a, b = g.to(g.dtype, self, other)
    size = g.op("Abs", a)
    return g.op("Where", signbit(g, b), g.op("Neg", size), size, dtype=g.dtype)


@aten("heaviside")
def heaviside(g, self, values):
    a, b = g.to(g.dtype, self, values)
    zero = g.op("Equal", a, g.like(0, a), dtype=rushlight.bool)
    above = g.cast(g.op("Greater", a, g.like(0, a), dtype=rushlight.bool), g.dtype)
    return g.op("Where", zero, b, above, dtype=g.dtype)


@aten("logit", "special_logit")
def logit(g, self, eps=None):
    (x,) = g.to(g.dtype, self)
    if eps is not None:
        x = g.op("Min", g.op("Max", x, g.like(eps, x)), g.like(1 - eps, x))
    return g.op("Log", g.op("Div", x, g.op("Sub", g.like(1, x), x)))


@aten("logaddexp")
def logaddexp(g, self, other):
    a, b = g.to(g.dtype, self, other)
    gap = g.op("Neg", g.op("Abs", g.op("Sub", a, b)))
    return g.op("Add", g.op("Max", a, b), log1p_of(g, g.op("Exp", gap)))


@aten("logaddexp2")
def logaddexp2(g, self, other):
    a, b = g.to(g.dtype, self, other)
    scale = g.like(math.log(2), a)
    return g.op("Div", logaddexp(g, g.op("Mul", a, scale), g.op("Mul", b, scale)), scale)


@aten("xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self", "special_xlogy")
def xlogy(g, self, other):
    a, b = g.to(g.dtype, self, other)
    zero = g.op("Equal", a, g.like(0, a), dtype=rushlight.bool)
    return g.op("Where", zero, g.like(0, a), g.op("Mul", a, g.op("Log", b)), dtype=g.dtype)


@aten("special_xlog1py")
def xlog1py(g, self, other):
    a, b = g.to(g.dtype, self, other)
    zero = g.op("Equal", a, g.like(0, a), dtype=rushlight.bool)
    return g.op("Where", zero, g.like(0, a), g.op("Mul", a, log1p_of(g, b)), dtype=g.dtype)


@aten("special_entr")
def entr(g, self):
    (x,) = g.to(g.dtype, self)
    zero = g.op("Equal", x, g.like(0, x), dtype=rushlight.bool)
    value = g.op("Neg", g.op("Mul", x, g.op("Log", x)))
    value = g.op("Where", zero, g.like(0, x), value, dtype=x.dtype)
    return g.op("Where", negative(g, x), g.like(-math.inf, x), value, dtype=x.dtype)


@aten("ldexp.Tensor")
def ldexp(g, self, other):
    a, b = g.to(g.dtype, self, other)
    return g.op("Mul", a, g.op("Pow", g.like(2, a), b))


@aten("positive", "real", "detach", "clone", "alias", "contiguous", "lift_fresh_copy", "conj",
      "resolve_conj", "resolve_neg", "conj_physical", "detach_copy", "alias_copy",
      "lift_fresh", "_conj")  # fmt: skip
def same(g, self):
    return self


@aten("angle")
def angle(g, self):
    (x,) = g.to(g.dtype, self)
    turned = g.op("Where", negative(g, x), g.like(math.pi, x), g.like(0, x), dtype=x.dtype)
    return g.op("Where", isnan(g, x), x, turned, dtype=x.dtype)


def _bits(kind, logical):
    def translate(g, self, other):
        a, b = g.to(g.dtype, self, other)
        if g.dtype is rushlight.bool:
            return g.op(logical, a, b)
        _bitwise(g)
        return g.op(kind, a, b)

    return translate


def _bitwise(g):
    if g.opset < 18:
        raise NotImplementedError("bitwise operators on integers need opset_version=18 or later")


aten("bitwise_and.Tensor", "bitwise_and.Scalar")(_bits("BitwiseAnd", "And"))
aten("bitwise_or.Tensor", "bitwise_or.Scalar")(_bits("BitwiseOr", "Or"))
aten("bitwise_xor.Tensor", "bitwise_xor.Scalar")(_bits("BitwiseXor", "Xor"))


@aten("bitwise_not")
def bitwise_not(g, self):
    if g.dtype is rushlight.bool:
        return g.op("Not", self)
    _bitwise(g)
    return g.op("BitwiseNot", self)


@aten("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", "__lshift__.Scalar")
def left_shift(g, self, other):
    a, b = g.to(g.dtype, self, other)
    return g.op("Mul", a, _power_of_two(g, b))


@aten("bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", "__rshift__.Scalar")
def right_shift(g, self, other):
    a, b = g.to(g.dtype, self, other)
    return floor_divided(g, a, _power_of_two(g, b))


def _power_of_two(g, b):
    exponent = g.cast(b, rushlight.float64)
    return g.cast(g.op("Pow", g.like(2, exponent), exponent), b.dtype)


@aten("to.dtype", "_to_copy", "to.dtype_layout", "to.device")
def to_dtype(g, self):
    return g.cast(self, g.dtype)


@aten("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(g, condition, self, other):
    a, b = g.to(g.dtype, self, other)
    return g.op("Where", g.cast(condition, rushlight.bool), a, b, dtype=g.dtype)


@aten("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(g, self, mask, value):
    return g.op("Where", g.cast(mask, rushlight.bool), *g.to(g.dtype, value, self), dtype=g.dtype)
