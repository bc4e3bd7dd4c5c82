"""Elementwise operations on operands of any shapes, layouts and dtypes, broadcast in every way."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from agreement import (  # noqa: E402
    FLOATS,
    ODD,
    alike,
    each,
    extents,
    is_low,
    same,
    short,
    some,
    tops,
    truth_of,
    twin,
)
from drawn import close, exact, examples, name_of, on_threads, tensors  # noqa: E402

ANY = (-4.0, 4.0)
# Functions of one argument: where their arguments lie, and how many roundings a result may be off.
UNARY = {
    "abs": ANY, "neg": ANY, "exp": (-20.0, 20.0), "exp2": (-20.0, 20.0), "expm1": ANY,
    "log": (1e-3, 30.0), "log2": (1e-3, 30.0), "log10": (1e-3, 30.0), "log1p": (-0.9, 10.0),
    "sqrt": (0.0, 100.0), "rsqrt": (1e-3, 100.0), "square": ANY, "reciprocal": (0.1, 9.0),
    "sin": ANY, "cos": ANY, "tan": (-1.4, 1.4), "asin": (-0.95, 0.95), "acos": (-0.95, 0.95),
    "atan": ANY, "sinh": ANY, "cosh": ANY, "tanh": ANY, "asinh": ANY, "acosh": (1.1, 9.0),
    "atanh": (-0.9, 0.9), "erf": ANY, "erfc": ANY, "erfinv": (-0.9, 0.9), "sigmoid": (-30.0, 30.0),
    "relu": ANY, "floor": ANY, "ceil": ANY, "round": ANY, "trunc": ANY, "frac": ANY, "sign": ANY,
    "sgn": ANY, "lgamma": (0.1, 9.0), "digamma": (0.1, 9.0), "i0": ANY, "sinc": (0.3, 4.0),
    "deg2rad": ANY, "rad2deg": ANY, "logit": (0.05, 0.95), "positive": ANY, "nan_to_num": ANY,
}  # fmt: skip
ACTIVATIONS = {
    "relu6": (-9.0, 9.0), "leaky_relu": ANY, "elu": ANY, "selu": ANY, "celu": ANY, "gelu": ANY,
    "silu": (-20.0, 20.0), "mish": (-20.0, 20.0), "softplus": (-30.0, 30.0), "softsign": ANY,
    "hardtanh": ANY, "hardsigmoid": (-5.0, 5.0), "hardswish": (-5.0, 5.0), "logsigmoid": ANY,
    "tanhshrink": ANY, "softshrink": ANY, "hardshrink": ANY,
}  # fmt: skip
ONE = (*UNARY, *ACTIVATIONS)
# Of two: where both lie.
BINARY = {
    "add": ANY, "sub": ANY, "mul": ANY, "div": (0.2, 5.0), "pow": (0.2, 3.0), "maximum": ANY,
    "minimum": ANY, "fmax": ANY, "fmin": ANY, "atan2": (0.2, 4.0), "hypot": (0.2, 4.0),
    "fmod": (0.5, 9.0), "remainder": (0.5, 9.0), "floor_divide": (0.5, 9.0), "copysign": (0.1, 4.0),
    "logaddexp": ANY, "logaddexp2": ANY, "xlogy": (0.1, 4.0),
}  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "isclose")
# Differences of numbers about as large as these: what they are off by is relative to that.
DIFFERENCES = {
    "logaddexp": 1.0,
    "logaddexp2": 1.0,
    "xlogy": 1.0,
    "sinc": 1.0,
    "logit": 1.0,
    "gelu": 4.0,
    "tanhshrink": 1.0,
    "lgamma": 1.0,
    "digamma": 4.0,
}
WITHOUT_GRADIENT = ("floor_divide",)
JUMPS = ("fmod", "remainder", "floor_divide", "frac", "round", "floor", "ceil", "trunc")


def function(name):
    """``f(library, *tensors)`` of a name in the library or among its functions of networks."""

    def run(library, *given):
        place = library.nn.functional if name in ACTIVATIONS else library
        return getattr(place, name)(*given)

    return run


def units(dtype):
    """Roundings of a result and of a derivative: a half-width one rounds what it saves."""
    return (1.5, 6.0) if is_low(dtype) else (8.0, 24.0)


@st.composite
def arguments(draw, name):
    """A tensor for a function of one argument."""
    low, high = {**UNARY, **ACTIVATIONS}[name]
    shape = draw(extents(st.integers(0, 5), least=0))
    return draw(tensors(shape, draw(FLOATS), low, high, grad=True))


def try_one_argument(name, data):
    x = data.draw(arguments(name))
    program, dtype = function(name), name_of(x)
    truth, (wide,) = truth_of(program, [x])
    top = data.draw(tops(tuple(x.shape), dtype))

    def run():
        out = program(rushlight, x)
        return out, rushlight.autograd.grad(out, x, top)[0]

    out, grad = on_threads(run)
    of_result, of_gradient = units(dtype)
    close(out, truth, truth.abs() + DIFFERENCES.get(name, 1e-2), of_result)
    if name == "digamma" and dtype == "float64":
        return  # PyTorch's derivative of it is right in ten digits
    above = exact(top)
    wanted = torch.autograd.grad(truth, wide, above)[0]
    close(grad, wanted, wanted.abs() + above.abs(), of_gradient)


@given(some(ONE), st.data())
@examples(10)
def test_one_argument(names, data):
    each(names, data, try_one_argument)


def try_one_argument_of_nan_and_infinity(name, data):
    shape = data.draw(extents(st.integers(1, 3), 1 << 12))
    x = data.draw(tensors(shape, data.draw(FLOATS), -3.0, 3.0, odd=(*ODD, 0.0, -0.0)))
    if name == "gelu":
        return  # PyTorch's of infinity is NaN in vectors, infinity else
    program = function(name)
    found, truth = on_threads(lambda: program(rushlight, x)), program(torch, twin(x))
    ours = twin(found)
    assert torch.equal(torch.isnan(ours), torch.isnan(truth))
    assert torch.equal(torch.isinf(ours), torch.isinf(truth))
    at = torch.isinf(ours)
    if name in UNARY and name != "relu":
        at = at | (ours == 0) & (truth == 0)
    assert torch.equal(ours.signbit()[at], truth.signbit()[at]), "signs of zeros and infinities"


@given(some(ONE), st.data())
@examples(20)
def test_one_argument_of_nan_and_infinity(names, data):
    each(names, data, try_one_argument_of_nan_and_infinity)


def try_in_place_and_out(name, data):
    x = data.draw(arguments(name)).detach()
    program = function(name)
    expected = program(rushlight, x)
    if name in UNARY:
        target = data.draw(tensors(tuple(x.shape), name_of(x)))
        assert getattr(rushlight, name)(x, out=target) is target
        same(target, twin(expected))
    method = getattr(x, name + "_", None)
    if method is not None:
        kept = twin(x)
        method()
        same(x, twin(expected))
        assert kept.shape == tuple(x.shape)


@given(some(ONE), st.data())
@examples(25)
def test_in_place_and_out(names, data):
    each(names, data, try_in_place_and_out)


@st.composite
def operands(draw, low, high, dtype, odd=()):
    """Two tensors that broadcast: extents of one, dims that one of them lacks, views repeated."""
    shape = draw(extents(st.integers(0, 4), least=0))
    given = []
    for _ in range(2):
        own = tuple([draw(st.sampled_from((n, n, n, 1))) for n in shape])
        own = own[draw(st.sampled_from((0, 0, 0, 1, 2))) :]
        made = draw(tensors(own, dtype, low, high, odd=odd))
        if draw(st.integers(0, 5)) == 0:
            made = made.expand(shape)
        given.append(made.detach().requires_grad_())
    return given


def summed(gradient, shape):
    """What a gradient adds up to in the shape of an operand, of absolute values."""
    return gradient.abs().sum_to_size(shape)


def try_two_arguments(name, data):
    dtype = data.draw(FLOATS)
    a, b = data.draw(operands(*BINARY[name], dtype))
    if name in JUMPS and is_low(dtype):
        return  # a rounding before a jump is the result's whole error
    program = function(name)
    truth, wide = truth_of(program, [a, b])
    out = on_threads(lambda: program(rushlight, a, b))
    whole = [w.detach().expand(truth.shape).clone().requires_grad_() for w in wide]
    scale = truth.abs() + (whole[0].abs() + whole[1].abs() if name in ("add", "sub") else 1e-2)
    if name in JUMPS:
        scale = scale + whole[0].abs()
    scale = scale + DIFFERENCES.get(name, 0.0)
    close(out, truth, scale, units(dtype)[0])
    if name in WITHOUT_GRADIENT:
        return
    top = data.draw(tops(tuple(truth.shape), dtype))
    found = on_threads(lambda: rushlight.autograd.grad(program(rushlight, a, b), (a, b), top))
    above = exact(top)
    wanted = torch.autograd.grad(truth, wide, above)
    each = torch.autograd.grad(program(torch, *whole), whole, above)
    for ours, right, parts in zip(found, wanted, each, strict=True):
        terms = max(1, truth.numel() // max(1, right.numel()))
        close(ours, right, summed(parts.abs() + above.abs(), right.shape), 24.0 + terms**0.5)


@given(some(BINARY), st.data())
@examples(25)
def test_two_arguments(names, data):
    each(names, data, try_two_arguments)


def try_two_arguments_of_nan_and_infinity(name, data):
    a, b = data.draw(operands(-3.0, 3.0, data.draw(FLOATS), (*ODD, 0.0)))
    program = function(name)
    if name in JUMPS:
        return
    a, b = a.detach(), b.detach()
    found, truth = on_threads(lambda: program(rushlight, a, b)), program(torch, twin(a), twin(b))
    ours = twin(found)
    assert torch.equal(torch.isnan(ours), torch.isnan(truth))
    assert torch.equal(torch.isposinf(ours), torch.isposinf(truth))
    assert torch.equal(torch.isneginf(ours), torch.isneginf(truth))


@given(some((*BINARY, *COMPARISONS)), st.data())
@examples(30)
def test_two_arguments_of_nan_and_infinity(names, data):
    each(names, data, try_two_arguments_of_nan_and_infinity)


INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
MIXED = (*INTEGERS, "bool", "float32", "float64", "float16", "bfloat16")


@given(st.sampled_from(("add", "sub", "mul", "maximum", *COMPARISONS)), st.data())
@examples(80)
def test_mixed_dtypes(name, data):
    """Small whole numbers, which every dtype holds: results equal PyTorch's, dtypes too."""
    shape = data.draw(extents(st.integers(0, 3), 1 << 13))
    kinds = [data.draw(st.sampled_from(MIXED)) for _ in range(2)]
    if name == "sub" and "bool" in kinds:
        return
    given = [data.draw(tensors(shape, k, 0, 2 if k == "bool" else 11)) for k in kinds]
    if "bool" not in kinds:
        given = [t.floor() if t.dtype.is_floating_point else t for t in given]
    if name == "isclose" and kinds[0] != kinds[1]:
        return
    if not all(t.dtype.is_floating_point for t in given) or "bool" not in kinds:
        alike(function(name), *given)


