"""Loss functions."""

from __future__ import annotations

import warnings

from rushlight import dtypes
from rushlight.compiler import xp
from rushlight.dtypes import FLOAT
from rushlight.errors import shape_text
from rushlight.kernels.losses import cross_entropy as kernels
from rushlight.machine import np
from rushlight.ops._calls.direct import on_arrays, on_gpu, tensor_of, translated, unrecorded
from rushlight.ops._table.aten import REDUCTIONS, in_aten, loss, loss_run
from rushlight.ops._table.domains import away_from, probability, real
from rushlight.ops._table.number_limits import OPERANDS, WIDE, check_factors
from rushlight.ops._table.numpy_names import numpy_names
from rushlight.ops._table.op import elementwise, op
from rushlight.ops._table.rules import real_floating_only
from rushlight.ops._table.shape_rules import entropy
from rushlight.ops.elementwise.activation import logsigmoid
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.elementwise.exponential import xlogy
from rushlight.ops.neural.full_precision import in_float32
from rushlight.ops.neural.softmax import log_softmax
from rushlight.tensor.dispatch import readable
from rushlight.tensor.overriding import by_override, overridable
from rushlight.tensor.tensor import EXACT, Tensor

_PAIR = "input1", "input2", "target"
_BY_MARGIN = "margin", "size_average", "reduce", "reduction"  # parameters of losses behind these


def reduction_of(reduction, size_average=None, reduce=None):
    """The reduction's name, with PyTorch's two deprecated flags folded in."""
    if size_average is not None or reduce is not None:
        warnings.warn(
            "size_average and reduce args will be deprecated, please use reduction instead.",
            stacklevel=3,
        )
        size_average = True if size_average is None else size_average
        reduce = True if reduce is None else reduce
        reduction = "none" if not reduce else ("mean" if size_average else "sum")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _reduce(losses, reduction):
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


def weighted(losses, input, weight, reduction, over_weights=True):
    """Losses of elements times their weights, or the sum of these; their mean is over the sum of
    the weights, or else over the number of elements."""
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'."
        )
    losses = losses * weight
    if reduction == "mean" and over_weights:
        return losses.sum() / weight.sum()
    return _reduce(losses, reduction)


# ------------------------------------------------------------------------------------ cross entropy
def _entropy_samples(make):
    target = make.integers(0, 4, (5,))
    return [
        ((make(5, 4), target, None, "mean", -100, 0.0), {}),
        ((make(5, 4), target, make(4).detach().abs() + 0.1, "sum", 2, 0.1), {}),
        ((make(5, 4), target, None, "none", -100, 0.2), {}),
        ((make(2, 4, 3), make.integers(0, 4, (2, 3)), None, "mean", 1, 0.0), {}),
        ((make(4), make.integers(0, 4, ()), None, "mean", -100, 0.0), {}),
    ]


def _divided(total, count):
    """The mean; NaN or infinity where no target counts."""
    if count:
        return total / count
    with np.errstate(all="ignore"):
        return np.divide(total, count)


REDUCTION = {"reduction": lambda read: ("none", "mean", "sum").index(read("reduction"))}
_KEPT = {**REDUCTION, "total_weight": lambda read: read("result2").to(read("self").dtype)}


def _entropy_name(node):
    """Of the loss of log-probabilities, which PyTorch records last: of pictures or of rows."""
    pictures = node.shapes is not None and len(node.shapes[0]) == 4
    return "NllLoss2DBackward0" if pictures else "NllLossBackward0"


@op(
    node=_entropy_name,
    saves="ignore_index reduction: target total_weight: weight",
    saves_as=_KEPT,
    meta=entropy,
    rule=real_floating_only,
    aside=(1,),
    method=False,
    samples=_entropy_samples,
    first_dtype=True,
    autocast="float32",
    batching="cross_entropy",
)
def _cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction, ignore_index, label_smoothing
):
    """Cross entropy of class scores with class numbers; also the log-sum-exp of the scores, and
    what a mean divides by."""
    losses, sums, kept = kernels.cross_entropy_forward(
        input, target, weight, ignore_index, label_smoothing
    )
    if reduction == "none":
        return losses, sums, kept
    wide = None if losses.dtype.itemsize >= 4 else np.float32
    total = np.add.reduce(losses, axis=None, dtype=wide)
    if reduction == "mean":
        total = _divided(total, kept)
    return np.asarray(total, losses.dtype), sums, kept


_cross_entropy.cpu(kernels.with_mean(_cross_entropy.op.body))


