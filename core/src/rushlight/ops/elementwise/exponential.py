"""Exponentials, logarithms, and the functions built on them."""

from __future__ import annotations

import math

from rushlight.compiler import xp
from rushlight.errors import argument_error
from rushlight.ops._table.domains import above_minus_one, positive, probability, real, unit
from rushlight.ops._table.number_limits import OPERANDS
from rushlight.ops._table.op import composite, elementwise
from rushlight.ops._table.rules import floating, real_floating
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.shape.complex_views import conj_of
from rushlight.tensor.tensor import Tensor


@elementwise(
    rule=floating, domain=real, autocast_on_gpu="float32", aten="default out Scalar", foreach=""
)
def exp(input):
    """``e ** input``.

    >>> rushlight.exp(rushlight.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """
    return xp.exp(input)


exp.gradient(input=lambda grad, out: grad * conj_of(out))


@elementwise(rule=floating, domain=real)
def exp2(input):
    """``2 ** input``."""
    return xp.exp2(input)


exp2.gradient(input=lambda grad, out: grad * (conj_of(out) * math.log(2)))


@elementwise(
    rule=floating,
    domain=real,
    autocast_on_gpu="float32",
    aten="default out Scalar",
    sparse="elements",
    foreach="",
)
def expm1(input):
    """``exp(input) - 1``, accurate near 0."""
    return xp.expm1(input)


expm1.gradient(input=lambda grad, out: grad * (conj_of(out) + 1))


@elementwise(
    rule=floating,
    domain=positive,
    autocast_on_gpu="float32",
    aten="default out Scalar int_int float_float complex_complex",
    foreach="",
)
def log(input):
    """The natural logarithm."""
    return xp.log(input)


log.gradient(input=lambda grad, input: grad / conj_of(input))


@elementwise(rule=floating, domain=positive, autocast_on_gpu="float32", foreach="")
def log2(input):
    """The logarithm to base 2."""
    return xp.log2(input)


log2.gradient(input=lambda grad, input: grad / (conj_of(input) * math.log(2)))


@elementwise(
    rule=floating, domain=positive, autocast_on_gpu="float32", aten="default out Scalar", foreach=""
)
def log10(input):
    """The logarithm to base 10."""
    return xp.log10(input)


log10.gradient(input=lambda grad, input: grad / (conj_of(input) * math.log(10)))


@elementwise(
    rule=floating,
    domain=above_minus_one,
    autocast_on_gpu="float32",
    aten="default out Scalar",
    sparse="elements",
    foreach="",
)
def log1p(input):
    """``log(1 + input)``, accurate near 0."""
    return xp.log1p(input)


log1p.gradient(input=lambda grad, input: grad / (conj_of(input) + 1))


@elementwise(rule=floating, domain=real, foreach="")
def sigmoid(input):
    """``1 / (1 + exp(-input))``."""
    return xp.sigmoid(input)


sigmoid.gradient(input=lambda grad, out: grad * conj_of(out * (1 - out)))


@elementwise(
    rule=real_floating, domain=probability, variants=({"eps": 0.1},), fits={"eps": OPERANDS}
)
def logit(input, eps=None):
    """``log(input / (1 - input))``; `eps` first limits the input to ``[eps, 1 - eps]``."""
    x = input if eps is None else xp.minimum(xp.maximum(input, eps), 1 - eps)
    return xp.log(x / (1 - x))


def _logit_gradient(grad, input, eps):
    slope = grad / (input * (1 - input))
    return slope if eps is None else where((input >= eps) & (input <= 1 - eps), slope, 0.0)


logit.gradient(input=_logit_gradient)


@elementwise(rule=floating, domain=real, inplace=False, limited=False)
def logaddexp(input, other: Tensor):
    """``log(exp(input) + exp(other))`` without overflow."""
    return xp.logaddexp(input, other)


logaddexp.gradient(
    input=lambda grad, input, other: grad / conj_of(1 + exp(other - input)),
    other=lambda grad, input, other: grad / conj_of(1 + exp(input - other)),
)