@given(st.sampled_from(("add", "mul", "sub", "truediv", "pow")), st.data())
@examples(100)
def test_numbers_beside_tensors(name, data):
    dtype = data.draw(
        st.sampled_from(("float32", "float64", "bfloat16", "int64", "int32", "uint8"))
    )
    x = data.draw(tensors(data.draw(extents(st.integers(0, 3))), dtype, 1, 5))
    number = data.draw(st.sampled_from((0, 1, 2, 3, 0.5, 1.0, 2.0)))
    if name in ("truediv", "pow") and number == 0:
        return
    apply = getattr(operator, name)
    for program in (lambda lib, t: apply(t, number), lambda lib, t: apply(number, t)):
        found = on_threads(lambda p=program: p(rushlight, x))
        truth = program(torch, twin(x))
        assert short(found.dtype) == short(truth.dtype)
        if not found.dtype.is_floating_point:
            same(found, truth)
        else:
            close(found, program(torch, exact(x)), units=2.0 if is_low(name_of(found)) else 8.0)


@given(st.sampled_from(("add_", "sub_", "mul_", "div_", "copy_")), st.data())
@examples(100)
def test_in_place_of_two(name, data):
    """The left operand keeps its dtype and layout; the right one broadcasts to it."""
    shape = data.draw(extents(st.integers(0, 4)))
    left = data.draw(tensors(shape, data.draw(FLOATS), 0.5, 3.0))
    own = tuple([data.draw(st.sampled_from((n, 1))) for n in shape])[data.draw(st.integers(0, 2)) :]
    right = data.draw(tensors(own, data.draw(FLOATS), 0.5, 3.0))
    truth = getattr(exact(left), name)(exact(right))
    strides, kept = left.stride(), left.clone()

    def run():
        left.copy_(kept)
        return getattr(left, name)(right).clone()

    found = on_threads(run)
    assert left.stride() == strides
    close(found, truth, truth.abs() + 3.0, 1.5 if is_low(name_of(left)) else 4.0)


