"""Reading and writing at positions that tensors name."""

from __future__ import annotations

import math

import rushlight
from rushlight.onnx._registry import aten
from rushlight.onnx._translations.elementwise import floor_divided


@aten("index_select")
def index_select(g, self, dim, index):
    if self.rank == 0:
        return self
    return g.op("Gather", self, flat(g, index), axis=dim % self.rank)


def flat(g, index):
    """Indices as a list."""
    return index if index.rank == 1 else g.reshape(index, [-1])


@aten("gather")
def gather(g, self, dim, index):
    if self.rank == 0:
        return g.op("Expand", self, g.shape_of(index))
    return g.op("GatherElements", _wide(g, self), _wide(g, index), axis=dim % self.rank)


def _wide(g, x):
    """A value with a dimension at least."""
    return x if x.rank else g.reshape(x, [1])


@aten("take_along_dim")
def take_along_dim(g, self, indices, dim=None):
    if dim is None:
        return g.op("GatherElements", g.reshape(self, [-1]), g.reshape(indices, [-1]), axis=0)
    dim %= self.rank
    wide = [
        1 if n == dim else max(a, b)
        for n, (a, b) in enumerate(zip(self.shape, indices.shape, strict=True))
    ]
    data = g.op("Expand", self, g.integers(wide))
    places = g.op("Expand", indices, g.integers([1 if n == dim else s for n, s in enumerate(wide)]))
    return g.op("GatherElements", data, places, axis=dim)


@aten("take")
def take(g, self, index):
    return g.op("Gather", g.reshape(self, [-1]), index, axis=0)


@aten("embedding")
def embedding(g, weight, indices):
    return g.op("Gather", weight, indices, axis=0)


@aten("index.Tensor")
def index(g, self, indices):
    """Advanced indexing: the chosen dimensions come to the front, are gathered, and return."""
    if any(i is not None and i.dtype in (rushlight.bool, rushlight.uint8) for i in indices):
        return _by_mask(g, self, indices)
    chosen = [d for d, i in enumerate(indices) if i is not None]
    if len(chosen) == 1:
        dim = chosen[0]
        return g.op("Gather", self, indices[dim], axis=dim)
    places, rank = _together(g, [indices[d] for d in chosen])
    rest = [d for d in range(self.rank) if d not in chosen]
    found = g.op("GatherND", g.transpose(self, chosen + rest), places)
    if chosen[-1] - chosen[0] != len(chosen) - 1:
        return found  # indices that do not stand side by side stay in front
    before = chosen[0]
    total = rank + len(rest)
    order = [*range(rank, rank + before), *range(rank), *range(rank + before, total)]
    return g.transpose(found, order)


def _together(g, indices):
    """Indices broadcast and joined, (..., how many); with their rank."""
    rank = max(i.rank for i in indices)
    wide = indices
    if len({i.shape for i in indices}) > 1:
        shape = rushlight.broadcast_shapes(*(i.shape for i in indices))
        wide = [g.op("Expand", i, g.integers(shape)) for i in indices]
    wide = [g.unsqueeze(g.cast(i, rushlight.int64), rank) for i in wide]
    return g.op("Concat", *wide, axis=rank), rank


def _by_mask(g, x, indices):
    if len([i for i in indices if i is not None]) != 1:
        raise NotImplementedError("a mask beside other indices")
    dim = next(d for d, i in enumerate(indices) if i is not None)
    if dim:
        raise NotImplementedError("a mask behind other dimensions")
    places = g.transpose(
        g.op("NonZero", indices[dim], dtype=rushlight.int64, shape=(indices[dim].rank, None)),
        [1, 0],
    )
    return g.op("GatherND", x, places)


@aten("index_put", "_unsafe_index_put")
def index_put(g, self, indices, values, accumulate=False):
    values = g.cast(values, g.dtype)
    if len(indices) == 1 and indices[0] is not None and indices[0].dtype is rushlight.bool:
        return _put_by_mask(g, self, indices[0], values, accumulate)
    if any(i is None for i in indices):
        return _put_behind(g, self, indices, values, accumulate)
    places, rank = _together(g, indices)
    shape = [*_broadcast(indices), *self.shape[len(indices) :]]
    values = g.op("Expand", values, g.integers(shape))
    return _scatter_nd(g, self, places, values, accumulate)


def _broadcast(indices):
    return rushlight.broadcast_shapes(*(i.shape for i in indices))


def _put_by_mask(g, x, mask, values, accumulate):
    if values.rank == 0 or values.shape == (1,):
        rank = x.rank - mask.rank
        wide = g.reshape(mask, [*mask.shape, *[1] * rank]) if rank else mask
        new = g.op("Add", x, values) if accumulate else values
        return g.op("Where", wide, new, x, dtype=x.dtype)
    places = g.transpose(
        g.op("NonZero", mask, dtype=rushlight.int64, shape=(mask.rank, None)), [1, 0]
    )
    return _scatter_nd(g, x, places, values, accumulate)


