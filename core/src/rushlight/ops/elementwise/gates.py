"""Activations that take more than the element itself: gates, learned and random slopes."""

from __future__ import annotations

import math

from rushlight.compiler import xp
from rushlight.dtypes import float64
from rushlight.errors import shape_text
from rushlight.machine import np
from rushlight.ops._table.domains import nonzero
from rushlight.ops._table.number_limits import WIDE, check_factors
from rushlight.ops._table.numpy_names import numpy_names
from rushlight.ops._table.op import composite, elementwise
from rushlight.ops._table.rules import real_floating, real_same
from rushlight.ops._table.second_order import with_history
from rushlight.ops.creation.tensors import empty_like, ones_like, zeros_like
from rushlight.ops.elementwise.activation import leaky_relu
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.elementwise.exponential import sigmoid
from rushlight.ops.neural.softmax import softmax
from rushlight.ops.random.generators import Generator
from rushlight.ops.random.random_alike import rand_like
from rushlight.ops.random.sampling import rand
from rushlight.tensor.dispatch import readable
from rushlight.tensor.memory_format import contiguous_format
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor


@elementwise(
    rule=real_floating,
    method=False,
    inplace=False,
    limited=False,
    tested_by="glu",
    node="Glu",
    saves="",  # PyTorch's keeps the whole input
)
def _gated(input, gate):
    """``input * sigmoid(gate)``."""
    return input * xp.sigmoid(gate)


def _gate_gradient(grad, input, gate):
    open = sigmoid(gate)
    return grad * input * (open * (1 - open))


_gated.gradient(input=lambda grad, gate: grad * sigmoid(gate), gate=_gate_gradient)


@composite(
    schemas=("glu(Tensor self, int dim=-1) -> Tensor",),
    method=False,
    oracle="nn.functional",
    limited=False,
    samples=lambda make: [(make(3, 4),), (make(2, 4, 3), 1)],
    aten="default out",
)
def glu(input: Tensor, dim=-1):
    """The first half along `dim` times the sigmoid of the second. (Dauphin et al., 2016.)"""
    if not input.dim():
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if input.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}"
        )
    a, b = input.chunk(2, dim) if input.shape[dim] else (input, input)
    return _gated(a, b)


def _weight_of_channels(read):
    """The weight as PyTorch broadcasts it over the input (N, C, ...)."""
    weight, dims = read("weight"), len(read("self").shape)
    return (
        weight
        if weight is None
        else weight.reshape((1, -1, *(1,) * (dims - 2)) if dims > 1 else -1)
    )


@elementwise(
    rule=real_same,
    method=False,
    inplace=False,
    limited=False,
    tested_by="prelu",
    node="PreluKernel",
    saves="self weight:",
    saves_as={"weight": _weight_of_channels},
    second_zero=("input", "weight"),
)
def _sloped(input, weight):
    """`input` where positive, else ``weight * input``, broadcast."""
    return xp.where(input > 0, input, weight * input)


_sloped.gradient(
    input=lambda grad, input, weight: where(input > 0, grad, weight * grad),
    weight=lambda grad, input: where(input > 0, 0.0, input * grad),
)


@composite(
    samples=lambda make: [(make(3, 4), make(1)), (make(2, 3, 2), make(3))],
    domain=nonzero,
    autocast="lower",
)
def prelu(input: Tensor, weight: Tensor):
    """`input` where positive, else ``weight * input``; `weight` has one value or one a channel.

    (He et al., 2015.)
    """
    if weight.dim() > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}"
        )
    if weight._dtype is not input._dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}"
        )
    if weight.numel() == 1:
        slope = weight.reshape(())
    else:
        if not input.dim():
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.dim() > 1 else 1
        if weight.numel() != channels:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels} (input of shape "
                f"{shape_text(input.shape)})."
            )
        rest = input.dim() - 2
        slope = weight.reshape(channels, *(1,) * rest) if rest > 0 else weight
    return _sloped(input, slope)


def _drawn_slopes(input, lower, upper, generator):
    """A slope for each element: 1 where it is positive, else uniform, drawn in order (inside of
    `vmap`, where it cannot be seen which are wanted, for all elements). Bounds are rounded as
    PyTorch rounds them."""
    if input.dtype is not float64:
        lower, upper = float(np.float32(lower)), float(np.float32(upper))
    if not readable(input):
        drawn = rand_like(input.detach(), generator=generator) * (upper - lower) + lower
        return where(input.detach() > 0, 1.0, drawn)
    slopes = ones_like(input.detach()).contiguous()
    flat, negative = slopes.view(-1), (input.detach() <= 0).reshape(-1)
    count = int(negative.sum())
    drawn = rand(count, generator=generator, dtype=float64, device="cpu")
    drawn = drawn * (upper - lower) + lower
    flat[negative] = drawn.to(input.dtype)
    return slopes


@composite(
    method=False, samples=[(), (0.1, 0.4)], domain=nonzero,
    aten_call=lambda input, lower, upper, training, inplace: (
        "rrelu_" if inplace is True else "rrelu",
        {"self": input, "lower": lower, "upper": upper, "training": training}
        | ({"generator": inplace} if isinstance(inplace, Generator) else {}),
    ),
)  # fmt: skip
def rrelu(input: Tensor, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """:func:`leaky_relu` with a random slope per element in training, their mean otherwise.

    `inplace` may be a Generator that draws: ``torch.rrelu`` has one where ``F.rrelu`` has
    `inplace`.
    """
    generator = None
    if isinstance(inplace, Generator):
        generator, inplace = inplace, False
    for name, value in (("lower", lower), ("upper", upper)):
        if not math.isfinite(value):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {value}")
    check_factors("rrelu", WIDE, input._dtype, lower=lower, upper=upper)
    if lower > upper:
        raise RuntimeError(
            f"rrelu: Lower bound should be less than or equal to the upper bound, got {lower} and "
            f"{upper}"
        )
    if not training:
        mean = (lower + upper) / 2
        return leaky_relu.op.inplace(input, mean) if inplace else leaky_relu(input, mean)
    slopes = _drawn_slopes(input, lower, upper, generator)
    return input.mul_(slopes) if inplace else with_history(input) * slopes


@numpy_names
@overridable
def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """In-place version of :func:`rrelu`."""
    if generator is None or not training:
        return rrelu(input, lower, upper, training, True)
    return input.mul_(_drawn_slopes(input, lower, upper, generator))


rrelu.op.inplace = rrelu_


@overridable
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Samples of the relaxed categorical distribution; `hard` ones are one-hot in forward.

    (Jang et al., 2017; Maddison et al., 2017.)
    """
    rows_first = {"memory_format": contiguous_format}
    noise = -empty_like(logits, **rows_first).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one = zeros_like(logits, **rows_first).scatter_(dim, index, 1.0)
    return one - soft.detach() + soft
