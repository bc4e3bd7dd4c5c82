"""Activation functions."""

from __future__ import annotations

import math

from rushlight.compiler import xp
from rushlight.dtypes import BOOL
from rushlight.ops._table.domains import away_from, nonzero, real
from rushlight.ops._table.number_limits import OPERANDS, WIDE
from rushlight.ops._table.op import elementwise
from rushlight.ops._table.rules import floating, floating_only, real_floating_only, real_same
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.elementwise.exponential import erf, exp, sigmoid
from rushlight.ops.elementwise.trigonometric import tanh
from rushlight.ops.shape.complex_views import conj_of
from rushlight.tensor.tensor import Tensor

_NN = {"oracle": "nn.functional"}


def _float(**options):
    merged = {"rule": real_floating_only, "method": False, "inplace": False, **_NN, **options}
    return elementwise(**merged)


def _no_bools(input, *rest):
    if isinstance(input, Tensor) and input._dtype.category == BOOL:
        raise RuntimeError("Bool inputs not supported for relu, relu6 and hardtanh")


def _signed(input, min_val=-1.0, max_val=1.0):
    _no_bools(input)
    if min_val < 0 and isinstance(input, Tensor) and not input._dtype.is_signed:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")


def _limits(input, min_val=-1.0, max_val=1.0):
    _signed(input, min_val, max_val)
    if min_val > max_val:
        raise ValueError(
            f"hardtanh: min_val cannot be greater than max_val, got {min_val} and {max_val}"
        )


