"""Reductions and normalizations that see only the elements where a mask is true.

Every function takes ``mask=``, a bool tensor that broadcasts to the input; without one all elements
count, or those that the mask of a MaskedTensor counts. What is masked out is replaced by the value
that changes nothing, so a slice without any element gives that value (nan for means, medians and
variances).

>>> rushlight.masked.sum(rushlight.tensor([1, 2, 3]), mask=rushlight.tensor([True, False, True]))
tensor(4)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from rushlight import dtypes
from rushlight.dtypes import BOOL, COMPLEX, FLOAT, int64
from rushlight.errors import argument_error, shape_text
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.elementwise.exponential import logaddexp as _logaddexp
from rushlight.ops.neural.softmax import log_softmax as _log_softmax
from rushlight.ops.neural.softmax import logsumexp as _logsumexp
from rushlight.ops.neural.softmax import softmax as _softmax
from rushlight.ops.reduction import sums_and_extremes as reduction
from rushlight.ops.reduction.sorting import nanmedian
from rushlight.tensor.tensor import Tensor

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]


# ------------------------------------------------------------------------------------------ masking
def _takes_masked(function):
    """Let a function take a MaskedTensor, too: its data, and of its elements those that count."""

    @functools.wraps(function)
    def call(input, *args, mask=None, **options):
        own = getattr(input, "_masked_mask", None) if isinstance(input, Tensor) else None
        if own is not None:
            input = input.get_data()
            mask = own if mask is None else own & _full_mask(input, mask)
        return function(input, *args, mask=mask, **options)

    return call


def _full_mask(input, mask):
    """The mask in the input's shape, or None."""
    if mask is None:
        return None
    if not isinstance(mask, Tensor):
        raise argument_error("masked", "mask", "Tensor", mask)
    if mask.dim() > input.dim():
        raise IndexError(
            "expected broadcastable mask (got mask dimensionality higher than of the input): mask "
            f"has shape {shape_text(mask.shape)}, input {shape_text(input.shape)}"
        )
    try:
        if mask.shape != input.shape:
            mask = mask.clone().expand(tuple(input.shape))  # whose memory is nobody else's
    except RuntimeError:
        raise RuntimeError(
            f"expected broadcastable mask: mask has shape {shape_text(mask.shape)}, input "
            f"{shape_text(input.shape)}"
        ) from None
    return mask if mask._dtype.category == BOOL else mask != 0


def _masked(input, mask, value, dtype=None):
    """The input in `dtype`, with `value` where the mask is false."""
    if dtype is not None and dtype is not input._dtype:
        input = input.to(dtype=dtype)
    return input if mask is None else where(_full_mask(input, mask), input, value)


def _extreme(dtype, largest):
    """The largest (or smallest) value of a dtype."""
    if dtype.category == FLOAT:
        return math.inf if largest else -math.inf
    if dtype.category == BOOL:
        return largest
    limits = dtypes.iinfo(dtype)
    return limits.max if largest else limits.min


def _whole_sum(input, dtype):
    """Sums and products of integers are int64."""
    return int64 if dtype is None and input._dtype.category < FLOAT else dtype


def _floating(name, input, dtype):
    found = input._dtype if dtype is None else dtype
    if found.category < FLOAT:
        raise TypeError(
            f"{name}: the input dtype must be floating point or complex (give dtype=), got {found}"
        )
    return found


def _dims(dim):
    return None if dim is None or dim == () else dim


# --------------------------------------------------------------------------------------- reductions
@_takes_masked
def sum(
    input, dim: int | Sequence[int] | None = None, *, keepdim=False, dtype=None, mask=None
) -> Tensor:
    """The sum over `dim` of what is not masked out; 0 of nothing."""
    return _masked(input, mask, 0, _whole_sum(input, dtype)).sum(_dims(dim), keepdim)


