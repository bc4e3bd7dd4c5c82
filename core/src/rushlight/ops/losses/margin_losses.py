"""Losses of margins between classes and between distances, and of long linear heads."""

from __future__ import annotations

from rushlight.dtypes import FLOAT
from rushlight.errors import shape_text
from rushlight.kernels.losses import margins as kernels
from rushlight.machine.arrays import dtype_of
from rushlight.ops._calls.direct import arrays_of, on_arrays, on_cpu, tensor_of
from rushlight.ops._table.aten import RUNS, loss, loss_by_names
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.second_order import with_history
from rushlight.ops.creation.tensors import arange
from rushlight.ops.elementwise.activation import logsigmoid
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.linalg.products import linear
from rushlight.ops.losses.pointwise_losses import (
    REDUCTION,
    _reduce,
    cross_entropy,
    pairwise_distance,
    reduction_of,
)
from rushlight.tensor.dispatch import STATE, readable
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor

_NN = {"method": False, "oracle": "nn.functional"}


def _served(input, target, weight=None):
    """Whether one kernel takes the call: plain tensors of the CPU, whose gradients go to `input`
    alone, and no transform of functions."""
    if STATE.levels or weight is not None and (weight.requires_grad or not on_cpu(weight)):
        return False
    weights = None if weight is None else weight._array
    plain = on_cpu(input) and on_cpu(target)
    return plain and kernels.fits(input._array, target._array, weights)


def _margin_meta(input, target, *attributes):
    return target.shape[:1] if attributes[-1] == "none" else (), dtype_of(input)


def _share(grad, shape, reduction):
    """The gradient of a class in the loss of each sample: (N, 1), or one number."""
    grad = grad.unsqueeze(1) if reduction == "none" else grad
    return grad / (shape[1] * (shape[0] if reduction == "mean" else 1))


# ---------------------------------------------------------------------- losses of (N, C) by kernels
@op(
    method=False,
    node="MultiMarginLoss",
    second_zero=("input",),
    second_if=lambda input, target, weight, p, *rest: p == 1,
    meta=_margin_meta,
    samples=lambda make: [
        ((make(3, 4), make.integers(0, 4, (3,)), None, 1, 1.0, "mean"), {}),
        ((make(3, 4), make.integers(0, 4, (3,)), None, 2, 0.5, "sum"), {}),
        ((make(3, 4), make.integers(0, 4, (3,)), make(4).detach(), 2, 0.5, "none"), {}),
    ],
    in_aten=False,
    saves="margin p reduction: self target weight",
    saves_as=REDUCTION,
)
def _multi_margin(input: Tensor, target: Tensor, weight: Tensor | None, p, margin, reduction):
    """:func:`multi_margin_loss` of dense scores (N, C)."""
    return kernels.margins(input, target, weight, p, margin, reduction)


def _multi_margin_gradient(grad, input, target, weight, p, margin, reduction):
    if on_arrays(grad, input, target, weight):
        arrays = arrays_of(grad, input, target, weight)
        return tensor_of(kernels.margins_backward(*arrays, p, margin, reduction))
    index = target.unsqueeze(1)
    apart = margin - input.gather(1, index) + input
    others = arange(input.shape[1], device=target._device) != index
    slopes = where(others & (apart > 0), 1 if p == 1 else 2 * apart, 0.0)
    if weight is not None:
        slopes = slopes * weight[index]
    slopes = slopes.to(input.dtype).scatter_add(1, index, -slopes.sum(1, True).to(input.dtype))
    return slopes * _share(grad, input.shape, reduction)


_multi_margin.gradient(input=_multi_margin_gradient)


@op(
    method=False,
    node="MultilabelMarginLoss",
    second_zero=("input",),
    meta=_margin_meta,
    samples=lambda make: [
        ((make(3, 4), make.integers(0, 4, (3, 4), 1), "mean"), {}),
        ((make(3, 4), make.integers(-1, 2, (3, 4)), "none"), {}),
    ],
    in_aten=False,
    saves="reduction: self target",
    saves_as=REDUCTION,
)
def _multilabel_margin(input: Tensor, target: Tensor, reduction):
    """:func:`multilabel_margin_loss` of dense scores (N, C)."""
    return kernels.label_margins(input, target, reduction)


