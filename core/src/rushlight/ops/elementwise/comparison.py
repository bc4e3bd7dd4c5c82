"""Comparisons, logic, bits, choices."""

from __future__ import annotations

from rushlight.compiler import xp
from rushlight.errors import argument_error
from rushlight.kernels.gemm import vectors
from rushlight.kernels.launch.prepared import Short
from rushlight.machine import np
from rushlight.ops._table.number_limits import FULL
from rushlight.ops._table.op import composite, elementwise
from rushlight.ops._table.rules import boolean, integral_or_bool, real_boolean
from rushlight.ops.creation.tensors import from_numpy
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.tensor import Tensor, add_methods

_PLAIN = {"rule": boolean, "differentiable": False}
_ORDERED = {"rule": real_boolean, "differentiable": False}


@elementwise(
    operators=("__eq__",),
    beside_array=lambda input, array: eq(input, from_numpy(array)),
    **_PLAIN,
    limited="unsigned complex eight",
    aten="Tensor Scalar Scalar_out Tensor_out default Tensor_list",
    aten_inplace="Scalar Tensor",
)
def eq(input, other):
    """``input == other``, element by element."""
    return input == other


@elementwise(
    operators=("__ne__",),
    aliases=("not_equal",),
    beside_array=lambda input, array: ne(input, from_numpy(array)),
    **_PLAIN,
    limited="unsigned complex eight",
    aten="Tensor Scalar Scalar_out Tensor_out default Tensor_list",
    aten_inplace="Scalar Tensor",
    aten_aliases={
        "not_equal": "Tensor Scalar Scalar_out Tensor_out",
        "not_equal_": "Scalar Tensor",
    },
)
def ne(input, other):
    """``input != other``, element by element."""
    return input != other


@elementwise(
    operators=("__lt__",),
    aliases=("less",),
    **_ORDERED,
    aten="Tensor Scalar Scalar_out Tensor_out default",
    aten_inplace="Scalar Tensor",
    aten_aliases={"less": "Tensor Scalar Scalar_out Tensor_out", "less_": "Scalar Tensor"},
)
def lt(input, other):
    """``input < other``, element by element."""
    return input < other


@elementwise(
    operators=("__le__",),
    aliases=("less_equal",),
    **_ORDERED,
    aten="Tensor Scalar Scalar_out Tensor_out default",
    aten_inplace="Scalar Tensor",
    aten_aliases={
        "less_equal": "Tensor Scalar Scalar_out Tensor_out",
        "less_equal_": "Scalar Tensor",
    },
)
def le(input, other):
    """``input <= other``, element by element."""
    return input <= other


@elementwise(
    operators=("__gt__",),
    aliases=("greater",),
    **_ORDERED,
    aten="Tensor Scalar Scalar_out Tensor_out default",
    aten_inplace="Scalar Tensor",
    aten_aliases={"greater": "Tensor Scalar Scalar_out Tensor_out", "greater_": "Scalar Tensor"},
)
def gt(input, other):
    """``input > other``, element by element."""
    return input > other


@elementwise(
    operators=("__ge__",),
    aliases=("greater_equal",),
    **_ORDERED,
    aten="Tensor Scalar Scalar_out Tensor_out default",
    aten_inplace="Scalar Tensor",
    aten_aliases={
        "greater_equal": "Tensor Scalar Scalar_out Tensor_out",
        "greater_equal_": "Scalar Tensor",
    },
)
def ge(input, other):
    """``input >= other``, element by element."""
    return input >= other


@elementwise(inplace=False, **_PLAIN, limited="unsigned complex eight", sparse="elements")
def isnan(input):
    """True where an element is not a number."""
    return xp.isnan(input)


@elementwise(inplace=False, **_PLAIN, limited="unsigned complex eight", sparse="elements")
def isinf(input):
    """True where an element is an infinity."""
    return xp.isinf(input)


@elementwise(inplace=False, **_PLAIN, limited="unsigned complex eight")
def isfinite(input):
    """True where an element is neither infinite nor nan."""
    return xp.isfinite(input)


@elementwise(**_PLAIN)
def logical_and(input, other: Tensor):
    """Truth of both; nonzero counts as true."""
    return xp.logical_and(input, other)


@elementwise(**_PLAIN)
def logical_or(input, other: Tensor):
    """Truth of either; nonzero counts as true."""
    return xp.logical_or(input, other)


@elementwise(**_PLAIN)
def logical_xor(input, other: Tensor):
    """Truth of exactly one; nonzero counts as true."""
    return xp.logical_xor(input, other)


@elementwise(**_PLAIN)
def logical_not(input):
    """True where an element is zero."""
    return xp.logical_not(input)


_BITS = {
    "rule": integral_or_bool, "differentiable": False, "domain": "integers", "numbers": True,
}  # fmt: skip


@elementwise(
    operators=("__and__",),
    reflected=("__rand__",),
    **_BITS,
    limited="unsigned",
    aten="Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out",
    aten_inplace="Tensor Scalar",
)
def bitwise_and(input, other):
    """Bitwise and of integers; logical and of bools."""
    return xp.bitwise_and(input, other)


@elementwise(
    operators=("__or__",),
    reflected=("__ror__",),
    **_BITS,
    limited="unsigned",
    aten="Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out",
    aten_inplace="Tensor Scalar",
)
def bitwise_or(input, other):
    """Bitwise or of integers; logical or of bools."""
    return xp.bitwise_or(input, other)