def _cross_entropy_backward(
    grad, input, target, weight, sums, kept, reduction, ignore_index, label_smoothing
):
    """The gradient of the scores by one kernel, on arrays."""
    if reduction == "mean" and weight is None and not label_smoothing:
        found = kernels.mean_backward(grad, input, target, sums, kept, ignore_index)
        if found is not None:
            return found
    losses = grad
    if reduction != "none":
        scale = grad
        if reduction == "mean":
            scale = _divided(grad, kept)
        losses = np.empty(target.shape, input.dtype)
        losses.fill(scale)
    return kernels.cross_entropy_backward(
        losses, input, target, weight, ignore_index, label_smoothing, sums
    )


def _cross_entropy_gradient(
    grad, input, target, weight, reduction, ignore_index, label_smoothing, out1, out2
):
    if on_arrays(grad, input, target, weight):
        weights = None if weight is None else weight._array
        return tensor_of(
            _cross_entropy_backward(
                grad._array, input._array, target._array, weights, out1._array, out2._array,
                reduction, ignore_index, label_smoothing,
            )
        )  # fmt: skip
    if on_gpu(grad, input, target, weight):
        weights = None if weight is None else weight._array
        return tensor_of(
            translated(_cross_entropy_backward)(
                grad._array, input._array, target._array, weights, out1._array, out2._array,
                reduction, ignore_index, label_smoothing,
            )
        )  # fmt: skip
    dim = 0 if input.dim() == 1 else 1
    goal = _target_probabilities(input, target, weight, ignore_index, label_smoothing, dim)
    probabilities = log_softmax(input, dim).exp()
    if reduction == "mean":
        # with every target ignored the loss is NaN, and its gradient zero
        kept = out2.detach().to(grad.dtype)
        grad = grad / where(kept == 0, 1.0, kept)
    grad = grad.unsqueeze(dim) if reduction == "none" else grad
    return grad * (probabilities * goal.sum(dim, True) - goal)


def _target_probabilities(input, target, weight, ignore_index, label_smoothing, dim):
    """The (weighted, smoothed) distribution each target stands for; zero where ignored."""
    from rushlight.ops.creation.tensors import zeros

    kept = (target != ignore_index).unsqueeze(dim)
    index = where(kept, target.unsqueeze(dim), 0)
    goal = zeros(tuple(input.shape), dtype=input.dtype, device=input._device)
    ones = kept.to(input.dtype)
    classes = input.shape[dim]
    goal = goal.scatter_add(dim, index, ones * (1 - label_smoothing))
    goal = goal + ones * (label_smoothing / classes)
    if weight is not None:
        goal = goal * weight.reshape(*(-1 if i == dim else 1 for i in range(input.dim())))
    return goal


_cross_entropy.gradient(input=_cross_entropy_gradient)


@in_aten(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
    "SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor",
    run=loss_run("cross_entropy_loss", lambda: cross_entropy),
    call=loss("cross_entropy_loss", "weight", "size_average", "ignore_index", "reduce",
              "reduction", "label_smoothing"),
)  # fmt: skip
def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """Cross entropy between class scores (N, C, ...) and class numbers (N, ...) or probabilities.

    `weight` (C,) rescales classes, targets equal to `ignore_index` do not count, and
    `label_smoothing` mixes in the uniform distribution (Szegedy et al., 2016). The mean divides
    by the (weighted) number of targets that count.
    """
    if type(input) not in EXACT:
        found = by_override(cross_entropy, locals())
        if found is not NotImplemented:
            return found
    if size_average is not None or reduce is not None or reduction != "mean":
        reduction = reduction_of(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    shape, targets = input._array.shape, target._array.shape
    dim = 0 if len(shape) == 1 else 1
    if target._dtype is not dtypes.int64:
        if target._dtype.category == FLOAT and targets == shape:
            if ignore_index >= 0:
                raise RuntimeError(
                    "cross_entropy: ignore_index is not supported for probabilities as target, "
                    f"got {ignore_index}"
                )
            return _soft_cross_entropy(input, target, weight, reduction, label_smoothing, dim)
        if target._dtype is not dtypes.uint8:
            raise RuntimeError(
                f"cross_entropy: expected target of dtype rushlight.int64 (class numbers), or of "
                f"the input's shape (probabilities), but got {target._dtype} of shape "
                f"{shape_text(targets)} for input of shape {shape_text(shape)}"
            )
        target = target.long()
    expected = shape[:dim] + shape[dim + 1 :]
    if targets != expected:
        kind = ValueError if len(targets) == len(expected) and len(shape) == 2 else RuntimeError
        raise kind(
            f"cross_entropy: Expected target of shape {shape_text(expected)} for input of shape "
            f"{shape_text(shape)}, got {shape_text(targets)}"
        )
    if weight is not None and weight._array.shape != (shape[dim],):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {shape[dim]} "
            f"classes or no classes but got weight tensor of shape: {shape_text(weight.shape)}"
        )
    if weight is None and reduction == "mean" and not label_smoothing and unrecorded(input, target):
        found = kernels.small_mean(input._array, target._array, ignore_index)
        if found is not None:
            return tensor_of(found[0])
    return _cross_entropy(input, target, weight, reduction, ignore_index, float(label_smoothing))[0]


