"""Sums, products, quotients, powers, bounds."""

from __future__ import annotations

from rushlight.compiler import xp
from rushlight.dtypes import BOOL, COMPLEX, FLOAT, int64
from rushlight.ops._table.aten_schemas import of_two
from rushlight.ops._table.domains import away_from, nonzero, positive
from rushlight.ops._table.node_names import by_operand, numbered
from rushlight.ops._table.number_limits import LOW, OPERANDS
from rushlight.ops._table.op import composite, elementwise
from rushlight.ops._table.rules import floating, number_dtype, real_of_complex, real_same
from rushlight.ops.shape.complex_views import conj_number, conj_of
from rushlight.tensor.overriding import call_by_override
from rushlight.tensor.tensor import EXACT, Tensor, add_methods


def category_of(value):
    """The dtype category of a tensor or a number."""
    return value._dtype.category if isinstance(value, Tensor) else number_dtype(value).category


def _no_bools(input, other, *rest):
    categories = category_of(input), category_of(other)
    if BOOL in categories:
        two = "two bool tensors" if categories[0] == categories[1] else "a bool tensor"
        raise RuntimeError(
            f"Subtraction, the `-` operator, with {two} is not supported. Use the `^` or "
            "`logical_xor()` operator instead, `~` or `logical_not()` to invert a mask, or convert "
            "the mask: mask.int()."
        )


def _no_bool(input, *rest):
    if category_of(input) == BOOL:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )


def _no_zero(input, other, *rest):
    """Integer division by zero is an error, as in PyTorch; on a GPU, where looking would wait for
    it, the quotient is 0."""
    if max(category_of(input), category_of(other)) >= FLOAT:
        return
    if not isinstance(other, Tensor):
        size = 8 if input._dtype.category == BOOL else input._dtype.itemsize
        zero = not other % (1 << 8 * size)  # it wraps around
    else:
        zero = other._device.type == "cpu" and not other._array.all()
    if zero:
        raise RuntimeError("ZeroDivisionError")


@elementwise(
    schemas=of_two("add", ", *, Scalar alpha=1", ", Scalar alpha=1"),
    wraps_numbers=True,
    operators=("__add__",), reflected=("__radd__",), scales=("alpha",), numbers="all",
    fits={"alpha": OPERANDS},
    former=("input alpha other", "input other alpha"),
    limited="complex", aten="Tensor Scalar out Scalar_out default", aten_inplace="Tensor Scalar",
    foreach="scalar: number | scalars: numbers | other: tensor, *, alpha: number = 1"
    " | other: tensors, *, alpha: number = 1",
)  # fmt: skip
def add(input, other, *, alpha=1):
    """``input + alpha * other``, broadcast.

    >>> rushlight.add(rushlight.tensor([1.0, 2.0]), 10)
    tensor([11., 12.])
    """
    return input + other if alpha is True or _is_one(alpha) else input + alpha * other


def _is_one(value):
    return type(value) in (int, float) and value == 1


add.gradient(
    input=lambda grad: grad,
    other=lambda grad, alpha: grad if _is_one(alpha) else grad * conj_number(alpha),
)


@elementwise(
    schemas=of_two("sub", ", *, Scalar alpha=1", ", Scalar alpha=1"),
    wraps_numbers=True,
    operators=("__sub__",), aliases=("subtract",), scales=("alpha",), fits={"alpha": OPERANDS},
    check=_no_bools, numbers="all", former=("input alpha other", "input other alpha"),
    limited="complex", aten="Tensor Scalar out Scalar_out default", aten_inplace="Tensor Scalar",
    aten_aliases={"subtract": "Tensor out Scalar", "subtract_": "Tensor Scalar"},
    foreach="scalar: number | scalars: numbers | other: tensors, *, alpha: number = 1",
)  # fmt: skip
def sub(input, other, *, alpha=1):
    """``input - alpha * other``, broadcast."""
    return input - other if _is_one(alpha) else input - alpha * other


sub.gradient(
    input=lambda grad: grad,
    other=lambda grad, alpha: -grad if _is_one(alpha) else grad * -conj_number(alpha),
)


@elementwise(
    schemas=of_two("rsub", ", *, Scalar alpha=1", ", Scalar alpha=1"),
    reflected=("__rsub__",), inplace=False, scales=("alpha",), check=_no_bools,
    fits={"alpha": OPERANDS},
    former=("input other alpha",),
    limited="complex", aten="Tensor Scalar Tensor_out Scalar_out",
    node=numbered("Rsub", lambda values: int(values[1] is not None)),  # a number is the second form
)  # fmt: skip
def rsub(input, other, *, alpha=1):
    """``other - alpha * input``, broadcast."""
    return other - input if _is_one(alpha) else other - alpha * input