def _multilabel_margin_gradient(grad, input, target, reduction):
    if on_arrays(grad, input, target):
        return tensor_of(
            kernels.label_margins_backward(grad._array, input._array, target._array, reduction)
        )
    index, _, pairs = _pairs(target)
    found = input.gather(1, index)
    apart = 1 - found.unsqueeze(2) + input.unsqueeze(1)
    slopes = (pairs & (apart > 0)).to(input.dtype)
    slopes = slopes.sum(1).scatter_add(1, index, -slopes.sum(2))
    return slopes * _share(grad, input.shape, reduction)


_multilabel_margin.gradient(input=_multilabel_margin_gradient)


def _pairs(labels):
    """Of labels (N, C) that end at the first -1: indices, which are meant (1 or 0), and the pairs
    (N, C, C) of a label and a class that is none."""
    valid = (labels >= 0).long().cumprod(1)
    index = labels * valid
    chosen = (labels * 0).scatter_add(1, index, valid)
    return index, valid, (valid > 0).unsqueeze(2) & (chosen == 0).unsqueeze(1)


def _check_range(name, target, lowest, classes):
    """Refuse class numbers out of range, where they can be read."""
    numbers = target._array if readable(target) else None
    if numbers is not None and numbers.size:
        if numbers.min() < lowest or numbers.max() >= classes:
            raise RuntimeError(f"{name}: target out of range, expected {lowest} to {classes - 1}")


def _check_classes(name, input, target, weight):
    """`input` (C) or (N, C) with one class number a row."""
    if input.dim() > 2 or not input.numel() and (input.dim() < 2 or not input.shape[1]):
        raise RuntimeError(
            f"{name}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{shape_text(input.shape)}"
        )
    rows, classes = (1, max(input.numel(), 1)) if input.dim() < 2 else input.shape
    if target.dim() > 1 or target.numel() != rows:
        raise RuntimeError(
            f"{name}: inconsistent target size, expected {rows} class numbers for input of shape "
            f"{shape_text(input.shape)}, got {shape_text(target.shape)}"
        )
    _check_range(name, target, 0, classes)
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"{name}: inconsistent weight size, expected {classes} but got "
            f"{shape_text(weight.shape)}"
        )
    return rows, classes


@composite(
    schemas=(
        "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? "
        "weight=None, int reduction=1) -> Tensor",
    ),
    aten_call=loss(
        "multi_margin_loss", "p", "margin", "weight", "size_average", "reduce", "reduction"
    ),
    samples=lambda make: [
        (make(3, 4), make.integers(0, 4, (3,))),
        (make(3, 4), make.integers(0, 4, (3,)), 2, 0.5, make(4).detach()),
    ],
    **_NN,
    autocast="float32",
)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p=1,
    margin=1.0,
    weight: Tensor | None = None,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """``sum_j max(0, margin - x[y] + x[j]) ** p / C`` over the classes j other than y."""
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    if target.dim() == 1 and _served(input, target, weight):
        return _multi_margin(input, target, weight, p, margin, reduction)
    rows, classes = _check_classes("multi_margin_loss", input, target, weight)
    input = with_history(input) if p == 1 else input
    scores, index = input.reshape(rows, classes), target.reshape(rows, 1)
    apart = margin - scores.gather(1, index) + scores
    apart = where(apart > 0, apart, 0.0)  # nan counts as nothing, as in PyTorch
    if p == 2:
        apart = apart * apart
    if weight is not None:
        apart = apart * weight[index]
    others = arange(classes, device=target._device) != index
    losses = where(others, apart, 0.0).sum(1) / classes
    return _reduce(losses.reshape(tuple(target.shape)), reduction)