@elementwise(rule=real_floating, domain=real, inplace=False, limited=False)
def logaddexp2(input, other: Tensor):
    """``log2(2 ** input + 2 ** other)`` without overflow."""
    high, low = xp.maximum(input, other), xp.minimum(input, other)
    further = xp.log1p(xp.exp2(low - high)) * (1 / math.log(2))
    return xp.where(high == low, high + 1, high + further)


logaddexp2.gradient(
    input=lambda grad, input, other: grad / (1 + exp2(other - input)),
    other=lambda grad, input, other: grad / (1 + exp2(input - other)),
)


@elementwise(
    rule=real_floating,
    domain=positive,
    numbers=True,
    aten="Tensor Scalar_Other Scalar_Self OutTensor OutScalar_Self OutScalar_Other",
    aten_inplace="Tensor Scalar_Other",
)
def xlogy(input, other):
    """``input * log(other)``, which is 0 where `input` is 0."""
    return xp.where(xp.isnan(other), math.nan, xp.where(input == 0, 0, input * xp.log(other)))


xlogy.gradient(
    input=lambda grad, input, other: grad * where((input == 0) & (other <= 0), 0.0, log(other)),
    other=lambda grad, input, other: grad * input / other,
)


@elementwise(
    rule=real_floating, domain=real, aten="default out Scalar", sparse="elements", foreach=""
)
def erf(input):
    """The error function."""
    return xp.erf(input)


erf.gradient(input=lambda grad, input: grad * (2 / math.sqrt(math.pi) * exp(-input * input)))


@elementwise(rule=real_floating, domain=real, aten="default out Scalar", foreach="")
def erfc(input):
    """``1 - erf(input)``, accurate for large inputs."""
    return xp.erfc(input)


erfc.gradient(input=lambda grad, input: grad * (-2 / math.sqrt(math.pi) * exp(-input * input)))


@elementwise(rule=real_floating, domain=unit, autocast_on_gpu="float32", sparse="elements")
def erfinv(input):
    """The inverse of :func:`erf` on (-1, 1)."""
    return xp.erfinv(input)


def _erfinv_gradient(grad, input):
    root = erfinv(input)
    return grad * (math.sqrt(math.pi) / 2 * exp(root * root))


erfinv.gradient(input=_erfinv_gradient)


@elementwise(rule=real_floating, domain=positive)
def digamma(input):
    """The derivative of :func:`lgamma`."""
    return xp.digamma(input)


digamma.gradient(input=lambda grad, input: grad * polygamma(1, input))


# PyTorch's second derivative of lgamma is right to 10 digits.
@composite(
    schemas=("polygamma(int n, Tensor self) -> Tensor",),
    rtol=1e-9,
    method=False,
    samples=lambda make: [(1, make()), (0, make(3, 4)), (2, make(3, 4))],
    domain=positive,
)
def polygamma(n, input: Tensor):
    """The n-th derivative of :func:`digamma`.

    >>> rushlight.polygamma(1, rushlight.tensor([1.0]))
    tensor([1.6449])
    """
    if not isinstance(n, int) or isinstance(n, bool):
        raise argument_error("polygamma", "n", "int", n)
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n; got {n}.")
    if n < 2:
        return _trigamma(input) if n else digamma(input)
    from rushlight.ops.elementwise.special_gamma import derivative_of_digamma

    return derivative_of_digamma(input, n)


@elementwise(rule=real_floating, domain=positive, method=False, node="Polygamma", inplace=False)
def _trigamma(input):
    """The derivative of :func:`digamma`."""
    return xp.trigamma(input)


_trigamma.gradient(input=lambda grad, input: grad * polygamma(2, input))


@elementwise(rule=real_floating, domain=positive, aten="default out Scalar", foreach="")
def lgamma(input):
    """The logarithm of the absolute value of the gamma function."""
    return xp.lgamma(input)


lgamma.gradient(input=lambda grad, input: grad * digamma(input))