@elementwise(
    operators=("__xor__",),
    reflected=("__rxor__",),
    **_BITS,
    limited="unsigned",
    aten="Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out",
    aten_inplace="Tensor Scalar",
)
def bitwise_xor(input, other):
    """Bitwise exclusive or of integers; logical of bools."""
    return xp.bitwise_xor(input, other)


@elementwise(operators=("__invert__",), **_BITS)
def bitwise_not(input):
    """Bitwise complement of integers; logical not of bools."""
    return xp.invert(input)


def _where_samples(make):
    return [
        ((make.mask(3, 4), make(3, 4), make(3, 4)), {}),
        ((make.mask(4), make(3, 1), make(3, 4)), {}),
        ((make.mask(), make(), make()), {}),
    ]


@elementwise(
    aten_call=lambda condition, input, other: (
        "where",
        {"condition": condition, "self": input, "other": other},
    ),
    aside=(0,), method=False, inplace=False, samples=_where_samples,
    fits={"input": FULL, "other": FULL},
 limited="unsigned complex eight")  # fmt: skip
def _where(condition, input, other):
    """The ternary choice; conditions are bool."""
    return xp.where(condition, input, other)


_where.gradient(
    input=lambda grad, condition: _where(condition, grad, 0.0),
    other=lambda grad, condition: _where(condition, 0.0, grad),
)


def _chosen(condition, input, other):
    """The op behind a choice by a plain bool tensor."""
    if not isinstance(condition, Tensor) or condition._dtype.name != "bool" or other is None:
        return None
    return _where, (condition, input, other)


@composite(
    schemas=(
        "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
        "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
        "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
        "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
    ),
    method=False,
    samples=lambda make: [(make.mask(3, 1), make(4), 2.0), (make.mask(3, 4), make(), make(3, 4))],
    aten="self ScalarOther ScalarSelf Scalar default self_out",
    nested="elements",
    computes=_chosen,
)
def where(condition: Tensor, input=None, other=None):
    """`input` where `condition` is true, else `other`; with one argument, the indices of the true.

    >>> rushlight.where(rushlight.tensor([True, False]), 1.0, 2.0)
    tensor([1., 2.])
    """
    if xp.is_traced(condition) or xp.is_traced(input) or xp.is_traced(other):
        return xp.where(condition, input, other)
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if condition._dtype.name not in ("bool", "uint8"):
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition._dtype}"
        )
    if condition._dtype.name != "bool":
        condition = condition != 0
    return _where(condition, input, other)


def _where_of(self, condition, other):
    """The tensor's elements where `condition` holds, those of `other` elsewhere."""
    return where(condition, self, other)


add_methods(where=_where_of)


@composite(
    samples=lambda make: [(make(3, 4), make(3, 4)), (make(3, 1), make(4), 0.1, 0.5)],
    differentiable=False,
    nested="elements",
)
def isclose(input: Tensor, other: Tensor, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True where ``|input - other| <= atol + rtol * |other|``."""
    for name, value in (("input", input), ("other", other)):
        if not isinstance(value, Tensor):
            raise argument_error("isclose", name, "Tensor", value)
    if not (rtol >= 0 and atol >= 0):
        raise RuntimeError(
            f"isclose: rtol and atol must be greater than or equal to zero, got {rtol} and {atol}"
        )
    if input._dtype is not other._dtype:
        raise RuntimeError(
            f"isclose: {input._dtype} did not match {other._dtype}; both need one dtype"
        )
    close = input == other
    if equal_nan and input.is_floating_point():
        close = close | (isnan(input) & isnan(other))
    if rtol == 0 and atol == 0:
        return close
    if not input.is_floating_point() and not input.is_complex():
        input, other = input.double(), other.double()
    allowed = atol + (rtol * other).abs()
    actual = (input - other).abs()
    return close | (isfinite(actual) & (actual <= allowed))


@composite(
    in_aten=False,
    schemas=(
        "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
        "equal_nan=False) -> bool",
    ),
    samples=lambda make: [(make(3, 4), make(3, 4)), (make(3, 1), make(4), 0.1, 9.0)],
    differentiable=False,
)
def allclose(input: Tensor, other: Tensor, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close; see :func:`isclose`."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


_equal_short = Short(2)
_equal_calls = _equal_short.layouts


@composite(
    in_aten=False,
    schemas=("equal(Tensor self, Tensor other) -> bool",),
    limited="unsigned eight",
    samples=lambda make: [(make(3, 4), make(3, 4)), (make(0), make(0))],
    differentiable=False,
)
def equal(input: Tensor, other: Tensor):
    """Whether both have the same shape and elements, as a Python bool."""
    a, b = input._array, other._array
    if type(a) is type(b) is np.ndarray and not STATE.modes:
        found = _equal_short.call(input, other)
        if found is not NotImplemented:
            return found._array.item()
        key = a.shape, b.shape, a.strides, b.strides, input._dtype, other._dtype
        call = _equal_calls.get(key, _equal_calls)
        if call is _equal_calls:
            call = _equal_calls.keep(key, vectors.equal(a, b))
            if call is not None and a.size <= vectors.PART:  # longer ones give several values
                _equal_short.learn(call, (a, b))
        elif a.size <= vectors.PART:
            _equal_short.miss(call, (a, b))
        found = NotImplemented if call is None else call(a, b)
        if found is not NotImplemented:
            return bool(found.all() if found.ndim else found)
    return input._array.shape == other._array.shape and bool((input == other).all())


equal.op.paths.shared = (_equal_short,)
