"""Views, copies in another arrangement, joining and parting."""

from __future__ import annotations

import rushlight
from rushlight.onnx._builder import Value
from rushlight.onnx._registry import aten

_ENDLESS = 2**63 - 1


@aten("view", "reshape", "_unsafe_view", "view_copy")
def view(g, self, size=None, shape=None):
    return g.reshape(self, list(size if shape is None else shape))


@aten("flatten.using_ints")
def flatten(g, self, start_dim=0, end_dim=-1):
    if self.rank == 0:
        return g.reshape(self, [1])
    start, end = start_dim % self.rank, end_dim % self.rank
    if all(isinstance(size, int) for size in g.out.shape):
        return g.reshape(self, list(g.out.shape))
    sizes = [g.size(self, d) for d in range(self.rank)]
    return g.reshape(self, [*sizes[:start], -1, *sizes[end + 1 :]])


@aten("unflatten.int")
def unflatten(g, self, dim, sizes):
    dim %= self.rank
    kept = [g.size(self, d) for d in range(self.rank)]
    return g.reshape(self, [*kept[:dim], *sizes, *kept[dim + 1 :]])


@aten("permute", "permute_copy")
def permute(g, self, dims):
    return g.transpose(self, [d % max(1, self.rank) for d in dims])


@aten("transpose.int", "swapaxes", "swapdims", "transpose_copy.int")
def transpose(g, self, dim0=0, dim1=0, axis0=None, axis1=None):
    first, second = (dim0, dim1) if axis0 is None else (axis0, axis1)
    order = list(range(self.rank))
    if order:
        first, second = first % self.rank, second % self.rank
        order[first], order[second] = second, first
    return g.transpose(self, order)


@aten("t", "t_copy", "numpy_T", "mT", "adjoint", "mH")
def t(g, self):
    return self if self.rank < 2 else transpose(g, self, -2, -1)


@aten("movedim.intlist", "movedim.int", "moveaxis.intlist", "moveaxis.int")
def movedim(g, self, source, destination):
    source, destination = ([v] if isinstance(v, int) else list(v) for v in (source, destination))
    rank = self.rank
    source, destination = [d % rank for d in source], [d % rank for d in destination]
    rest = iter([d for d in range(rank) if d not in source])
    order = [source[destination.index(d)] if d in destination else next(rest) for d in range(rank)]
    return g.transpose(self, order)


@aten("unsqueeze", "unsqueeze_copy")
def unsqueeze(g, self, dim):
    return g.unsqueeze(self, dim % (self.rank + 1))


@aten(
    "squeeze",
    "squeeze.dim",
    "squeeze.dims",
    "squeeze_copy",
    "squeeze_copy.dim",
    "squeeze_copy.dims",
)
def squeeze(g, self, dim=None):
    wanted = range(self.rank) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = [d % self.rank for d in wanted if self.rank]
    dims = [d for d in dims if isinstance(self.shape[d], int) and self.shape[d] == 1]
    return g.squeeze(self, *dims) if dims else self


@aten("expand", "expand_copy")
def expand(g, self, size):
    extra = len(size) - self.rank
    ones = [1 if not isinstance(s, Value) and s == -1 else s for s in size]
    if extra < 0:
        raise NotImplementedError("expand to fewer dimensions")
    return g.op("Expand", self, g.sizes(ones), shape=None)


@aten("broadcast_to", "expand_as", "view_as", "reshape_as")
def broadcast_to(g, self, size=None, other=None):
    if other is None:
        return expand(g, self, size)
    kind = "Expand" if self.rank != other.rank or g.out.numel() != self.meta.numel() else "Reshape"
    return g.op(kind, self, g.shape_of(other))


