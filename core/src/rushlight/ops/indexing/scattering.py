"""Combining values at index tensors: scatter_reduce, index_reduce, masked_scatter, put."""

from __future__ import annotations

import math

from rushlight import dtypes
from rushlight.kernels.copying.assignment import by_rows
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.shape_rules import checked
from rushlight.ops.creation.tensors import zeros, zeros_like
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.indexing import index_calls as place_calls
from rushlight.ops.indexing.gathering import along, meta_like_input, scattered
from rushlight.ops.indexing.index_checks import (
    check_same_dtype,
    check_vector_index,
    extents_of,
    line,
    slices_of,
)
from rushlight.ops.indexing.index_forms import slices
from rushlight.ops.indexing.masking import broadcast, check_mask
from rushlight.ops.indexing.taking import flat_places, take
from rushlight.tensor.tensor import Tensor, make_tensor

_REDUCES = ("sum", "prod", "mean", "amax", "amin")
_COMBINE = {
    "sum": np.add,
    "mean": np.add,
    "prod": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
}


def _neutral(reduce, kind):
    """The value that changes nothing, for a dtype."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if kind.kind == "b":
        return reduce == "amin"
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return limits.min if reduce == "amax" else limits.max
    return -math.inf if reduce == "amax" else math.inf


def _check_reduce(name, array, reduce):
    if reduce not in _REDUCES:
        raise RuntimeError(
            f"{name}: reduce argument must be either sum, prod, mean, amax or amin, got {reduce!r}"
        )
    if array.dtype.kind == "c" and reduce in ("amax", "amin", "mean", "prod"):
        raise RuntimeError(f'"{name}" not implemented for dtype {dtype_of(array)}')


def _combine_at(out, places, values, reduce, include_self):
    """Combine `values` into `out` where an index says; the mean divides by how many met."""
    if not include_self:
        out[places] = _neutral(reduce, out.dtype)
    with np.errstate(all="ignore"):
        _COMBINE[reduce].at(out, places, values)
        if reduce != "mean":
            return
        count = np.full(out.shape, 1 if include_self else 0, np.int64)
        np.add.at(count, places, 1)
        count = np.maximum(count, 1)
        if out.dtype.kind in "iu":
            np.floor_divide(out, count.astype(out.dtype), out=out)
        else:
            out[...] = out / count.astype(out.dtype)


def _reduce_samples(make):
    i = make.integers(0, 3, (4, 2))
    return [
        ((make(3, 2), 0, i, make(4, 2), way), {"include_self": own})
        for way in _REDUCES
        for own in (True, False)
    ]


@op(
    schemas=(
        "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
        "bool include_self=True) -> Tensor",
    ),
    samples=_reduce_samples,
    inplace=True,
    domain="nonzero",
    meta=checked(extents_of("scatter_reduce"), meta_like_input),
    sweep=(2,),
    aten="two two_out",
    aten_inplace="two",
    batching="along",
)
def scatter_reduce(input: Tensor, dim, index: Tensor, src: Tensor, reduce, *, include_self=True):
    """A copy in which the elements of ``src`` are combined at ``index`` along `dim` by `reduce`:
    sum, prod, mean, amax or amin; `include_self` counts what was there.

    >>> x, i = rushlight.zeros(2), rushlight.tensor([0, 1, 0])
    >>> rushlight.scatter_reduce(x, 0, i, rushlight.tensor([1.0, 2.0, 3.0]), "amax")
    tensor([3., 2.])
    """
    _check_reduce("scatter_reduce", input, reduce)

    def write(out, dim, index, values):
        _combine_at(out, along(index, dim), values, reduce, include_self)

    return scattered("scatter_reduce", input, dim, index, src, write)


scatter_reduce.cpu(place_calls.reducing(scatter_reduce.op.body, _neutral))


@scatter_reduce.gradients("input", "src")
def _scatter_reduce_gradient(grad, input, src, index, out, dim, reduce, include_self, needs):
    if not index.numel():
        return (grad if needs[0] else None, zeros_like(src) if needs[1] else None)

    def add(base, values):
        return base.scatter_add(dim, index, values)

    def look(tensor):
        return tensor.gather(dim, index)

    part = src if src.shape == index.shape else src[tuple(slice(n) for n in index.shape)]
    one, many = _reduce_back(grad, input, part, out, reduce, include_self, add, look)
    if many is not None and part is not src:
        padded = zeros(tuple(src.shape), dtype=many._dtype, device=many._device)
        padded[tuple(slice(n) for n in index.shape)] = many
        many = padded
    return one, many


def _reduce_back(grad, input, src, out, reduce, include_self, add, look):
    """Gradients for what was there and for what came, by ``add(base, values)``, which adds values
    at the index, and ``look(tensor)``, which reads there."""
    touched = add(zeros_like(input.detach()), zeros_like(src.detach()) + 1)
    kept = (touched == 0) | include_self
    if reduce == "sum":
        one, many = grad, look(grad)
    elif reduce == "mean":
        count = touched + 1 if include_self else where(touched == 0, 1.0, touched)
        one, many = grad / count, look(grad / count)
    elif reduce == "prod":
        if grad._dtype.itemsize > 2:
            return _prod_back(grad, input, src, kept, add, look)
        wide = (grad.float(), input.float(), src.float())  # logarithms need the digits
        return tuple(part.to(grad._dtype) for part in _prod_back(*wide, kept, add, look))
    else:
        hit = (input == out) & kept
        here = src == look(out)
        count = hit.to(grad._dtype) + add(zeros_like(grad.detach()), here.to(grad._dtype))
        share = grad / where(count == 0, 1.0, count)
        return where(hit, share, 0.0), where(here, look(share), 0.0)
    return where(kept, one, 0.0), many


def _prod_back(grad, input, src, kept, add, look):
    """Products of all the other factors: by division where those are not zero; through the zero
    itself where there is one (its value is 0, its derivative is not); 0 where there are more."""
    own = where(kept, input, 1.0)
    zero_own = (own == 0).to(grad._dtype).detach()
    zero_src = (src == 0).to(grad._dtype).detach()
    met = add(zero_own, zero_src)
    zero = add(where(own == 0, own, 0.0), where(src == 0, src, 0.0))
    own_safe, src_safe = where(own == 0, 1.0, own), where(src == 0, 1.0, src)
    size = add(own_safe.abs().log(), src_safe.abs().log()).exp()
    negative = add((own_safe < 0).to(grad._dtype), (src_safe < 0).to(grad._dtype)).detach()
    product = grad * size * (1 - 2 * (negative % 2))

    def others(count, whole, through, factor):
        value = whole / factor
        return where(count == 0, value, where(count == 1, value * through, 0.0))

    one = others(met - zero_own, product, zero - where(own == 0, own, 0.0), own_safe)
    through = look(zero) - where(src == 0, src, 0.0)
    many = others(look(met) - zero_src, look(product), through, src_safe)
    return where(kept, one, 0.0), many


def _index_reduce_samples(make):
    i = make.integers(0, 3, (4,))
    return [
        ((make(3, 2), 0, i, make(4, 2), way), {"include_self": own})
        for way in _REDUCES[1:]
        for own in (True, False)
    ]


@op(
    schemas=(
        "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
        "bool include_self=True) -> Tensor",
    ),
    samples=_index_reduce_samples,
    inplace=True,
    domain="nonzero",
    meta=checked(slices_of("index_reduce"), meta_like_input),
    sweep=(2,),
    batching="index_writes",
)
def index_reduce(input: Tensor, dim, index: Tensor, source: Tensor, reduce, *, include_self=True):
    """A copy in which the slices of `source` are combined at `index` along `dim` by `reduce`: prod,
    mean, amax or amin; `include_self` counts what was there."""
    _check_reduce("index_reduce", input, reduce)
    if reduce == "sum":
        raise RuntimeError(
            "index_reduce(): reduce argument must be either prod, mean, amax or amin, got sum; use "
            "index_add"
        )
    dim, index = check_vector_index("index_reduce", input, dim, index, source)
    out = input.copy()
    source = line(source) if not input.ndim else source
    _combine_at(line(out), slices(dim, index), source, reduce, include_self)
    return out


@index_reduce.gradients("input", "source")
def _index_reduce_gradient(grad, input, source, index, out, dim, reduce, include_self, needs):
    def add(base, values):
        return base.index_add(dim, index, values.reshape(source.shape))

    def look(tensor):
        return tensor.index_select(dim, index).reshape(source.shape)

    return _reduce_back(grad, input, source, out, reduce, include_self, add, look)


# --------------------------------------------------------------------------- masks and positions
def _masked_scatter_samples(make):
    return [
        ((make(3, 4), make.mask(3, 4), make(12)), {}),
        ((make(3, 4), make.mask(4), make(3, 5)), {}),
        ((make(4), make.mask(2, 4), make(9)), {}),
    ]


def _meta_masked_scatter(input, mask, source):
    return np.broadcast_shapes(input.shape, mask.shape), dtype_of(input)


@op(
    linear="+input,source",
    samples=_masked_scatter_samples,
    inplace=True,
    meta=_meta_masked_scatter,
    batching="masked_scatter",
)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor):
    """A copy with the elements of `source`, one after the other, where `mask` is true.

    >>> mask = rushlight.tensor([True, False, True])
    >>> rushlight.zeros(3).masked_scatter(mask, rushlight.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    check_mask("masked_scatter", mask)
    check_same_dtype("masked_scatter", input, source, "source")
    out, mask = broadcast("masked_scatter", input, mask)
    out, count = out.copy(), int(mask.sum())
    if count > source.size:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same sizes: the mask has {count} "
            f"true elements, source has only {source.size}"
        )
    out[mask] = source.reshape(-1)[:count]
    return out