@_takes_masked
def prod(
    input, dim: int | Sequence[int] | None = None, *, keepdim=False, dtype=None, mask=None
) -> Tensor:
    """The product over `dim` of what is not masked out; 1 of nothing."""
    kept = _masked(input, mask, 1, _whole_sum(input, dtype))
    if dim is None or dim == ():
        dim = tuple(range(input.dim()))
    if isinstance(dim, int):
        return kept.prod(dim, keepdim)
    for d in sorted((d % max(input.dim(), 1) for d in dim), reverse=True):
        kept = kept.prod(d, keepdim)
    return kept


@_takes_masked
def amax(
    input, dim: int | Sequence[int] | None = None, *, keepdim=False, dtype=None, mask=None
) -> Tensor:
    """The largest element over `dim` of what is not masked out."""
    found = input._dtype if dtype is None else dtype
    kept = _masked(input, mask, _extreme(found, False), dtype)
    return kept.amax(() if dim is None else dim, keepdim)


@_takes_masked
def amin(
    input, dim: int | Sequence[int] | None = None, *, keepdim=False, dtype=None, mask=None
) -> Tensor:
    """The smallest element over `dim` of what is not masked out."""
    found = input._dtype if dtype is None else dtype
    kept = _masked(input, mask, _extreme(found, True), dtype)
    return kept.amin(() if dim is None else dim, keepdim)


@_takes_masked
def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Where the largest element is, of what is not masked out; in the input's dtype."""
    found = input._dtype if dtype is None else dtype
    return _masked(input, mask, _extreme(found, False), dtype).argmax(dim, keepdim).to(found)


@_takes_masked
def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Where the smallest element is, of what is not masked out; in the input's dtype."""
    found = input._dtype if dtype is None else dtype
    return _masked(input, mask, _extreme(found, True), dtype).argmin(dim, keepdim).to(found)


def _count(input, dim, mask):
    """How many elements take part in each reduction."""
    ones = input.new_ones(tuple(input.shape), dtype=int64)
    return _masked(ones, mask, 0).sum(_dims(dim), True)


@_takes_masked
def mean(
    input, dim: int | Sequence[int] | None = None, *, keepdim=False, dtype=None, mask=None
) -> Tensor:
    """The mean over `dim` of what is not masked out; nan of nothing."""
    dtype = _floating(mean.__name__, input, dtype)
    if mask is None:
        return input.mean(_dims(dim), keepdim, dtype=dtype)
    total = _masked(input, mask, 0, dtype).sum(_dims(dim), True)
    return _dropped(total / _count(input, dim, mask), dim, keepdim)


def _dropped(value, dim, keepdim):
    """Without the reduced dimensions, unless they are to be kept."""
    if keepdim or not value.dim():
        return value
    dim = _dims(dim)
    return value.squeeze(tuple(range(value.dim())) if dim is None else dim)