def _soft_cross_entropy(input, target, weight, reduction, label_smoothing, dim):
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / max(input.shape[dim], 1)
    terms = log_softmax(input, dim) * target
    if weight is not None:
        terms = terms * weight.reshape(*(-1 if i == dim else 1 for i in range(input.dim())))
    losses = -terms.sum(dim)
    if reduction == "mean":
        return losses.sum() / (losses.numel() if input.numel() else np.nan)
    return _reduce(losses, reduction)


def _check_targets(target, ignore_index, classes):
    numbers = target.numpy()
    bad = numbers[(numbers != ignore_index) & ((numbers < 0) | (numbers >= classes))]
    if bad.size:
        raise IndexError(f"Target {bad.flat[0]} is out of bounds.")


# -------------------------------------------------------------------------------------- elementwise
def _pair(**options):
    return elementwise(rule=real_floating_only, method=False, inplace=False, **options)


@_pair(domain=real, variants=({"beta": 0.7},), autocast="float32")
def _smooth_l1(input, target, beta=1.0):
    """Quadratic below `beta`, linear above."""
    error = xp.abs(input - target)
    return xp.where(error < beta, 0.5 * error * error / beta, error - 0.5 * beta)


def _smooth_l1_slope(grad, input, target, beta):
    error = input - target
    return grad * where(error > beta, 1.0, where(error < -beta, -1.0, error / beta))


_smooth_l1.gradient(
    input=_smooth_l1_slope,
    target=lambda grad, input, target, beta: -_smooth_l1_slope(grad, input, target, beta),
)


@_pair(domain=real, variants=({"delta": 0.7},), autocast="float32")
def _huber(input, target, delta=1.0):
    """Quadratic below `delta`, linear above."""
    error = xp.abs(input - target)
    return xp.where(error < delta, 0.5 * error * error, delta * (error - 0.5 * delta))


def _huber_slope(grad, input, target, delta):
    error = input - target
    return grad * where(error > delta, delta, where(error < -delta, -delta, error))


_huber.gradient(
    input=_huber_slope,
    target=lambda grad, input, target, delta: -_huber_slope(grad, input, target, delta),
)


@_pair(domain=away_from(0.0), autocast="float32")
def _logits_entropy(input, target):
    """Binary cross entropy of a logit, ``(1 - y) * x - log(sigmoid(x))``: finite terms alone where
    the logit is infinite."""
    log_sigmoid = xp.minimum(input, 0) - xp.log1p(xp.exp(-xp.abs(input)))
    return (1 - target) * input - log_sigmoid


_logits_entropy.gradient(
    input=lambda grad, input, target: grad * (input.sigmoid() - target),
    target=lambda grad, input: -grad * input,
)


@_pair(domain=probability)
def _binary_entropy(input, target):
    """Binary cross entropy of a probability; logarithms are at least -100."""
    low = xp.maximum(xp.log1p(-input), -100)
    return (target - 1) * low - target * xp.maximum(xp.log(input), -100)


# At probabilities of exactly 0 and 1 the loss is cut off but still has a slope: 1e-12 in float32,
# in every dtype, as in PyTorch.
LEAST_VARIANCE = 9.999999960041972e-13

_binary_entropy.gradient(
    input=lambda grad, input, target: (
        grad * (input - target) / ((1 - input) * input).clamp(min=LEAST_VARIANCE)
    ),
    target=lambda grad, input: grad * ((-input).log1p() - input.log()),
)


def _same_shape(name, input, target):
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            f"Please ensure they have the same size. ({name})",
            stacklevel=3,
        )