def _put_behind(g, x, indices, values, accumulate):
    """Indices behind dimensions that stay: those go to the back and return."""
    chosen = [d for d, i in enumerate(indices) if i is not None]
    if chosen[-1] - chosen[0] != len(chosen) - 1:
        raise NotImplementedError("index_put at indices that do not stand side by side")
    rest = [d for d in range(x.rank) if d not in chosen]
    order = chosen + rest
    moved = [indices[d] for d in chosen]
    rank = len(_broadcast(moved))
    before = chosen[0]
    shape = [*x.shape[:before], *_broadcast(moved), *x.shape[before + len(chosen) :]]
    values = g.op("Expand", values, g.integers(shape))
    there = [*range(before, before + rank), *range(before), *range(before + rank, len(shape))]
    values = g.transpose(values, there)
    places, _ = _together(g, moved)
    found = _scatter_nd(g, g.transpose(x, order), places, values, accumulate)
    return g.transpose(found, [order.index(d) for d in range(x.rank)])


def _scatter_nd(g, x, places, values, accumulate):
    if accumulate:
        _reduction_needs(g)
    return g.op("ScatterND", x, places, values, **({"reduction": "add"} if accumulate else {}))


def _reduction_needs(g, opset=16):
    if g.opset < opset:
        raise NotImplementedError(f"adding at places needs opset_version={opset} or later")


@aten("scatter.src", "scatter.value")
def scatter(g, self, dim, index, src=None, value=None):
    if src is None:
        src = g.op("Expand", *g.to(g.dtype, value), g.shape_of(index))
    else:
        src = _cut(g, src, index)
    return _elements(g, self, dim, index, g.cast(src, g.dtype))


def _cut(g, src, index):
    """The part of the source that has an index; the same steps at all sizes."""
    for dim, (has, wants) in enumerate(zip(src.shape, index.shape, strict=True)):
        if has != wants or g.varies:
            shape = (*src.shape[:dim], wants, *src.shape[dim + 1 :])
            src = g.slice(src, dim, 0, wants)
            src.shape = shape
    return src


@aten("scatter_add")
def scatter_add(g, self, dim, index, src):
    _reduction_needs(g)
    return _elements(g, self, dim, index, _cut(g, src, index), reduction="add")


def _elements(g, x, dim, index, src, **options):
    """ScatterElements, of numbers without dimensions too."""
    if x.rank:
        return g.op("ScatterElements", x, index, src, axis=dim % x.rank, **options)
    values = (g.reshape(v, [-1]) for v in (x, index, src))
    return g.squeeze(g.op("ScatterElements", *values, axis=0, **options), 0)


_REDUCTIONS = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}


@aten("scatter_reduce.two")
def scatter_reduce(g, self, dim, index, src, reduce, include_self=True):
    return _reduced(g, self, dim, index, _cut(g, src, index), reduce, include_self)


@aten("index_reduce")
def index_reduce(g, self, dim, index, source, reduce, include_self=True):
    places, sizes = _rows(g, self, dim, index)
    if sizes:
        source = g.op("Expand", source, g.integers(sizes), shape=tuple(sizes))
    else:
        source = g.reshape(source, [])
    return _reduced(g, self, dim, places, source, reduce, include_self)


def _reduced(g, x, dim, index, src, reduce, include_self):
    """Elements brought together at positions, with those of `x` there or without them."""
    _reduction_needs(g, 18 if reduce in ("amax", "amin") else 16)
    first = x if include_self else _filled(g, x, dim, index, _neutral(reduce, x.dtype))
    found = _elements(g, first, dim, index, src, reduction=_REDUCTIONS[reduce])
    if reduce != "mean":
        return found
    ones = _alike(g, x, x, 1)
    counts = ones if include_self else _filled(g, ones, dim, index, 0)
    counts = _elements(g, counts, dim, index, _alike(g, x, src, 1), reduction="add")
    if x.dtype.is_floating_point:
        return g.op("Div", found, counts)
    return floor_divided(g, found, counts)


def _filled(g, x, dim, index, number):
    """A value with a number at positions."""
    found = _elements(g, x, dim, index, _alike(g, x, index, number))
    found.shape = x.shape
    return found


def _alike(g, x, shaped, number):
    """A number of the dtype of `x` at all positions of another value."""
    found = g.op("Expand", g.like(number, x), g.shape_of(shaped)) if x.rank else g.like(number, x)
    found.shape = shaped.shape
    return found