rsub.gradient(
    input=lambda grad, alpha: -grad if _is_one(alpha) else grad * -conj_number(alpha),
    other=lambda grad: grad,
)


@elementwise(
    schemas=of_two("mul"),
    wraps_numbers=True,
    operators=("__mul__",), reflected=("__rmul__",), aliases=("multiply",), numbers="all",
    limited="unsigned complex eight", foreach="factor",
    aten="Tensor Scalar out Scalar_out left_t right_ default", aten_inplace="Tensor Scalar",
    aten_aliases={"multiply": "Tensor Scalar out", "multiply_": "Tensor Scalar"},
)  # fmt: skip
def mul(input, other):
    """The product, broadcast."""
    return input * other


mul.gradient(
    input=lambda grad, other: grad * conj_of(other),
    other=lambda grad, input: grad * conj_of(input),
)


def _divide_check(input, other, rounding_mode=None):
    if rounding_mode not in (None, "trunc", "floor"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )


@elementwise(
    schemas=of_two("true_divide"),
    aten_call=lambda input, other: ("div", {"self": input, "other": other}), wraps_numbers=True,
    rule=floating, domain=nonzero, inplace="_true_divide_", operators=("__truediv__",),
    node="Div", numbers="all", aten="Tensor Scalar out", aten_inplace="Tensor Scalar",
)  # fmt: skip
def true_divide(input, other):
    """``input / other`` in floating point, broadcast."""
    return input / other


true_divide.gradient(
    input=lambda grad, other: grad / conj_of(other),
    other=lambda grad, input, other: -(grad / conj_of(other)) * conj_of(input / other),
)


_stepwise = {
    "rule": real_same,
    "domain": nonzero,
    "check": _no_zero,
    "method": False,
    "numbers": "all",
}


@elementwise(
    inplace="_trunc_divide_",
    **_stepwise,
    node="DivBackward2",
    saves="rounding_mode:",
    saves_as={"rounding_mode": "trunc"},
)
def _trunc_divide(input, other):
    """The quotient rounded toward zero, in the promoted dtype; constant between the steps."""
    quotient = input / other
    return xp.trunc(quotient)


@elementwise(
    inplace="_floor_divide_",
    **_stepwise,
    node="DivBackward2",
    saves="rounding_mode:",
    saves_as={"rounding_mode": "floor"},
)
def _floor_divide(input, other):
    """The quotient rounded down, in the promoted dtype; constant between the steps."""
    return xp.floor_divide(input, other)


_trunc_divide.gradient(input=lambda grad: grad * 0, other=lambda grad: grad * 0)
_floor_divide.gradient(input=lambda grad: grad * 0, other=lambda grad: grad * 0)


@elementwise(
    rule=real_same, operators=("__floordiv__",), domain=nonzero, check=_no_zero,
    differentiable=False, numbers="all", wraps_numbers=True, aten="default Scalar out Scalar_out",
    aten_inplace="Tensor Scalar",
)  # fmt: skip
def floor_divide(input, other):
    """The quotient rounded down, in the promoted dtype, broadcast."""
    return xp.floor_divide(input, other)


@elementwise(
    rule=real_same, reflected=("__rfloordiv__",), method=False, inplace=False, differentiable=False
)
def _rfloor_divide(input, other):
    """``other // input``."""
    return xp.floor_divide(other, input)


