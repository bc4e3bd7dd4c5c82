"""Losses of log-probabilities and class numbers."""

from __future__ import annotations

from rushlight.dtypes import FLOAT, int64
from rushlight.errors import shape_text
from rushlight.kernels.indexing import indices as places
from rushlight.kernels.losses import cross_entropy as kernels
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.aten import in_aten, loss, loss_run
from rushlight.ops._table.op import op
from rushlight.ops._table.second_order import with_history
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.losses.pointwise_losses import _check_targets, _reduce, reduction_of
from rushlight.ops.neural.full_precision import in_float32
from rushlight.tensor.dispatch import STATE, readable
from rushlight.tensor.overriding import by_override
from rushlight.tensor.tensor import EXACT, Tensor

_ndarray = np.ndarray


def _samples(make):
    return [
        ((make(5, 4), make.integers(0, 4, (5,)), -100), {}),
        ((make(6, 3), make.integers(0, 3, (6,)), 1), {}),
    ]


@op(
    method=False,
    node="NllLoss",
    second_zero=("input",),
    linear=True,
    meta=lambda input, target, ignore_index: ((), dtype_of(input)),
    samples=_samples,
    batching="nll_mean",
    saves="ignore_index reduction: target weight:",
    saves_as={"reduction": 1, "weight": None},
)
def _nll_mean(input: Tensor, target: Tensor, ignore_index):
    """The mean of minus the log-probabilities (N, C) of target classes (N,)."""
    kept = target != ignore_index
    bad = target[kept & ((target < 0) | (target >= input.shape[1]))]
    if bad.size:
        raise IndexError(f"Target {bad[0]} is out of bounds.")
    picked = np.take_along_axis(input, np.where(kept, target, 0)[:, None], 1)[:, 0]
    wide = np.float64 if input.dtype == np.float64 else np.float32
    with np.errstate(invalid="ignore"):
        mean = -picked[kept].astype(wide).sum() / np.asarray(kept.sum(), wide)
    return np.asarray(mean, input.dtype)


_nll_mean.cpu(places.checked(kernels.prepare_nll, _nll_mean.op.body))


def _nll_gradient(grad, input_shape, target, ignore_index):
    from rushlight.ops.creation.tensors import zeros

    kept = target != ignore_index
    share = where(kept, -grad / kept.sum(), 0.0).to(grad.dtype)
    base = zeros(input_shape, dtype=grad._dtype, device=grad._device)
    return base.scatter(1, where(kept, target, 0).unsqueeze(1), share.unsqueeze(1))


_nll_mean.gradient(input=_nll_gradient)


@in_float32
@in_aten(
    "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
    "SymInt ignore_index=-100) -> Tensor",
    run=loss_run("nll_loss_nd", lambda: nll_loss),
    call=loss("nll_loss_nd", "weight", "size_average", "ignore_index", "reduce", "reduction"),
)
def nll_loss(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
):
    """Minus the log-probability (N, C, ...) of each target class (N, ...)."""
    if type(input) not in EXACT:
        found = by_override(nll_loss, locals())
        if found is not NotImplemented:
            return found
    if weight is None and size_average is reduce is None and reduction == "mean":
        shape = input._array.shape
        fits = len(shape) == 2 and target._array.shape == shape[:1] and not STATE.levels
        fits = fits and type(input._array) is _ndarray  # a GPU is not asked about bounds
        if fits and target._dtype is int64 and input._dtype.category == FLOAT:
            return _nll_mean(input, target, ignore_index)
    reduction = reduction_of(reduction, size_average, reduce)
    dim = 0 if input.dim() == 1 else 1
    expected = tuple(n for i, n in enumerate(input.shape) if i != dim)
    if tuple(target.shape) != expected:
        raise ValueError(
            f"nll_loss: Expected target of shape {shape_text(expected)} for input of shape "
            f"{shape_text(input.shape)}, got {shape_text(target.shape)}"
        )
    if weight is not None and tuple(weight.shape) != (input.shape[dim],):
        raise RuntimeError(
            f"nll_loss: weight tensor should be defined either for all {input.shape[dim]} classes "
            f"or no classes but got weight tensor of shape: {shape_text(weight.shape)}"
        )
    if weight is not None and weight._dtype is not input._dtype:
        raise RuntimeError(
            f"nll_loss: expected weight of dtype {input.dtype} like input, but found {weight.dtype}"
        )
    if readable(target):
        _check_targets(target.detach(), ignore_index, input.shape[dim])
    kept = target != ignore_index
    index = where(kept, target, 0)
    losses = -with_history(input).gather(dim, index.unsqueeze(dim)).squeeze(dim)
    scale = kept.to(input.dtype)
    if weight is not None:
        scale = scale * weight[index]
        losses = losses * weight[index]
    losses = where(kept, losses, 0.0)  # whatever is at the class that stands for none
    return losses.sum() / scale.sum() if reduction == "mean" else _reduce(losses, reduction)
