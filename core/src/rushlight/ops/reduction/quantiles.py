"""Order statistics over a dimension: quantiles, modes, both extremes."""

from __future__ import annotations

from rushlight.dtypes import COMPLEX, float32, float64, int64
from rushlight.errors import shape_text
from rushlight.kernels.scan_sort import ordering
from rushlight.machine import np
from rushlight.ops._table.op import composite, op, results_of
from rushlight.ops._table.shape_rules import chosen
from rushlight.ops.creation.tensors import tensor
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.elementwise.weighted_sums import lerp
from rushlight.ops.reduction.sorting import sort, sortable
from rushlight.ops.reduction.sums_and_extremes import amax, amin, selected_back
from rushlight.tensor.dispatch import readable
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import Tensor

_WAYS = ("linear", "lower", "higher", "midpoint", "nearest")


@composite(
    schemas=("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor, Tensor)",),
    exact_out=True,
    result="min max",
    samples=[(), {"dim": 1}, {"dim": 0, "keepdim": True}],
)
def aminmax(input: Tensor, *, dim=None, keepdim=False):
    """The smallest and largest elements over `dim` (all by default), as ``(min, max)``.

    >>> rushlight.aminmax(rushlight.tensor([3, 1, 2])).max
    tensor(3)
    """
    if input._dtype.category == COMPLEX:
        raise RuntimeError(f"aminmax is not implemented for complex tensors; got {input._dtype}")
    axes = () if dim is None else wrap_dim(dim, input.dim())
    if not input.numel() and (dim is None or not input.shape[axes]):
        raise (RuntimeError if dim is None else IndexError)(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            f"identity; input has shape {shape_text(input.shape)}"
        )
    return results_of(aminmax, amin(input, axes, keepdim), amax(input, axes, keepdim))


def _check_quantile(name, input, q, interpolation):
    if interpolation not in _WAYS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    if not input.numel():
        raise RuntimeError(
            f"{name}() input tensor must be non-empty; it has shape {shape_text(input.shape)}"
        )
    if input._dtype not in (float32, float64):
        raise RuntimeError(
            f"{name}() input tensor must be either float or double dtype; got {input._dtype}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        return tensor(q, dtype=input._dtype, device=input._device)
    if q.dim() > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor; got {q.dim()} dimensions")
    if q._dtype is not input._dtype:
        raise RuntimeError(
            f"{name}() q tensor must be same dtype as the input tensor: q is {q._dtype}, input is "
            f"{input._dtype}"
        )
    if readable(q) and not bool(((q >= 0) & (q <= 1)).all()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return q


def _quantile(name, input, q, dim, keepdim, interpolation, skip_nan):
    q = _check_quantile(name, input, q, interpolation)
    axis = 0 if dim is None else wrap_dim(dim, input.dim())
    if input.dim():
        rows = input.flatten().unsqueeze(0) if dim is None else input.movedim(axis, -1)
    else:
        rows = input.reshape(1, 1)
    ordered = sort(rows, -1)[0]
    rank = _ranks(ordered.detach(), q.reshape(-1), skip_nan)
    if interpolation in ("lower", "higher", "nearest"):
        rounding = {"lower": Tensor.floor, "higher": Tensor.ceil, "nearest": Tensor.round}
        found = ordered.gather(-1, rounding[interpolation](rank.detach()).to(int64))
    else:
        below, above = rank.detach().to(int64), rank.detach().ceil().to(int64)
        weight = (rank - below).to(rank._dtype) if interpolation == "linear" else 0.5
        found = lerp(ordered.gather(-1, below), ordered.gather(-1, above), weight)
    return _arranged(found, input, q, dim, axis, keepdim)


def _ranks(ordered, q, skip_nan):
    """Positions (with fractions) in each sorted row; a nan anywhere wins unless skipped."""
    last = ordered.shape[-1] - 1
    missing = ordered.isnan()
    if skip_nan:
        count = (~missing).sum(-1, True) - 1
        rank = q * count
        return where(rank < 0, 0.0, rank)
    return where(missing.any(-1, True), float(last), (q * last).expand(*ordered.shape[:-1], -1))


def _arranged(found, input, q, dim, axis, keepdim):
    """The results in the place PyTorch puts them: the quantiles first, then what is left."""
    kept = list(input.shape)
    if dim is None:
        kept = [1] * len(kept)
    elif kept:
        kept[axis] = 1
    if not keepdim:
        kept = [] if dim is None else [n for i, n in enumerate(kept) if i != axis]
    if not q.dim():
        return found.squeeze(-1).reshape(kept)
    return found.movedim(-1, 0).reshape([q.numel(), *kept])


@composite(
    schemas=(
        "quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
        "interpolation='linear') -> Tensor",
        "quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
        "interpolation='linear') -> Tensor",
    ),
    samples=[(0.3,), (0.6, 1), (0.2, 0, True, {"interpolation": "nearest"})],
    autocast="float32",
    aten="default scalar out scalar_out",
)
def quantile(input: Tensor, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The `q`-th quantiles (`q` in [0, 1], a number or a vector) of all elements or over `dim`.

    `interpolation` between two elements: linear, lower, higher, midpoint or nearest. With a vector
    `q` the quantiles are the first dimension of the result.

    >>> rushlight.quantile(rushlight.tensor([1.0, 2.0, 4.0]), 0.75)
    tensor(3.)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite(
    schemas=(
        "nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
        "interpolation='linear') -> Tensor",
        "nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, "
        "str interpolation='linear') -> Tensor",
    ),
    samples=[(0.3,), (0.6, 1), (0.2, 0, True, {"interpolation": "nearest"})],
    autocast="float32",
    aten="default scalar out scalar_out",
)
def nanquantile(input: Tensor, q, dim=None, keepdim=False, *, interpolation="linear"):
    """:func:`quantile` of the elements that are not nan; nan where there are none."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


def _samples(make):
    x = make(3, 5)
    return [((x, 1), {}), ((x, 0, True), {}), ((make(), 0), {}), ((make(2, 4, 3), -2), {})]


@op(
    schemas=("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)",),
    batching="dims",
    meta=chosen,
    result="values indices",
    samples=_samples,
    aten="default values",
    saves="dim indices:result1 keepdim self_sym_sizes",
)
def mode(input: Tensor, dim=-1, keepdim=False):
    """The most frequent value along `dim` (the smallest of several) and where it last was."""
    axis = wrap_dim(dim, input.ndim)
    if input.dtype.kind == "c":
        raise RuntimeError(f'"mode" not implemented for dtype {input.dtype}')
    if not input.ndim:
        return [input.copy(), np.zeros((), np.int64)]
    if not input.shape[axis]:
        raise IndexError(f"mode(): Expected reduction dim {axis} to have non-zero size.")
    moved = np.moveaxis(input, axis, -1)
    if type(input) is np.ndarray:
        found = ordering.modes(np.ascontiguousarray(moved))
        if found is not None:
            return [np.expand_dims(part, axis) for part in found] if keepdim else list(found)
    order = np.argsort(sortable(moved), axis=-1, kind="stable")
    ordered = np.take_along_axis(moved, order, -1)
    place = np.arange(moved.shape[-1])
    fresh = np.ones(moved.shape, bool)
    fresh[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    run = place - np.maximum.accumulate(np.where(fresh, place, 0), axis=-1)
    best = np.argmax(run, axis=-1, keepdims=True) if run.size else run[..., :1]
    found = [np.take_along_axis(a, best, -1) for a in (ordered, order)]
    found = [np.moveaxis(a, -1, axis) for a in found]
    return found if keepdim else [a.squeeze(axis) for a in found]


mode.gradient(input=selected_back)