@elementwise(
    rule=real_same, domain=nonzero, check=_no_bools, second_zero=("input",), sparse="elements"
)
def relu(input):
    """``max(input, 0)``; NaN and the sign of zero stay.

    >>> rushlight.relu(rushlight.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return xp.where(input < 0, 0, input)


relu.gradient(input=lambda grad, out: where(out <= 0, 0.0, grad))


@_float(
    schemas=("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",),
    domain=nonzero,
    inplace="_leaky_relu_",
    second_zero=("input",),
    fits={"negative_slope": WIDE},
    aten="default out",
)
def leaky_relu(input, negative_slope=0.01):
    """`input` where positive, else ``negative_slope * input``."""
    return xp.where(input > 0, input, input * negative_slope)


leaky_relu.gradient(
    input=lambda grad, input, negative_slope: where(input > 0, grad, grad * negative_slope)
)


def _negative(input):
    """Zero in place of what is positive, for functions that would overflow there."""
    return xp.where(input > 0, 0, input)


@_float(
    schemas=("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",),
    domain=nonzero,
    inplace="_elu_",
    fits={"alpha": WIDE},
    saves="alpha input_scale: scale: self",
    saves_as={"input_scale": 1, "scale": 1},
)
def elu(input, alpha=1.0):
    """`input` where positive, else ``alpha * (exp(input) - 1)`` (Clevert et al., 2016)."""
    return xp.where(input > 0, input, alpha * xp.expm1(_negative(input)))


elu.gradient(
    input=lambda grad, input, alpha: where(input > 0, grad, grad * (alpha * _exp_negative(input)))
)


def _exp_negative(input):
    return exp(where(input > 0, 0.0, input))


@_float(domain=nonzero, inplace="_celu_", fits={"alpha": WIDE})
def celu(input, alpha=1.0):
    """`input` where positive, else ``alpha * (exp(input / alpha) - 1)``."""
    return xp.where(input > 0, input, alpha * xp.expm1(_negative(input) / alpha))


celu.gradient(
    input=lambda grad, input, alpha: where(input > 0, grad, grad * _exp_negative(input / alpha))
)

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@_float(
    domain=nonzero,
    inplace="_selu_",
    node="Elu",
    saves="alpha: input_scale: scale: self",
    saves_as={"alpha": _SELU_ALPHA, "input_scale": 1, "scale": _SELU_SCALE},
)
def selu(input):
    """The self-normalising exponential unit (Klambauer et al., 2017)."""
    return _SELU_SCALE * xp.where(input > 0, input, _SELU_ALPHA * xp.expm1(_negative(input)))


selu.gradient(
    input=lambda grad, input: where(
        input > 0, grad * _SELU_SCALE, grad * (_SELU_SCALE * _SELU_ALPHA * _exp_negative(input))
    )
)


def _known_form(input, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise RuntimeError(
            f"gelu: approximate argument must be either none or tanh, got {approximate!r}"
        )


@_float(
    schemas=('gelu(Tensor self, *, str approximate="none") -> Tensor',),
    domain=real,
    variants=({"approximate": "tanh"},),
    check=_known_form,
    aten="default out",
)
def gelu(input, *, approximate="none"):
    """The Gaussian error linear unit ``input * Phi(input)`` (Hendrycks and Gimpel, 2016);
    `approximate` ``"tanh"`` is its tanh form."""
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (input + 0.044715 * input * input * input)
        return 0.5 * input * (1 + xp.tanh(inner))
    return 0.5 * input * (1 + xp.erf(input * math.sqrt(0.5)))


def _gelu_gradient(grad, input, approximate):
    if approximate == "tanh":
        scale = math.sqrt(2 / math.pi)
        t = tanh(scale * (input + 0.044715 * input * input * input))
        slope = scale * (1 + 3 * 0.044715 * input * input)
        return grad * (0.5 * (1 + t) + 0.5 * input * (1 - t * t) * slope)
    density = exp(-0.5 * input * input) * (1 / math.sqrt(2 * math.pi))
    return grad * (0.5 * (1 + erf(input * math.sqrt(0.5))) + input * density)


gelu.gradient(input=_gelu_gradient)


@_float(rule=floating_only, domain=real, inplace="_silu_", aten="default out")
def silu(input):
    """``input * sigmoid(input)``, also called swish."""
    return input * xp.sigmoid(input)


silu.gradient(
    input=lambda grad, input: (
        grad * conj_of(sigmoid(input)) * conj_of(1 + input * (1 - sigmoid(input)))
    )
)


@_float(domain=real, inplace="_mish_", aten="default out")
def mish(input):
    """``input * tanh(softplus(input))`` (Misra, 2019)."""
    return input * xp.tanh(xp.logaddexp(input, 0))


def _mish_gradient(grad, input):
    t = tanh(softplus(input))
    return grad * (t + input * sigmoid(input) * (1 - t * t))


mish.gradient(input=_mish_gradient)


@_float(domain=real, autocast_on_gpu="float32", aten="default out")
def softplus(input, beta=1.0, threshold=20.0):
    """Smooth approximation of :func:`relu`, ``log(1 + exp(beta * input)) / beta``.

    Linear where ``beta * input`` exceeds `threshold`.
    """
    scaled = beta * input
    return xp.where(scaled > threshold, input, xp.logaddexp(scaled, 0) / beta)


softplus.gradient(
    input=lambda grad, input, beta, threshold: (
        grad * where(beta * input > threshold, 1.0, sigmoid(beta * input))
    )
)


@_float(
    node="LogSigmoid",
    aten_call=lambda input: ("log_sigmoid", {"self": input}),
    schemas=("log_sigmoid(Tensor self) -> Tensor",),
    domain=real,
    aten_aliases={"log_sigmoid": "default out"},
)
def logsigmoid(input):
    """``log(sigmoid(input))`` without underflow."""
    return xp.minimum(input, 0) - xp.log1p(xp.exp(-xp.abs(input)))


logsigmoid.gradient(input=lambda grad, input: grad * sigmoid(-input))


@elementwise(
    rule=real_same,
    domain=away_from(-1.0, 1.0),
    method=False,
    inplace="_hardtanh_",
    second_zero=("input",),
    fits={"min_val": OPERANDS, "max_val": OPERANDS},
    check=_limits,
    **_NN,
    aten="default out",
)
def hardtanh(input, min_val=-1.0, max_val=1.0):
    """`input` limited to ``[min_val, max_val]``."""
    return xp.minimum(xp.maximum(input, min_val), max_val)


hardtanh.gradient(
    input=lambda grad, input, min_val, max_val: where(
        (input > min_val) & (input < max_val), grad, 0.0
    )
)


@elementwise(
    node="Hardtanh",
    rule=real_same,
    domain=away_from(0.0, 6.0, high=8.0),
    method=False,
    inplace="_relu6_",
    second_zero=("input",),
    check=_no_bools,
    **_NN,
    aten="default",
    saves="max_val: min_val: self",
    saves_as={"max_val": 6, "min_val": 0},
)
def relu6(input):
    """``min(max(input, 0), 6)``."""
    return xp.where(input < 0, 0, xp.where(input > 6, 6, input))


relu6.gradient(input=lambda grad, input: where((input > 0) & (input < 6), grad, 0.0))


@_float(
    domain=away_from(-3.0, 3.0, low=-5.0, high=5.0),
    inplace="_hardsigmoid_",
    second_zero=("input",),
    aten="default out",
)
def hardsigmoid(input):
    """``relu6(input + 3) / 6``."""
    return xp.minimum(xp.maximum(input + 3, 0), 6) / 6


hardsigmoid.gradient(
    input=lambda grad, input: where((input > -3) & (input < 3), grad * (1 / 6), 0.0)
)


@_float(domain=away_from(-3.0, 3.0, low=-5.0, high=5.0), inplace="_hardswish_", aten="default out")
def hardswish(input):
    """``input * relu6(input + 3) / 6`` (Howard et al., 2019)."""
    return input * (xp.minimum(xp.maximum(input + 3, 0), 6) / 6)


hardswish.gradient(
    input=lambda grad, input: where(
        input <= -3, 0.0, where(input >= 3, grad, grad * (input / 3 + 0.5))
    )
)


@_float(
    captured=lambda input: input / (input.abs() + 1),
    domain=nonzero,
    rule=floating,
    sweep=(0, 2),
    limited=False,
)
def softsign(input):
    """``input / (1 + |input|)``."""
    return input / (1 + xp.abs(input))


def _softsign_gradient(grad, input):
    if isinstance(input, Tensor) and input.is_complex():
        scale = 1 / (1 + input.abs())
        along = (grad.conj() * input).real
        return grad * scale - input.sgn() * (along * scale * scale)
    return grad / _square(1 + where(input < 0, -input, input))


softsign.gradient(input=_softsign_gradient)


def _square(x):
    return x * x


@_float(captured=lambda input: input - input.tanh(), domain=real, rule=floating)
def tanhshrink(input):
    """``input - tanh(input)``."""
    return input - xp.tanh(input)


tanhshrink.gradient(input=lambda grad, input: grad * conj_of(_square(tanh(input))))


def _not_negative(input, lambd=0.5):
    if not 0 <= lambd < math.inf:
        raise RuntimeError(f"softshrink: lambda must be 0 or more, and finite; found {lambd}")


@_float(
    domain=away_from(-0.5, 0.5),
    check=_not_negative,
    second_zero=("input",),
    fits={"lambd": OPERANDS},
    aten="default out",
)
def softshrink(input, lambd=0.5):
    """`input` moved toward zero by `lambd`; zero within."""
    return xp.where(
        input > lambd, input - lambd, xp.where(input < -lambd, input + lambd, input * 0)
    )


softshrink.gradient(
    input=lambda grad, input, lambd: where((input > lambd) | (input < -lambd), grad, 0.0)
)


@_float(domain=away_from(-0.5, 0.5), method=True, second_zero=("input",), fits={"lambd": OPERANDS})
def hardshrink(input, lambd=0.5):
    """`input` where its absolute value exceeds `lambd`, else zero."""
    return xp.where((input >= -lambd) & (input <= lambd), 0, input)


hardshrink.gradient(
    input=lambda grad, input, lambd: where((input > lambd) | (input < -lambd), grad, 0.0)
)


@elementwise(
    rule=real_same,
    domain=away_from(0.4),
    method=False,
    inplace="_threshold_",
    second_zero=("input",),
    variants=({"threshold": 0.4, "value": 2.0},),
    fits={"threshold": WIDE, "value": OPERANDS},
    **_NN,
)
def threshold(input, threshold: float, value: float):
    """`input` where it exceeds `threshold` (or is nan), else `value`."""
    return xp.where(input <= threshold, value, input)


threshold.gradient(input=lambda grad, input, threshold: where(input <= threshold, 0.0, grad))