@in_float32
@in_aten(
    "l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    call=loss("l1_loss", "size_average", "reduce", "reduction", "weight"),
)
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The absolute difference. With weights of elements, the mean is over their sum."""
    if weight is not None:
        losses = l1_loss(input, target, reduction="none")
        return weighted(losses, input, weight, reduction_of(reduction, size_average, reduce))
    if type(input) not in EXACT and (out := by_override(l1_loss, locals())) is not NotImplemented:
        return out
    reduction = reduction_of(reduction, size_average, reduce)
    _same_shape("l1_loss", input, target)
    return _reduce((input - target).abs(), reduction)


@in_aten(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0) -> Tensor",
    run=loss_run("smooth_l1_loss", lambda: smooth_l1_loss),
    call=loss("smooth_l1_loss", "size_average", "reduce", "reduction", "beta"),
)
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared difference below `beta`, absolute above. (Girshick, 2015.)"""
    if type(input) not in EXACT:
        found = by_override(smooth_l1_loss, locals())
        if found is not NotImplemented:
            return found
    reduction = reduction_of(reduction, size_average, reduce)
    _same_shape("smooth_l1_loss", input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return _reduce(_smooth_l1(input, target, float(beta)), reduction)


@in_aten(
    "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0) -> Tensor",
    run=loss_run("huber_loss", lambda: huber_loss),
    call=loss("huber_loss", "reduction", "delta", "weight"),
)
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half the squared difference below `delta`, linear above. (Huber, 1964.)"""
    if weight is not None:
        losses = huber_loss(input, target, "none", delta)
        return weighted(losses, input, weight, reduction, over_weights=False)
    if (
        type(input) not in EXACT
        and (out := by_override(huber_loss, locals())) is not NotImplemented
    ):
        return out
    if not isinstance(delta, (int, float)):
        raise TypeError(f"huber_loss: delta must be a float or int, got: {type(delta)}")
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _same_shape("huber_loss", input, target)
    return _reduce(_huber(input, target, float(delta)), reduction_of(reduction))


@overridable
@in_float32
@in_aten(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> "
    "Tensor",
    run=loss_run("binary_cross_entropy", lambda: binary_cross_entropy),
    call=loss("binary_cross_entropy", "weight", "size_average", "reduce", "reduction"),
)
def binary_cross_entropy(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """``-(y log(p) + (1 - y) log(1 - p))``; logarithms are at least -100."""
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    if input.numel() and readable(input) and not bool(((input >= 0) & (input <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    losses = _binary_entropy(input, target)
    return _reduce(losses if weight is None else losses * weight, reduction)


@in_aten(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
    "Tensor? pos_weight=None, int reduction=1) -> Tensor",
    run=loss_run("binary_cross_entropy_with_logits", lambda: binary_cross_entropy_with_logits),
    call=loss("binary_cross_entropy_with_logits", "weight", "size_average", "reduce", "reduction",
              "pos_weight"),
)  # fmt: skip
def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """Binary cross entropy of a logit; `pos_weight` scales the positive term."""
    if type(input) not in EXACT:
        found = by_override(binary_cross_entropy_with_logits, locals())
        if found is not NotImplemented:
            return found
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    if pos_weight is None:
        losses = _logits_entropy(input, target)
    else:
        from rushlight.ops.elementwise.activation import logsigmoid

        scale = (pos_weight - 1) * target + 1
        losses = (1 - target) * input - scale * logsigmoid(input)
    return _reduce(losses if weight is None else losses * weight, reduction)


@overridable
@in_float32
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """``target * (log(target) - input)``: `input` holds log-probabilities."""
    if reduction != "batchmean":
        reduction = reduction_of(reduction, size_average, reduce)
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support "
                "size. 'batchmean' divides only by the batch size, and aligns with the KL div math "
                "definition.",
                stacklevel=2,
            )
    if reduction == "batchmean":
        total = _kl_div(input, target, "sum", log_target)
        return total / (input.shape[0] if input.dim() else 1)
    return _kl_div(input, target, reduction, log_target)


@in_aten(
    "kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
    call=loss("kl_div", "reduction", "log_target"),
)
@overridable(as_given=True)
def _kl_div(input, target, reduction, log_target):
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = xlogy(target, target) - target * input
    return _reduce(losses, reduction)


@overridable
@in_float32
@in_aten(
    "hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=1) -> Tensor",
    call=loss("hinge_embedding_loss", "margin", "size_average", "reduce", "reduction"),
)
def hinge_embedding_loss(
    input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"
):
    """`input` where the target is 1, ``max(0, margin - input)`` where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    check_factors("hinge_embedding_loss", OPERANDS, input._dtype, margin=margin)
    apart = (margin - input).clamp(min=0)
    return _reduce(where(target != -1, input, 0.0) + where(target != 1, apart, 0.0), reduction)


@overridable
@in_float32
@in_aten(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, "
    "int reduction=1) -> Tensor",
    call=loss("margin_ranking_loss", *_BY_MARGIN, of=_PAIR),
)
def margin_ranking_loss(
    input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"
):
    """``max(0, -target * (input1 - input2) + margin)``."""
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss: expected input1, input2 and target of the same number of "
            f"dimensions, got {list(input1.shape)}, {list(input2.shape)} and {list(target.shape)}"
        )
    return _reduce((-target * (input1 - input2) + float(margin)).clamp(min=0), reduction)