@given(st.sampled_from(("where", "addcmul", "addcdiv", "lerp", "clamp")), st.data())
@examples(100)
def test_three_arguments(name, data):
    dtype = data.draw(FLOATS)
    shape = data.draw(extents(st.integers(0, 3), least=0))
    parts = []
    for _ in range(3):
        own = tuple([data.draw(st.sampled_from((n, n, 1))) for n in shape])
        parts.append(data.draw(tensors(own, dtype, 0.5, 3.0, grad=True)))
    if name == "where":
        parts[0] = parts[0].detach() > 1.5

    def program(library, *given):
        if name == "clamp":
            return library.clamp(given[0], given[1], given[1] + 1.0) + 0 * given[2]
        return getattr(library, name)(*given)

    truth, wide = truth_of(program, parts)
    top = data.draw(tops(tuple(truth.shape), dtype))
    leaves = [p for p in parts if p.requires_grad]
    found = on_threads(lambda: rushlight.autograd.grad(program(rushlight, *parts), leaves, top))
    out, above = program(rushlight, *parts), exact(top)
    close(out, truth, truth.abs() + 9.0, 3.0 if is_low(dtype) else 8.0)
    wanted = torch.autograd.grad(truth, [w for w in wide if w.requires_grad], above)
    for ours, right in zip(found, wanted, strict=True):
        terms = max(1, truth.numel() // max(1, right.numel()))
        close(ours, right, 36 * summed(above, right.shape), 8.0 + terms**0.5)