@composite(
    schemas=("multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",),
    aten_call=loss("multilabel_margin_loss", "size_average", "reduce", "reduction"),
    samples=lambda make: [
        (make(3, 4), make.integers(0, 4, (3, 4), 1)),
        (make(4), make.integers(-1, 2, (4,)), {"reduction": "sum"}),
    ],
    **_NN,
    autocast="float32",
)
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average=None, reduce=None, reduction="mean"
):
    """``sum max(0, 1 - x[y] + x[j]) / C`` over labels y and the classes j that are no label.

    `target` has the shape of `input`, (C) or (N, C); labels end at the first -1.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    name = "multilabel_margin_loss"
    if target.dim() == 2 and _served(input, target):
        return _multilabel_margin(input, target, reduction)
    if input.dim() > 2 or input.dim() and not input.shape[-1]:
        raise RuntimeError(
            f"{name}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{shape_text(input.shape)}"
        )
    if target.shape != input.shape and target.numel() * input.numel() != 1:
        raise RuntimeError(
            f"{name}: inconsistent target size: {shape_text(target.shape)} for input of shape "
            f"{shape_text(input.shape)}"
        )
    classes = max(input.shape[-1] if input.dim() else 1, 1)
    scores = with_history(input).reshape(-1, classes)
    _check_range(name, target, -1, classes)
    index, _, pairs = _pairs(target.reshape(-1, classes).long())
    found = scores.gather(1, index)
    apart = 1 - found.unsqueeze(2) + scores.unsqueeze(1)
    losses = where(pairs & (apart > 0), apart, 0.0).sum((1, 2)) / classes
    return _reduce(losses if input.dim() == 2 else losses.squeeze(0), reduction)


@composite(
    in_aten=False,
    samples=lambda make: [
        (make(3, 4), make.mask(3, 4).to(make.dtype)),
        (make(3, 4), make.mask(3, 4).to(make.dtype), make(4).detach(), {"reduction": "none"}),
    ],
    **_NN,
    autocast="float32",
)
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """The mean over classes of binary cross entropies of logits (N, C) or (C)."""
    reduction = reduction_of(reduction, size_average, reduce)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return _reduce(losses.sum(-1) / input.shape[-1], reduction)


@overridable
def triplet_margin_with_distance_loss(
    anchor,
    positive,
    negative,
    *,
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with a distance of one's own
    (:func:`pairwise_distance` without one)."""
    reduction = reduction_of(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative"
            f" {negative.dim()}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return _reduce((margin + near - far).clamp(min=0), reduction)


@overridable
def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """:func:`cross_entropy` of ``linear(input, linear_weight, linear_bias)``.

    `input` is (N, E) or (E), `linear_weight` (C, E) or (C, d_1, ..., d_K, E). `options` say how
    PyTorch saves memory; the result does not depend on them, and here the logits are formed whole.
    """
    if linear_weight.dim() < 2:
        raise RuntimeError(
            "linear_cross_entropy: expected linear_weight with dimensionality at least 2, got "
            f"{linear_weight.dim()}"
        )
    classes, *sizes = linear_weight.shape[:-1]
    if sizes and input.dim() != 2:
        raise RuntimeError(
            f"linear_cross_entropy: a weight of shape {shape_text(linear_weight.shape)} takes "
            f"batched input (N, E), got {shape_text(input.shape)}"
        )
    if input.dim() == 2 and target.dim() and target.shape[0] != input.shape[0]:
        raise ValueError(
            f"linear_cross_entropy: Expected input batch_size ({input.shape[0]}) to match target "
            f"batch_size ({target.shape[0]})."
        )
    if ignore_index is not None and target._dtype.category == FLOAT:
        raise RuntimeError(
            "linear_cross_entropy: ignore_index cannot be specified when target contains "
            "probabilities"
        )
    flat = linear_weight.reshape(-1, linear_weight.shape[-1])
    logits = linear(input, flat, None if linear_bias is None else linear_bias.reshape(-1))
    if sizes:
        logits = logits.reshape(input.shape[0], classes, *sizes)
    return cross_entropy(
        logits,
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


RUNS["multi_margin_loss"] = loss_by_names(multi_margin_loss, "p", "margin", "weight", "reduction")
RUNS["multilabel_margin_loss"] = loss_by_names(multilabel_margin_loss, "reduction")