@composite(
    schemas=(
        "div.Tensor(Tensor self, Tensor other) -> Tensor",
        "div.Scalar(Tensor self, Scalar other) -> Tensor",
        "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
        "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    ),
    wraps_numbers=True,
    aliases=("divide",),
    numbers="all",
    computes=lambda input, other, rounding_mode: (
        None if rounding_mode is not None else (true_divide, (input, other))
    ),
    samples=lambda make: [
        (make(3, 1), make(4)),
        (make(3, 4), 2, {"rounding_mode": "trunc"}),
        (make(3, 4), make(3, 4)),
    ],
    domain=nonzero,
    aten="Tensor Scalar Tensor_mode Scalar_mode out out_mode Scalar_out Scalar_mode_out default",
    aten_inplace="Tensor Tensor_mode Scalar Scalar_mode",
    aten_aliases={
        "divide": "Tensor Scalar Tensor_mode Scalar_mode out out_mode",
        "divide_": "Tensor Tensor_mode Scalar_mode Scalar",
    },
    nested="elements",
    foreach="factor",
)
def div(input: Tensor, other, *, rounding_mode=None):
    """``input / other``, broadcast. `rounding_mode` ``"trunc"`` or ``"floor"`` rounds the quotient
    and keeps integer dtypes; None divides in floating point.

    >>> rushlight.div(rushlight.tensor([7.0, -7.0]), 2.0, rounding_mode="floor")
    tensor([ 3., -4.])
    """
    if rounding_mode is None:
        return true_divide(input, other)
    _divide_check(input, other, rounding_mode)
    return (_floor_divide if rounding_mode == "floor" else _trunc_divide)(input, other)


def _div_inplace(self, other, *, rounding_mode=None):
    """In-place version of :func:`rushlight.div`."""
    if isinstance(other, Tensor) and type(other) not in EXACT:
        found = call_by_override(_div_inplace, (self, other), {"rounding_mode": rounding_mode})
        if found is not NotImplemented:
            return found
    _divide_check(self, other, rounding_mode)
    if rounding_mode is None:
        return self._true_divide_(other)
    return self._floor_divide_(other) if rounding_mode == "floor" else self._trunc_divide_(other)


add_methods(div_=_div_inplace, divide_=_div_inplace, true_divide_=_div_inplace)


@elementwise(
    captured=lambda input, other: reciprocal(input) * other,
    rule=floating,
    domain=nonzero,
    reflected=("__rtruediv__",),
    method=False,
    inplace=False,
    # where `other` is zero anything serves, for so is the gradient
    restored={"input": lambda out, other: (other + (other == 0)) / (out + (other == 0))},
    beside_array=lambda input, array: reciprocal(input) * array,
)
def _rdiv(input, other):
    """``other / input``, by the reciprocal as in PyTorch: rounded twice."""
    return (1 / input) * other


def _former_reflected_division(self, other):
    """``other / self``, under the name that Python 2 called."""
    if not isinstance(self, Tensor):
        raise AttributeError(f"__rdiv__(): self must be Tensor, not {type(self).__name__}")
    if isinstance(other, Tensor):
        return reciprocal(self) * other
    return _rdiv(self, other)


add_methods(__rdiv__=_former_reflected_division)
Tensor.__div__, Tensor.__idiv__ = div, _div_inplace


def _square_of(x):
    return x * x


_rdiv.gradient(
    input=lambda grad, input, other: -(grad * conj_of(other)) * _square_of(conj_of(1 / input)),
    other=lambda grad, input: grad / conj_of(input),
)


@elementwise(
    node=by_operand("Remainder"),
    rule=real_same, operators=("__mod__",), domain=away_from(0.0, 1.0, -1.0, 2.0), check=_no_zero,
    numbers=True,
    aten="Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out default",
    aten_inplace="Tensor Scalar",
    saves=lambda node: "" if node.name() == "RemainderBackward0" else "other self",
)  # fmt: skip
def remainder(input, other):
    """The remainder with the sign of `other`, as Python's ``%``."""
    return xp.remainder(input, other)


remainder.gradient(
    input=lambda grad: grad,
    other=lambda grad, input, other: -grad * (input / other).floor(),
)


@elementwise(
    node=by_operand("Fmod"),
    rule=real_same, domain=away_from(0.0, 1.0, -1.0, 2.0), check=_no_zero,
    aten="Tensor Scalar Tensor_out Scalar_out default", aten_inplace="Tensor Scalar",
    saves=lambda node: "other" if node.name() == "FmodBackward0" else "other self",
)  # fmt: skip
def fmod(input, other):
    """The remainder with the sign of `input`, as C's ``fmod``."""
    return xp.fmod(input, other)


fmod.gradient(
    input=lambda grad: grad,
    other=lambda grad, input, other: -grad * (input / other).trunc(),
)


@elementwise(
    operators=("__neg__",), aliases=("negative",), check=_no_bool, limited="complex",
    aten="default out Scalar", sparse="linear", sparse_slope=-1, foreach="",
)  # fmt: skip
def neg(input):
    """``-input``."""
    return -input


neg.gradient(input=lambda grad: -grad)


@elementwise(
    rule=real_of_complex, operators=("__abs__",), aliases=("absolute",), domain=nonzero,
    limited="complex eight", sparse="elements", foreach="",
)  # fmt: skip
def abs(input):
    """The absolute value."""
    return xp.abs(input)


abs.gradient(input=lambda grad, input: grad * sgn(input))


@elementwise(rule=real_same, domain=nonzero, sparse="elements", sparse_slope=0, foreach="")
def sign(input):
    """-1, 0 or 1 by the sign."""
    return xp.sign(input)


sign.gradient(input=lambda grad: grad * 0)


@elementwise(domain=nonzero, limited="complex", sparse="elements")
def sgn(input):
    """The sign; of a complex number, the number over its absolute value."""
    return xp.sign(input)


def _sgn_gradient(grad, input):
    """Zero for real numbers; of ``z / |z|`` the part of `grad` across z, over ``|z|``."""
    if not isinstance(grad, Tensor) or input._dtype.category != COMPLEX:
        return grad * 0
    size = abs(input)
    safe = where(size == 0, 1.0, size)
    unit = input / safe
    across = grad - unit * (conj_of(unit) * grad).real
    return where(size == 0, 0.0, across / safe)


sgn.gradient(input=_sgn_gradient)


def _not_bool(promoted):
    found = int64 if promoted.category == BOOL else promoted
    return found, found


@elementwise(
    rule=_not_bool, sparse="plain", node="Pow", saves="exponent: self", saves_as={"exponent": 2}
)
def square(input):
    """``input * input``."""
    return input * input


square.gradient(input=lambda grad, input: grad * (2 * conj_of(input)))


@elementwise(rule=floating, domain=nonzero, autocast_on_gpu="float32", foreach="")
def reciprocal(input):
    """``1 / input``."""
    return 1 / input


reciprocal.gradient(input=lambda grad, out: -grad * conj_of(out * out))


@elementwise(
    rule=floating, domain=positive, aten="default out Scalar", sparse="elements", foreach=""
)
def sqrt(input):
    """The square root."""
    return xp.sqrt(input)


sqrt.gradient(input=lambda grad, out: grad / (2 * conj_of(out)))


@elementwise(rule=floating, domain=positive, autocast_on_gpu="float32", foreach="")
def rsqrt(input):
    """``1 / sqrt(input)``."""
    return 1 / xp.sqrt(input)


rsqrt.gradient(input=lambda grad, out: -0.5 * grad * conj_of(out * out * out))


def _pow_check(input, exponent):
    negative = (
        not isinstance(exponent, Tensor)
        and number_dtype(exponent)
        and (number_dtype(exponent).category < FLOAT and exponent < 0)
    )
    if negative and isinstance(input, Tensor) and input._dtype.category < FLOAT:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


@elementwise(
    node=by_operand("Pow"),
    schemas=(
        "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
        "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
        "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    ),
    operators=("__pow__",), domain=positive,
    constants={"exponent": (2, 3, 0.5, -1, 1, 0, 2.0, 3.0, -1.0, 1.0, 0.0, -2, -2.0, -0.5)},
    check=_pow_check, fits={"exponent": LOW}, numbers=True, autocast_on_gpu="float32",
    aten_inplace="Scalar Tensor",
    foreach="exponent: number | exponent: numbers | exponent: tensors",
    saves=lambda node: "exponent self" if node.name() == "PowBackward0" else "exponent result self",
)  # fmt: skip
def pow(input, exponent):
    """``input ** exponent``, broadcast."""
    return xp.power(input, exponent)


def _pow_base_gradient(grad, input, exponent):
    if not isinstance(exponent, Tensor):
        if exponent == 0:
            return grad * 0
        return grad * (conj_number(exponent) * conj_of(input) ** (exponent - 1))
    return grad * conj_of(where(exponent == 0, 0.0, exponent * input ** (exponent - 1)))


def _pow_exponent_gradient(grad, input, exponent, out):
    if not isinstance(input, Tensor):
        import cmath
        import math

        log = math.log(input) if not isinstance(input, complex) and input > 0 else None
        if log is None:
            log = 0.0 if input == 0 else cmath.log(input)
        return grad * conj_of(out * log)
    return grad * conj_of(where(_zero_power(input, exponent), 0.0, out * input.log()))


def _zero_power(input, exponent):
    """Where the power of zero is constant in the exponent."""
    if isinstance(exponent, Tensor) and exponent._dtype.category == COMPLEX:
        return (input == 0) & (exponent.real >= 0)
    return (input == 0) & (exponent >= 0)


pow.gradient(input=_pow_base_gradient, exponent=_pow_exponent_gradient)


@elementwise(
    node="PowBackward2",
    schemas=(
        "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
        "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    ),
    aten_call=lambda input, other: ("pow", {"self": other, "exponent": input}),
    reflected=("__rpow__",),
    method=False,
    inplace=False,
    domain=positive,
    numbers=True,
    saves="exponent:input result self:other",
)
def _rpow(input, other):
    """``other ** input``."""
    return xp.power(other, input)


_rpow.gradient(
    input=lambda grad, input, other, out: _pow_exponent_gradient(grad, other, input, out),
    other=lambda grad, input, other: _pow_base_gradient(grad, other, input),
)


@elementwise(rule=real_same, foreach="extreme")
def maximum(input: Tensor, other: Tensor):
    """The larger element of each pair; nan if either is."""
    return xp.maximum(input, other)


def _half_where_equal(loses, equal, grad):
    return where(equal, grad * 0.5, where(loses, 0.0, grad))  # all of it at NaN, for both


maximum.gradient(
    input=lambda grad, input, other: _half_where_equal(input < other, input == other, grad),
    other=lambda grad, input, other: _half_where_equal(other < input, input == other, grad),
)


@elementwise(rule=real_same, foreach="extreme")
def minimum(input: Tensor, other: Tensor):
    """The smaller element of each pair; nan if either is."""
    return xp.minimum(input, other)


minimum.gradient(
    input=lambda grad, input, other: _half_where_equal(input > other, input == other, grad),
    other=lambda grad, input, other: _half_where_equal(other > input, input == other, grad),
)


def _clamp_check(input, min=None, max=None):
    if min is None and max is None:
        raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None")


@elementwise(
    node=numbered("Clamp", lambda values: int(any(v is not None for v in values[1:]))),
    schemas=(
        "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
        "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    ),
    rule=real_same, aliases=("clip",), promotes=("min", "max"),
    fits={"min": OPERANDS, "max": OPERANDS}, check=_clamp_check,
    variants=({"min": -0.5, "max": 0.5}, {"max": 0.7}, {"min": 0.1}), only_variants=True,
    domain=away_from(-0.5, 0.5, 0.7, 0.1), aten="default Tensor out Tensor_out",
    aten_inplace="default Tensor",
    aten_aliases={"clip": "default Tensor out Tensor_out", "clip_": "default Tensor"},
)  # fmt: skip
def clamp(input, min: Tensor | None = None, max: Tensor | None = None):
    """`input` limited to ``[min, max]``; either bound (number or tensor) may be left out."""
    out = input if min is None else xp.maximum(input, min)
    return out if max is None else xp.minimum(out, max)


def _clamp_inside(input, min, max):
    if min is None:
        return input <= max
    return input >= min if max is None else (input >= min) & (input <= max)


clamp.gradient(
    input=lambda grad, input, min, max: where(_clamp_inside(input, min, max), grad, 0.0),
    min=lambda grad, input, min, max: where(
        input < min if max is None else (input < min) & (min < max), grad, 0.0
    ),
    max=lambda grad, input, min, max: where(
        input > max if min is None else (input > max) | (max < min), grad, 0.0
    ),
)


@composite(
    schemas=(
        "clamp_min(Tensor self, Scalar min) -> Tensor",
        "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
    ),
    samples=lambda make: [(make(3, 4), 0.5), (make(3, 4), make(4))],
    aten="default Tensor out Tensor_out",
    aten_inplace="default Tensor",
    foreach="extreme",
)
def clamp_min(input: Tensor, min):
    """`input`, at least `min`."""
    return clamp(input, min)


@composite(
    schemas=(
        "clamp_max(Tensor self, Scalar max) -> Tensor",
        "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
    ),
    samples=lambda make: [(make(3, 4), 0.5), (make(3, 4), make(4))],
    aten="default Tensor out Tensor_out",
    aten_inplace="default Tensor",
    foreach="extreme",
)
def clamp_max(input: Tensor, max):
    """`input`, at most `max`."""
    return clamp(input, None, max)


def clamp_min_(self, min):
    """In-place version of :func:`rushlight.clamp_min`."""
    return self.clamp_(min=min)


def clamp_max_(self, max):
    """In-place version of :func:`rushlight.clamp_max`."""
    return self.clamp_(max=max)


Tensor.clamp_min_, Tensor.clamp_max_ = clamp_min_, clamp_max_


@composite(
    operators=("__pos__",), sparse="linear", sparse_slope=1, nested="elements", samples="unary"
)
def positive(input: Tensor):
    """`input` itself."""
    return input


from rushlight.ops.elementwise.comparison import (  # noqa: E402 - formulas use it; it uses this module
    where,
)