@aten("broadcast_tensors")
def broadcast_tensors(g, tensors):
    """Sizes of one give way to the others', which may be 0."""
    rank = max(tensor.rank for tensor in tensors)
    common, *others = (_shape_of_rank(g, tensor, rank) for tensor in tensors)
    one = g.integers([1])
    for sizes in others:
        gives_way = g.op("Equal", common, one, dtype=rushlight.bool)
        common = g.op("Where", gives_way, sizes, common, dtype=rushlight.int64)
    return tuple(g.op("Expand", tensor, common) for tensor in tensors)


def _shape_of_rank(g, value, rank):
    """The sizes of a value, with ones before them."""
    missing = rank - value.rank
    sizes = g.shape_of(value)
    return g.op("Concat", g.integers([1] * missing), sizes, axis=0) if missing else sizes


@aten("repeat", "tile")
def repeat(g, self, repeats=None, dims=None):
    times = list(repeats if dims is None else dims)
    times = [1] * (self.rank - len(times)) + times
    extra = len(times) - self.rank
    if extra:
        self = g.unsqueeze(self, *range(extra))
    return g.op("Tile", self, g.sizes(times)) if times else self


@aten("select.int", "select_copy.int")
def select(g, self, dim, index):
    index = g.constant(index, rushlight.int64) if not isinstance(index, Value) else index
    return g.op("Gather", self, index, axis=dim % self.rank)


@aten("slice.Tensor", "slice_copy.Tensor")
def slice_(g, self, dim=0, start=None, end=None, step=1):
    return g.slice(self, dim % self.rank, start or 0 if not isinstance(start, Value) else start,
                   _ENDLESS if end is None else end, step)  # fmt: skip


@aten("narrow", "narrow_copy")
def narrow(g, self, dim, start, length):
    size = self.shape[dim % self.rank]
    if not isinstance(start, Value) and start < 0:
        start += size
    end = (
        g.op("Add", g.constant(start, rushlight.int64), length)
        if isinstance(length, Value) or isinstance(start, Value)
        else start + length
    )
    return g.slice(self, dim % self.rank, start, end)


@aten("cat", "concat", "concatenate")
def cat(g, tensors, dim=0):
    values = [v for v in g.to(g.dtype, *tensors) if v.shape != (0,)] or tensors[:1]
    if len(values) == 1:
        return values[0]
    return g.op("Concat", *values, axis=dim % values[0].rank)


@aten("stack")
def stack(g, tensors, dim=0):
    dim %= tensors[0].rank + 1
    values = [g.unsqueeze(v, dim) for v in g.to(g.dtype, *tensors)]
    return values[0] if len(values) == 1 else g.op("Concat", *values, axis=dim)


def parted(g, x, dim, lengths):
    """Parts of known lengths along a dimension."""
    if len(lengths) == 1:
        return (x,)
    return g.op("Split", x, g.integers(lengths), outputs=len(lengths), axis=dim % x.rank)


def _lengths_of(g, dim):
    return [part.shape[dim] for part in g.out]


@aten("split.Tensor", "chunk", "tensor_split.sections", "unsafe_split.Tensor", "unsafe_chunk",
      "split_copy.Tensor", "split.sizes", "split_with_sizes", "split_with_sizes_copy",
      "tensor_split.indices", "unsafe_split_with_sizes")  # fmt: skip
def split(g, self, dim=0):
    return parted(g, self, dim, _lengths_of(g, dim))


@aten("unbind.int", "unbind_copy.int")
def unbind(g, self, dim=0):
    parts = parted(g, self, dim, _lengths_of_unbound(g, self, dim))
    return tuple(g.squeeze(part, dim % self.rank) for part in parts)


def _lengths_of_unbound(g, x, dim):
    return [1] * len(g.out)


@aten("flip")
def flip(g, self, dims):
    for dim in dims:
        self = g.slice(self, dim % len(g.out.shape), -1, -_ENDLESS, -1)
    return self


@aten("fliplr")
def fliplr(g, self):
    return flip(g, self, [1])


@aten("flipud")
def flipud(g, self):
    return flip(g, self, [0])