@_takes_masked
def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The lower median along `dim` of what is not masked out; nan of nothing."""
    found = input._dtype if dtype is None else dtype
    if found.category != FLOAT:
        if mask is None:
            return nanmedian(input if dtype is None else input.to(dtype=dtype), dim, keepdim)[0]
        raise ValueError(f"masked median expects a floating-point dtype; got {found}")
    return nanmedian(_masked(input, mask, math.nan, dtype), dim, keepdim)[0]


@_takes_masked
def logsumexp(
    input, dim: int | Sequence[int] | None = None, *, keepdim=False, dtype=None, mask=None
) -> Tensor:
    """``log(sum(exp(input)))`` over `dim` of what is not masked out."""
    dims = tuple(range(input.dim())) if _dims(dim) is None else dim
    kept = _masked(input, mask, _lowest(input, dtype), dtype)
    return _logsumexp(kept, dims, keepdim).to(kept._dtype)


def _lowest(input, dtype):
    found = input._dtype if dtype is None else dtype
    return _extreme(found, False) if found.category < COMPLEX else -math.inf


def _as_float(input, dtype):
    if dtype is not None or input._dtype.category >= FLOAT:
        return dtype
    return dtypes.default.float


@_takes_masked
def norm(
    input, ord=2.0, dim: int | Sequence[int] | None = None, *, keepdim=False, dtype=None, mask=None
) -> Tensor:
    """The vector norm of order `ord` over `dim` of what is not masked out."""
    dtype = _floating(norm.__name__, input, dtype)
    nothing = math.inf if ord == -math.inf else 0
    kept = _masked(input, mask, nothing, dtype)
    return reduction.norm(kept, ord, _dims(dim), keepdim)


@_takes_masked
def var(
    input,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    *,
    correction=None,
    keepdim=False,
    dtype=None,
    mask=None,
) -> Tensor:
    """The variance over `dim` of what is not masked out; the divisor is the count minus
    `correction` (default 1)."""
    if unbiased is not None and correction is not None:
        raise ValueError("var: give either unbiased or correction, not both")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    dtype = _as_float(input, dtype)
    count = _count(input, dim, mask)
    kept = _masked(input, mask, 0, dtype)
    centre = kept.sum(_dims(dim), True) / count
    apart = _masked(kept - centre, mask, 0)
    squares = (apart * apart.conj()).real if kept._dtype.category == COMPLEX else apart * apart
    total = squares.sum(_dims(dim), True)
    divisor = count.to(total._dtype) - correction
    divisor = where(divisor < 0, 0.0, divisor)
    return _dropped(total / divisor, dim, keepdim).to(kept._dtype)


@_takes_masked
def std(
    input,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    *,
    correction=None,
    keepdim=False,
    dtype=None,
    mask=None,
) -> Tensor:
    """The standard deviation over `dim` of what is not masked out; see :func:`var`."""
    options = {"correction": correction, "keepdim": keepdim, "dtype": dtype, "mask": mask}
    return var(input, dim, unbiased, **options).sqrt()


# ---------------------------------------------------------------------------- scans, normalizations
@_takes_masked
def cumsum(input, dim, *, dtype=None, mask=None) -> Tensor:
    """The running sum along `dim` of what is not masked out."""
    dtype = input._dtype if dtype is None else dtype
    return _masked(input, mask, 0, dtype).cumsum(dim, dtype=dtype)


@_takes_masked
def cumprod(input, dim, *, dtype=None, mask=None) -> Tensor:
    """The running product along `dim` of what is not masked out."""
    dtype = input._dtype if dtype is None else dtype
    return _masked(input, mask, 1, dtype).cumprod(dim, dtype=dtype)


@_takes_masked
def softmax(input, dim, *, dtype=None, mask=None) -> Tensor:
    """The softmax along `dim` of what is not masked out; 0 elsewhere."""
    return _softmax(_masked(input, mask, -math.inf, _as_float(input, dtype)), dim)


@_takes_masked
def log_softmax(input, dim, *, dtype=None, mask=None) -> Tensor:
    """The logarithm of :func:`softmax`."""
    return _log_softmax(_masked(input, mask, -math.inf, _as_float(input, dtype)), dim)


@_takes_masked
def softmin(input, dim, *, dtype=None, mask=None) -> Tensor:
    """The softmax of ``-input`` along `dim` of what is not masked out."""
    return _softmax(-_masked(input, mask, math.inf, _as_float(input, dtype)), dim)


@_takes_masked
def normalize(input, ord: float, dim, *, eps=1e-12, dtype=None, mask=None) -> Tensor:
    """`input` divided by its norm of order `ord` over `dim`, what is masked out set to 0."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _masked(input, mask, 0, dtype) / length.clamp(min=eps)


def logaddexp(
    input, other, *, dtype=None, input_mask: Tensor | None = None, other_mask: Tensor | None = None
) -> Tensor:
    """``log(exp(input) + exp(other))`` where what is masked out counts as minus infinity."""
    dtype = input._dtype if dtype is None else dtype
    return _logaddexp(
        _masked(input, input_mask, -math.inf, dtype), _masked(other, other_mask, -math.inf, dtype)
    )