def _masked_scatter_source(grad, mask, source_shape):
    count = math.prod(source_shape)
    flat = zeros((count,), dtype=grad._dtype, device=grad._device)
    if not count:
        return flat.reshape(source_shape)
    mask = mask.expand(tuple(grad.shape)).reshape(-1)
    places = (mask.long().cumsum(0) - 1).clamp(0, count - 1)
    return flat.index_add(0, places, grad.reshape(-1) * mask).reshape(source_shape)


masked_scatter.gradient(
    input=lambda grad, mask: grad.masked_fill(mask, 0), source=_masked_scatter_source
)


def _put_samples(make):
    i = make.integers(-12, 0, (5,), unique_dim=0)
    return [
        ((make(3, 4), i, make(5)), {}),
        ((make(3, 4), i, make(5), True), {}),
        ((make(), make.integers(0, 1, (1,)), make(1)), {}),
    ]


def _check_put(input, index, source, accumulate=False):
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )


@op(
    samples=_put_samples,
    inplace=True,
    meta=checked(_check_put, meta_like_input),
    batching="put",
    saves="accumulate index",
)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate=False):
    """A copy with `source` written (or added) at positions of the flattened input."""
    check_same_dtype("put", input, source, "source")
    _check_put(input, index, source)
    places = flat_places("put_", index, input.size).reshape(-1)
    out = input.copy().reshape(-1)
    if accumulate:
        np.add.at(out, places, source.reshape(-1))
    else:
        out[places] = source.reshape(-1)
    return out.reshape(input.shape)