@aten("roll")
def roll(g, self, shifts, dims=()):
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    dims = [dims] if isinstance(dims, int) else list(dims)
    if not dims:
        return g.reshape(
            _rolled(g, g.reshape(self, [-1]), shifts[0], 0, self.meta.numel()), list(self.shape)
        )
    for shift, dim in zip(shifts, dims, strict=True):
        self_size = g.out.shape[dim]
        self = _rolled(g, self, shift, dim % len(g.out.shape), self_size)
    return self


def _rolled(g, x, shift, dim, size):
    if not size:
        return x
    cut = (-shift) % size
    if not cut:
        return x
    return g.op("Concat", g.slice(x, dim, cut, _ENDLESS), g.slice(x, dim, 0, cut), axis=dim)


@aten("diagonal", "linalg_diagonal", "diagonal_copy")
def diagonal(g, self=None, offset=0, dim1=0, dim2=1, A=None):  # noqa: N803 - ATen's name
    x = self if A is None else A
    first, second = dim1 % x.rank, dim2 % x.rank
    order = [d for d in range(x.rank) if d not in (first, second)] + [first, second]
    rows, columns = x.shape[first], x.shape[second]
    flat = g.reshape(g.transpose(x, order), [*(x.shape[d] for d in order[:-2]), rows * columns])
    begin = offset if offset >= 0 else -offset * columns
    step, begin = (g.constant(n, rushlight.int64) for n in (columns + 1, begin))
    # computed of numbers that may be others at other sizes
    positions = _length(g, rows - max(0, -offset), columns - max(0, offset))
    places = g.op("Add", g.op("Mul", positions, step), begin)
    return g.op("Gather", flat, places, axis=len(order) - 2)


def _length(g, rows, columns):
    """The positions along a diagonal that so many rows and columns have."""
    if not g.varies:
        return g.integers(range(max(0, min(rows, columns))))
    zero, one, rows, columns = (g.constant(n, rushlight.int64) for n in (0, 1, rows, columns))
    count = g.op("Max", g.op("Min", rows, columns), zero)
    return g.op("Range", zero, count, one)


@aten("pixel_shuffle")
def pixel_shuffle(g, self, upscale_factor):
    if self.rank != 4:
        flat = g.reshape(self, [-1, *self.shape[-3:]])
        found = g.op("DepthToSpace", flat, blocksize=upscale_factor, mode="CRD")
        return g.reshape(found, list(g.out.shape))
    return g.op("DepthToSpace", self, blocksize=upscale_factor, mode="CRD")


@aten("tril")
def tril(g, self, diagonal=0):
    return _triangle(g, self, diagonal, 0)


@aten("triu")
def triu(g, self, diagonal=0):
    return _triangle(g, self, diagonal, 1)


def _triangle(g, x, diagonal, upper):
    if g.opset < 14:
        raise NotImplementedError("tril and triu need opset_version=14 or later")
    if x.dtype not in (rushlight.float32, rushlight.float64, rushlight.int64):
        wide = g.cast(x, rushlight.int64)
        return g.cast(
            g.op("Trilu", wide, g.constant(diagonal, rushlight.int64), upper=upper), x.dtype
        )
    return g.op("Trilu", x, g.constant(diagonal, rushlight.int64), upper=upper)


@aten("repeat_interleave.self_int")
def repeat_interleave(g, self, repeats, dim=None):
    if dim is None:
        self, dim = g.reshape(self, [-1]), 0
    rank = self.rank
    dim %= rank
    wide = g.unsqueeze(self, dim + 1)
    times = [1] * (rank + 1)
    times[dim + 1] = repeats
    return g.reshape(g.op("Tile", wide, g.integers(times)), list(g.out.shape))


@aten("sym_size.int", "size.int")
def size(g, self, dim):
    found = g.size(self, dim)
    if not isinstance(found, Value):
        return g.constant(found, rushlight.int64)
    return found


