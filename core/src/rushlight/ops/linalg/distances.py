"""Distances between all pairs of vectors, and norms kept below a bound."""

from __future__ import annotations

import math

from rushlight.dtypes import FLOAT
from rushlight.errors import shape_text
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.gemm import distances
from rushlight.kernels.gemm import products as kernels
from rushlight.kernels.launch.prepared import by_layout
from rushlight.kernels.reduction import folds
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._calls.direct import on_arrays, tensor_of, unrecorded
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.second_order import with_history
from rushlight.ops.creation.tensors import zeros_like
from rushlight.ops.elementwise.arithmetic import sgn
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.linalg.matrix_norm import linalg_vector_norm
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import Tensor, add_methods

_ELEMENTS = 1 << 22  # of the differences that are formed at once
_SMALL = 25  # vectors on both sides up to which the Euclidean distance is formed directly
_SHORT = 32  # elements of vectors up to which a matrix product is no quicker
_MODES = {
    None: 0,
    0: 0,
    1: 1,
    2: 2,
    "use_mm_for_euclid_dist_if_necessary": 0,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


def _cdist_samples(make):
    return [
        ((make(4, 3), make(5, 3), 2.0, 2), {}),
        ((make(2, 4, 3), make(2, 5, 3), 1.0, 0), {}),
        ((make(3, 2), make(2, 4, 2), 3.0, 0), {}),
        ((make(3, 2), make(4, 2), math.inf, 0), {}),
        ((make(3, 2), make(4, 2), 1.5, 0), {}),
    ]


def _cdist_meta(x1, x2, p, mode):
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return (*batch, x1.shape[-2], x2.shape[-2]), dtype_of(x1)


@op(
    batching="trailing of several",
    method=False,
    samples=_cdist_samples,
    meta=_cdist_meta,
    autocast="float32",
)
def _cdist(x1: Tensor, x2: Tensor, p, mode):
    """The norm of order p of all differences of rows, ``(*, P, M)`` and ``(*, R, M)``."""
    return _distances(x1, x2, p, mode)


def _distances(x1, x2, p, mode):
    shape, _ = _cdist_meta(x1, x2, p, mode)
    by_product = mode == 1 or (mode == 0 and (x1.shape[-2] > _SMALL or x2.shape[-2] > _SMALL))
    if x1.size and x2.size and (p != 2 or not by_product or x1.shape[-1] <= _SHORT):
        found = distances.between(x1, x2, p)
        if found is not None:
            return found
    out = np.zeros(shape, x1.dtype)
    if not out.size or not x1.shape[-1]:
        return out
    with np.errstate(all="ignore"):
        if p == 2 and by_product:
            return _euclidean(x1, x2)
        _fill_distances(out, x1, x2, p)
    return out


def _fill_distances(out, x1, x2, p):
    """By blocks of differences."""
    rows = out.shape[-2]
    step = max(1, _ELEMENTS // max(1, out.size // rows * x1.shape[-1]))
    for start in range(0, rows, step):
        part = x1[..., start : start + step, None, :] - x2[..., None, :, :]
        out[..., start : start + step, :] = _norm_of(np.abs(part), p)


def _euclidean(x1, x2):
    """By ``|a|^2 + |b|^2 - 2 a.b``: one matrix product."""
    product = kernels.matmul(x1, np.swapaxes(x2, -1, -2))
    own, others = (
        np.broadcast_to(np.square(x).sum(-1), (*product.shape[:-2], x.shape[-2])) for x in (x1, x2)
    )
    found = distances.from_products(product, own, others)
    if found is not None:
        return found
    squares = own[..., :, None] + others[..., None, :]
    return np.sqrt(np.maximum(squares - 2 * product, 0))


def _norm_of(sizes, p):
    if p == 0:
        return np.where(np.isnan(sizes), sizes, sizes != 0).sum(-1)
    if p == 1:
        return sizes.sum(-1)
    if p == 2:
        return np.sqrt(np.square(sizes).sum(-1))
    if p == math.inf:
        return sizes.max(-1)
    return np.power(np.power(sizes, p).sum(-1), 1 / p)


@_cdist.gradients("x1", "x2")
def _cdist_gradient(grad, x1, x2, out, p, needs):
    """Weighted sums of differences; equal rows pull in no direction."""
    first = second = None
    if p == 0:
        return x1 * 0, x2 * 0
    if p == 2:
        weight = where(out == 0, 0.0, grad / where(out == 0, 1.0, out))
        if needs[0]:
            first = x1 * weight.sum(-1, True) - weight @ x2
        if needs[1]:
            second = x2 * weight.sum(-2).unsqueeze(-1) - weight.mT @ x1
        return _fitted(first, x1), _fitted(second, x2)
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    distance, pull = out.unsqueeze(-1), grad.unsqueeze(-1)
    size = difference.abs()
    if p == math.inf:
        towards = where(size == distance, sgn(difference) * pull, 0.0)
    elif p == 1:
        towards = sgn(difference) * pull
    else:
        safe = where(size == 0, 1.0, size)
        ratio = safe / where(distance == 0, 1.0, distance)
        towards = where(size == 0, 0.0, sgn(difference) * ratio.pow(p - 1) * pull)
    return _fitted(towards.sum(-2), x1), _fitted(-towards.sum(-3), x2)


def _fitted(grad, like):
    if grad is None or grad.shape == like.shape:
        return grad
    return grad.sum_to_size(tuple(like.shape))


def _check_rows(name, letter, value):
    if value._dtype.category != FLOAT:
        raise RuntimeError(
            f"{name} only supports floating-point dtypes, {letter} got: {value._dtype}"
        )
    if value.dim() < 2:
        raise RuntimeError(
            f"{name} only supports at least 2D tensors, {letter} got: {value.dim()}D"
        )


@composite(
    aten_call=lambda x1, x2, p=2.0, compute_mode=None: (
        "cdist",
        {"x1": x1, "x2": x2, "p": p, "compute_mode": _MODES[compute_mode] or None},
    ),
    method=False,
    samples=lambda make: [(make(3, 2), make(4, 2)), (make(2, 3, 2), make(1, 2, 2), 1.0)],
    autocast="float32",
)
def cdist(
    x1: Tensor,
    x2: Tensor,
    p=2.0,
    compute_mode="use_mm_for_euclid_dist_if_necessary",
):
    """Distances of order `p` between the rows of ``(*, P, M)`` and ``(*, R, M)``: ``(*, P, R)``.
    `compute_mode` says whether the Euclidean distance may go by a matrix product (by default it
    does when there are more than 25 rows on a side)."""
    for letter, value in (("X1", x1), ("X2", x2)):
        _check_rows("cdist", letter, value)
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError(f"cdist only supports non-negative p values, got {p}")
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if x1._dtype is not x2._dtype:
        from rushlight.dtypes import promote_types

        common = promote_types(x1._dtype, x2._dtype)
        x1, x2 = x1.to(common), x2.to(common)
    return _cdist(x1, x2, float(p), _MODES[compute_mode])


def _pairs_meta(input):
    count = input.shape[-2]
    return (*input.shape[:-2], count * (count - 1) // 2), dtype_of(input)


@op(
    batching="trailing",
    method=False,
    meta=_pairs_meta,
    samples=lambda make: [((make(5, 3),), {}), ((make(2, 4, 2),), {})],
    autocast="float32",
)
def _pdist(input: Tensor):
    """The Euclidean distances of all pairs of the rows of ``(*, N, M)``, packed."""
    rows, columns = np.triu_indices(input.shape[-2], 1)
    return by_rows(_distances(input, input, 2.0, 2)[..., rows, columns])


def _pdist_gradient(grad, input, out):
    """Weighted sums of differences; equal rows pull in no direction."""
    if on_arrays(grad, input, out):
        found = distances.pairs_gradient(grad._array, input._array, out._array)
        if found is not None:
            return tensor_of(found)
    rows, columns = _pairs_of(input.shape[-2], input._device)
    apart = input.index_select(-2, rows) - input.index_select(-2, columns)
    factor = where(out == 0, 0.0, grad / where(out == 0, 1.0, out))
    pull = factor.unsqueeze(-1) * apart
    nothing = zeros_like(input)
    return nothing.index_add(-2, rows, pull).index_add(-2, columns, -pull)


_pdist.cpu(by_layout(distances.prepare_pairs, _pdist.op.body))
_pdist.gradient(input=_pdist_gradient)


def _pairs_of(count, device):
    """The positions of all pairs of `count` rows."""
    from rushlight.ops.creation.tensors import tensor

    return [tensor(i.astype(np.int64), device=device) for i in np.triu_indices(count, 1)]


@composite(
    method=False, samples=lambda make: [(make(4, 3),), (make(4, 2), 1.5)], autocast_on_gpu="float32"
)
def pdist(input: Tensor, p=2.0):
    """The distances of order `p` between all pairs of rows of ``(N, M)``, ``N * (N - 1) / 2`` of
    them, in the order (0, 1), (0, 2), ..., (1, 2), ..."""
    if input.dim() != 2:
        raise RuntimeError(
            f"pdist only supports 2D tensors, got: {input.dim()}D of shape "
            f"{shape_text(input.shape)}"
        )
    _check_rows("pdist", "input", input)
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if input.shape[0] < 2:
        return with_history(input).reshape(-1).narrow(0, 0, 0)  # no pairs, and a gradient of zero
    if p == 2:
        return _pdist(input)
    rows, columns = _pairs_of(input.shape[0], input._device)
    return _cdist(input, input, float(p), 2)[rows, columns]


def _scaled_slices(array, p, dim, maxnorm):
    """The way of arrays that no kernel takes."""
    return NotImplemented


_renormed = by_layout(folds.renormed, _scaled_slices)


@composite(
    inplace=False,
    limited="unsigned",
    samples=[(2, 0, 1.0), (1, -1, 2.5)],
    autocast_on_gpu="float32",
    barred="complex",
)
def renorm(input: Tensor, p, dim, maxnorm):
    """Slices along `dim` scaled down to a norm of order `p` of at most `maxnorm`."""
    if isinstance(p, complex) or not p > 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported; p is {p}")
    if isinstance(maxnorm, complex) or not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.dim() < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.dim()} dimensions"
        )
    dim = wrap_dim(dim, input.dim())
    if unrecorded(input):
        found = _renormed(input._array, float(p), dim, float(maxnorm))
        if found is not NotImplemented:
            return tensor_of(found)
    rest = tuple(i for i in range(input.dim()) if i != dim)
    norms = linalg_vector_norm(input, p, rest, True)
    wide = norms.float() if norms._dtype.itemsize == 2 else norms
    factor = where(wide > maxnorm, maxnorm / (wide + 1e-7), 1.0)
    return input.contiguous() * factor.to(norms._dtype)


def _renorm_inplace(self, p, dim, maxnorm):
    """In-place version of :func:`rushlight.renorm`."""
    return self.copy_(renorm(self, p, dim, maxnorm))


add_methods(renorm_=_renorm_inplace)
