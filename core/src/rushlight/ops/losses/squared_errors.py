"""Squared differences: each by itself, their sum or mean without an array of them, or as normal
likelihoods."""

from __future__ import annotations

from rushlight import dtypes
from rushlight.errors import shape_text
from rushlight.kernels.launch.prepared import by_layouts, of_copies
from rushlight.kernels.losses import squared_errors
from rushlight.machine import np
from rushlight.ops._table.aten import in_aten, loss
from rushlight.ops._table.domains import real
from rushlight.ops._table.op import op
from rushlight.ops._table.rules import real_floating_only
from rushlight.ops._table.shape_rules import scalar
from rushlight.ops.losses.pointwise_losses import (
    _divided,
    _pair,
    _reduce,
    _same_shape,
    reduction_of,
    weighted,
)
from rushlight.tensor import construction
from rushlight.tensor.dispatch import STATE, ends_capture
from rushlight.tensor.overriding import by_override, overridable
from rushlight.tensor.tensor import EXACT, Tensor


@_pair(domain=real, autocast="float32")
def _squared_error(input, target):
    """``(input - target) ** 2``."""
    difference = input - target
    return difference * difference


_squared_error.gradient(
    input=lambda grad, input, target: grad * (2 * (input - target)),
    target=lambda grad, input, target: grad * (2 * (target - input)),
)


@in_aten(
    "mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    call=loss("mse_loss", "size_average", "reduce", "reduction", "weight"),
)
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The squared difference. With weights of elements, the mean is over their sum."""
    if size_average is not None or reduce is not None:
        reduction = reduction_of(reduction, size_average, reduce)
    if weight is not None:
        return weighted(mse_loss(input, target, reduction="none"), input, weight, reduction)
    if (reduction == "mean" or reduction == "sum") and not STATE.modes:
        if type(input) in EXACT and type(target) in EXACT:
            mean = reduction == "mean"
            if input._node is None and target._node is None:
                out = _TOTAL.call(input, target, mean)  # of layouts that have passed what follows
                if out is not NotImplemented:
                    return construction.inferred(out) if STATE.inference else out
            if _lie_alike(input, target):
                return _squared_errors(input, target, mean)
    if type(input) not in EXACT or type(target) not in EXACT:
        found = by_override(mse_loss, locals())
        if found is not NotImplemented:
            return found
    reduction = reduction_of(reduction)
    _same_shape("mse_loss", input, target)
    return _reduce(_squared_error(input, target), reduction)


def _lie_alike(input, target):
    """Whether two exact tensors are on the CPU, of one shape and both of float32 or float64."""
    dtype, found, other = input._dtype, input._array, target._array
    return (
        dtype in _ADDED
        and target._dtype is dtype
        and type(found) is type(other) is np.ndarray
        and found.shape == other.shape
    )


_ADDED = frozenset({dtypes.float32, dtypes.float64})


@op(
    rule=real_floating_only,
    method=False,
    samples=lambda make: [
        ((make(4, 3), make(4, 3), True), {}),
        ((make(4, 3), make(4, 3), False), {}),
        ((make(0), make(0), False), {}),
    ],
    meta=scalar,
    tested_by="nn.functional.mse_loss",
    batching="squared_errors",
    saves="reduction: self target",
    saves_as={"reduction": lambda read: 1 if read("mean") else 2},
)
def _squared_errors(input: Tensor, target: Tensor, mean):
    """The sum of squared differences of tensors of one shape, or their mean."""
    difference = input - target
    total = np.add.reduce(difference * difference, axis=None, dtype=np.float64)
    return np.asarray(_divided(total, difference.size) if mean else total, input.dtype)


_squared_errors.cpu(by_layouts(of_copies(squared_errors.total, 2), _squared_errors.op.body))
_TOTAL = _squared_errors.op.cpu_kernel.short
_squared_errors.op.node_name = "MseLossBackward0"


def _factor(size, mean):
    return 2.0 / size if mean and size else 2.0


_squared_errors.gradient(
    input=lambda grad, input, target, mean: _scaled_difference(
        grad, input, target, _factor(input.numel(), mean)
    ),
    target=lambda grad, input, target, mean: _scaled_difference(
        grad, target, input, _factor(input.numel(), mean)
    ),
)


@_pair(domain=real, variants=({"factor": 0.7},))
def _scaled_difference(scale, input, target, factor=1.0):
    """``scale * factor * (input - target)``: a gradient of :func:`mse_loss`."""
    return scale * (factor * (input - target))


_scaled_difference.gradient(
    scale=lambda grad, input, target, factor: _scaled_difference(grad, input, target, factor),
    input=lambda grad, scale, factor: grad * scale * factor,
    target=lambda grad, scale, factor: -(grad * scale * factor),
)


def _variance_like(input, var):
    """A variance that broadcasts against `input`: one per element, or one per row."""
    if isinstance(var, float):
        var = input.detach() * 0 + var
    elif var.shape != input.shape:
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif var.dim() != input.dim() or any(
            b not in (1, a) for a, b in zip(input.shape, var.shape, strict=True)
        ):
            raise ValueError(
                f"var is of incorrect size: {shape_text(var.shape)} for input of shape "
                f"{shape_text(input.shape)}"
            )
    if ends_capture(var) and bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    return var


@overridable
def gaussian_nll_loss(input, target, var, full=False, eps=1e-06, reduction="mean"):
    """The negative log-likelihood of normal samples with predicted variance."""
    var = _variance_like(input, var)
    # the limit does not stop the gradient of the variance
    variance = var + (var.detach().clamp(min=eps) - var.detach())
    losses = 0.5 * (variance.log() + (input - target) ** 2 / variance)
    if full:
        losses = losses + 0.5 * float(np.log(2 * np.pi))
    return _reduce(losses, reduction_of(reduction))