def _neutral(reduce, dtype):
    """The number that a reduction starts with."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.is_floating_point:
        return -math.inf if reduce == "amax" else math.inf
    limits = rushlight.iinfo(dtype)
    return limits.min if reduce == "amax" else limits.max


def _rows(g, x, dim, index):
    """Indices along one dimension as indices of elements."""
    if not x.rank:
        return g.reshape(index, []), []
    dim %= x.rank
    shape = [1] * x.rank
    shape[dim] = -1
    sizes = list(x.shape)
    sizes[dim] = index.meta.numel()
    found = g.op("Expand", g.reshape(index, shape), g.integers(sizes), shape=tuple(sizes))
    return found, sizes


@aten("index_add")
def index_add(g, self, dim, index, source, alpha=1):
    _reduction_needs(g)
    places, sizes = _rows(g, self, dim, index)
    source = g.cast(source, g.dtype)
    source = g.op("Expand", source, g.integers(sizes)) if sizes else g.reshape(source, [])
    if alpha != 1:
        source = g.op("Mul", source, g.like(alpha, source))
    return _elements(g, self, dim, places, source, reduction="add")


@aten("index_copy")
def index_copy(g, self, dim, index, source):
    places, _ = _rows(g, self, dim, index)
    return _elements(g, self, dim, places, source)


@aten("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(g, self, dim, index, value):
    places, sizes = _rows(g, self, dim, index)
    values = g.op("Expand", *g.to(g.dtype, value), g.integers(sizes))
    return _elements(g, self, dim, places, values)


@aten("masked_scatter")
def masked_scatter(g, self, mask, source):
    shape = rushlight.broadcast_shapes(self.shape, mask.shape)
    mask = g.op("Expand", mask, g.integers(shape))
    whole = g.op("Expand", self, g.integers(shape))
    places = g.transpose(
        g.op("NonZero", mask, dtype=rushlight.int64, shape=(len(shape), None)), [1, 0]
    )
    count = g.op("Gather", g.shape_of(places), g.constant(0, rushlight.int64), axis=0, shape=())
    values = g.slice(g.reshape(source, [-1]), 0, 0, count)
    return g.op("ScatterND", whole, places, values)


@aten("select_scatter")
def select_scatter(g, self, src, dim, index):
    dim %= self.rank
    index %= self.shape[dim]
    return slice_scatter(g, self, g.unsqueeze(src, dim), dim, index, index + 1)


@aten("slice_scatter")
def slice_scatter(g, self, src, dim=0, start=None, end=None, step=1):
    dim %= self.rank
    size = self.shape[dim]
    first, last, _ = slice(start, end, step).indices(size)
    inside = range(first, last, step)
    src = g.op(
        "Expand",
        g.cast(src, self.dtype),
        g.integers([len(inside) if d == dim else s for d, s in enumerate(self.shape)]),
    )
    order = [dim, *(d for d in range(self.rank) if d != dim)]
    places = g.constant([[n] for n in inside], rushlight.int64)
    if not inside:
        return self
    found = g.op("ScatterND", g.transpose(self, order), places, g.transpose(src, order))
    return g.transpose(found, [order.index(d) for d in range(self.rank)])


@aten("diagonal_scatter")
def diagonal_scatter(g, self, src, offset=0, dim1=0, dim2=1):
    first, second = dim1 % self.rank, dim2 % self.rank
    rest = [d for d in range(self.rank) if d not in (first, second)]
    order = [first, second, *rest]
    rows, columns = max(0, -offset), max(0, offset)
    count = src.shape[-1]
    steps = g.integers(range(count))
    ends = (g.op("Add", steps, g.constant(n, rushlight.int64)) for n in (rows, columns))
    places = g.op("Concat", *(g.unsqueeze(end, 1) for end in ends), axis=1)
    values = g.transpose(src, [len(rest), *range(len(rest))])
    found = g.op("ScatterND", g.transpose(self, order), places, values)
    return g.transpose(found, [order.index(d) for d in range(self.rank)])


@aten("as_strided")
def as_strided(g, self, size, stride, storage_offset=None):
    places = _places_in_memory(self, size, stride, storage_offset)
    return g.op("Gather", g.reshape(self, [-1]), g.tensor(places, "places"), axis=0)


@aten("as_strided_scatter")
def as_strided_scatter(g, self, src, size, stride, storage_offset=None):
    places = _places_in_memory(self, size, stride, storage_offset).reshape(-1, 1)
    values = g.reshape(g.cast(src, self.dtype), [-1])
    found = g.op("ScatterND", g.reshape(self, [-1]), g.tensor(places, "places"), values)
    return g.reshape(found, list(self.shape))


def _places_in_memory(self, size, stride, offset):
    """Of each element of a window its position among the elements of a row-major tensor."""
    known = all(isinstance(n, int) for n in (*size, *stride, offset or 0, *self.shape))
    if not known or self.meta is None or not self.meta.is_contiguous():
        raise NotImplementedError(
            "windows on the memory of a tensor that is not row-major, or of sizes that may differ: "
            "use unfold, select and narrow"
        )
    every = rushlight.arange(math.prod(self.shape))
    return every.as_strided(tuple(size), tuple(stride), offset or 0).contiguous()


@aten("nonzero")
def nonzero(g, self):
    found = g.op("NonZero", self, dtype=rushlight.int64, shape=(self.rank, None))
    return g.transpose(found, [1, 0])


@aten("one_hot")
def one_hot(g, self, num_classes=-1):
    if num_classes < 0:
        raise NotImplementedError("one_hot without num_classes: give it")
    classes = g.tensor(rushlight.arange(num_classes), "classes")
    found = g.op("Equal", g.unsqueeze(self, self.rank), classes, dtype=rushlight.bool)
    return g.cast(found, rushlight.int64)