@in_aten("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor")
@overridable(as_given=True)
@numpy_names
def cosine_similarity(x1, x2, dim=1, eps=1e-08):
    """The cosine of the angle between vectors along `dim`."""
    if not (x1.is_floating_point() and x2.is_floating_point()):
        raise RuntimeError(
            "cosine_similarity: expected both inputs to be of floating point dtype, got "
            f"{x1.dtype} and {x2.dtype}"
        )
    if not eps >= 0:
        raise RuntimeError(f"cosine_similarity: eps must be non-negative, got {eps}")
    if x1.shape != x2.shape:
        shape = np.broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
        x1, x2 = x1.expand(shape), x2.expand(shape)
    first, second = (x / _at_least(x.norm(2, dim, True), eps) for x in (x1, x2))
    return (first * second).sum(dim)


@elementwise(
    method=False,
    inplace=False,
    variants=({"limit": -99.0},),
    only_variants=True,
    tested_by="cosine_similarity",
    fits={"limit": WIDE},
)
def _at_least(input, limit: float):
    """`input`, at least `limit`, which does not stop the gradient."""
    return xp.maximum(input, limit)


_at_least.gradient(input=lambda grad: grad)


@overridable
@in_float32
@in_aten(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, "
    "int reduction=1) -> Tensor",
    call=loss("cosine_embedding_loss", *_BY_MARGIN, of=_PAIR),
)
def cosine_embedding_loss(
    input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"
):
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    if input1.dim() != target.dim() + 1 or input1.dim() not in (1, 2):
        raise RuntimeError(
            "cosine_embedding_loss: expected inputs (N, D) with target (N,), or (D,) with a 0-D "
            f"target, got {shape_text(input1.shape)}, {shape_text(input2.shape)} and "
            f"{shape_text(target.shape)}"
        )
    lengths = ((input1 * input1).sum(-1) + 1e-12) * ((input2 * input2).sum(-1) + 1e-12)
    cosine = (input1 * input2).sum(-1) / lengths.sqrt()
    apart = (cosine - margin).clamp(min=0)
    return _reduce(where(target == 1, 1 - cosine, 0.0) + where(target == -1, apart, 0.0), reduction)


@overridable
@in_float32
@in_aten(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, "
    "float p=2.0, float eps=1e-06, bool swap=False, int reduction=1) -> Tensor",
    call=loss("triplet_margin_loss", "margin", "p", "eps", "swap", "size_average", "reduce",
              "reduction", of=("anchor", "positive", "negative")),
)  # fmt: skip
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-06,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``."""
    reduction = reduction_of(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return _reduce((near - far + margin).clamp(min=0), reduction)


@in_aten(
    "pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False) "
    "-> Tensor"
)
@overridable(as_given=True)
@numpy_names
def pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim=False):
    """The norm of order `p` of ``x1 - x2 + eps`` over the last dimension."""
    return (x1 - x2 + float(eps)).norm(p, -1, keepdim)


@overridable
@in_float32
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """``log(1 + exp(-target * input))``."""
    reduction = reduction_of(reduction, size_average, reduce)
    return _reduce(-logsigmoid(target * input), reduction)


def _poisson_call(*args, **named):
    named = {"log_input": True, "full": False, "eps": 1e-08} | named
    names = "log_input", "full", "size_average", "eps", "reduce", "reduction"
    call = loss("poisson_nll_loss", *names, of=("input", "target"))
    return call(*args, **{k: v for k, v in named.items() if k not in names[: len(args) - 2]})


@overridable
@in_float32
@in_aten(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, "
    "int reduction) -> Tensor",
    call=_poisson_call,
)
def poisson_nll_loss(
    input,
    target,
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-08,
    reduce=None,
    reduction="mean",
):
    """The negative log-likelihood of Poisson counts; `full` adds Stirling's term."""
    reduction = reduction_of(reduction, size_average, reduce)
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * np.pi * target).log()
        losses = losses + where(target > 1, stirling, 0.0)
    return _reduce(losses, reduction)