put.cpu(place_calls.writing_flat(put.op.body))
put.gradient(
    input=lambda grad, index, accumulate, source_shape: (
        grad
        if accumulate
        else put(grad, index, zeros(source_shape, dtype=grad._dtype, device=grad._device))
    ),
    source=lambda grad, index, source_shape: take(grad, index).reshape(source_shape),
)


@composite(
    samples=lambda make: [
        (make.mask(3, 4), {"size": 5}),
        (make(3, 4), {"size": 3, "fill_value": 7}),
    ],
    differentiable=False,
)
def nonzero_static(input: Tensor, *, size, fill_value=-1):
    """:func:`rushlight.nonzero` cut or filled with `fill_value` to `size` rows."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    if input.is_meta:
        return input.new_empty((size, input.dim()), dtype=dtypes.int64)
    found = input.nonzero()._array
    out = np.full_like(by_rows(found), fill_value, shape=(size, found.shape[1]))
    count = min(size, len(found))
    out[:count] = found[:count]
    return make_tensor(out, dtypes.int64)


@composite(
    in_aten=False,
    method=False,
    samples=lambda make: [(make.integers(0, 12, (3,)), (3, 4))],
    differentiable=False,
)
def unravel_index(indices: Tensor, shape):
    """Positions in a flattened tensor of a shape as a tuple of coordinates.

    >>> rushlight.unravel_index(rushlight.tensor([4]), (2, 3))
    (tensor([1]), tensor([1]))
    """
    if not isinstance(indices, Tensor) or indices._dtype.category >= 2:
        raise ValueError("expected 'indices' to be an integer tensor")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(not isinstance(n, int) or n < 0 for n in shape):
        raise ValueError(
            f"'shape' cannot have negative values, and must hold ints; got {list(shape)}"
        )
    found, rest = [], indices
    for n in reversed(shape):
        found.append(rest % n)
        rest = rest.div(n, rounding_mode="floor")
    if not found:
        return ()
    from rushlight.ops.shape.joining import stack

    return stack(found[::-1], -1).unbind(-1)  # columns of one table