@aten("diag_embed")
def diag_embed(g, self, offset=0, dim1=-2, dim2=-1):
    rank = self.rank + 1
    pads = [0] * (2 * self.rank)
    pads[self.rank - 1], pads[-1] = max(0, -offset), max(0, offset)
    x = g.op("Pad", self, g.integers(pads)) if offset else self
    columns = g.integers(range(self.shape[-1] + abs(offset)))  # more of them at other sizes
    rows = g.op("Add", columns, g.constant(offset, rushlight.int64))
    on = g.op("Equal", g.unsqueeze(rows, 1), g.unsqueeze(columns, 0), dtype=rushlight.bool)
    found = g.op("Where", on, g.unsqueeze(x, rank - 1), g.like(0, self), dtype=self.dtype)
    order = list(range(rank - 2))
    places = sorted(((dim1 % rank, rank - 2), (dim2 % rank, rank - 1)))
    for place, axis in places:
        order.insert(place, axis)
    return g.transpose(found, order)


@aten("constant_pad_nd")
def constant_pad(g, self, pad, value=0):
    if any(isinstance(p, Value) for p in pad):
        raise NotImplementedError("padding by sizes that are not fixed")
    if any(p < 0 for p in pad):
        for n in range(0, len(pad), 2):
            dim = len(g.out.shape) - 1 - n // 2
            before, after = (min(0, p) for p in pad[n : n + 2])
            if before or after:
                self = g.slice(self, dim, -before, after or _ENDLESS)
        pad = [max(0, p) for p in pad]
    return padded(g, self, pad, "constant", value)


def padded(g, x, pad, mode, value=0):
    """Pads given from the last dimension on, before and after each."""
    rank = len(g.out.shape)
    before, after = [0] * rank, [0] * rank
    for n in range(0, len(pad), 2):
        before[rank - 1 - n // 2], after[rank - 1 - n // 2] = pad[n], pad[n + 1]
    fill = g.like(value, x) if mode == "constant" else None
    if x.dtype is rushlight.bool:
        wide = g.cast(x, rushlight.int32)
        found = g.op("Pad", wide, g.integers(before + after), g.like(int(value), wide), mode=mode)
        return g.cast(found, rushlight.bool)
    return g.op("Pad", x, g.integers(before + after), fill, mode=mode)


@aten("pad")
def pad_(g, self, pad, mode="constant", value=None):
    if mode == "constant":
        return constant_pad(g, self, pad, value or 0)
    kinds = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode == "circular" and g.opset < 19:
        raise NotImplementedError('pad with mode="circular" needs opset_version=19 or later')
    return padded(g, self, pad, kinds[mode])


@aten("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(g, self, padding):
    return padded(g, self, padding, "reflect")


@aten("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(g, self, padding):
    return padded(g, self, padding, "edge")


@aten("rot90")
def rot90(g, self, k=1, dims=(0, 1)):
    first, second = (d % self.rank for d in dims)
    turns = k % 4
    if turns == 2:
        return flip(g, self, [first, second])
    if turns == 0:
        return self
    order = list(range(self.rank))
    order[first], order[second] = second, first
    if turns == 1:
        return g.transpose(flip(g, self, [second]), order)
    return flip(g, g.transpose(self, order), [second])


@aten("unfold", "unfold_copy")
def unfold(g, self, dimension, size, step):
    rank = self.rank
    if rank == 0:
        return g.reshape(self, [1])
    dim = dimension % rank
    count = (self.shape[dim] - size) // step + 1
    # The only constant that depends on the size of `self` counts from 0 by 1, so that the number of
    # windows can be computed in models whose sizes may differ.
    starts = g.op("Mul", g.integers(range(count)), g.integers([step]))
    places = g.op("Add", g.reshape(starts, [-1, 1]), g.integers(range(size)))
    found = g.op("Gather", self, places, axis=dim)
    order = [d for d in range(rank + 1) if d != dim + 1] + [dim + 1]
    return g.transpose(found, order)
