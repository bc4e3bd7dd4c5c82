"""Shapes, parts, joining, positions."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight.onnx._operators.registry import ints, number, operator


@operator(static=(1,))
def Reshape(x, shape, allowzero=0):
    sizes = ints(shape)
    if not allowzero:
        sizes = [x.shape[n] if size == 0 else size for n, size in enumerate(sizes)]
    return x.reshape(sizes)


@operator()
def Shape(x, start=0, end=None):
    return rl.tensor(list(x.shape)[start:end], dtype=rl.int64)


@operator()
def Size(x):
    return rl.tensor(x.numel())


@operator()
def Transpose(x, perm=None):
    return x.permute(list(range(x.ndim))[::-1] if perm is None else perm)


@operator(static=(1,))
def Squeeze(x, axes=None, **attributes):
    dims = ints(attributes.get("axes", axes))
    return x.squeeze() if dims is None else x.squeeze(tuple(dims)) if dims else x


@operator(static=(1,))
def Unsqueeze(x, axes=None, **attributes):
    dims = ints(attributes.get("axes", axes))
    rank = x.ndim + len(dims)
    for dim in sorted(d % rank for d in dims):
        x = x.unsqueeze(dim)
    return x


@operator()
def Flatten(x, axis=1):
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), -1 if x.numel() else math.prod(x.shape[axis:]))


@operator()
def Concat(*values, axis):
    return rl.cat(values, axis)


@operator(static=(1,))
def Split(x, split=None, axis=0, num_outputs=None, outputs=1, **attributes):
    lengths = ints(attributes.get("split", split))
    if lengths is None:
        count = num_outputs or outputs
        size = -(-x.shape[axis] // count)
        lengths = [size] * (count - 1) + [x.shape[axis] - size * (count - 1)]
    parts = rl.split(x, lengths, axis)
    return tuple(parts) if outputs > 1 else parts[0]


@operator(static=(1, 2, 3, 4))
def Slice(x, starts=None, ends=None, axes=None, steps=None, **attributes):
    starts, ends = (ints(attributes.get(n, v)) for n, v in (("starts", starts), ("ends", ends)))
    dims = ints(attributes.get("axes", axes)) or list(range(len(starts)))
    gaps = ints(steps) or [1] * len(starts)
    for start, end, dim, step in zip(starts, ends, dims, gaps, strict=True):
        places = range(*slice(start, end, step).indices(x.shape[dim]))
        if step > 0:
            x = x[(slice(None),) * (dim % x.ndim) + (slice(places.start, places.stop, step),)]
        else:
            x = x.index_select(dim, rl.tensor(list(places), dtype=rl.int64))
    return x


@operator(static=(1,))
def Expand(x, shape):
    return x.expand(rl.broadcast_shapes(x.shape, tuple(ints(shape))))


@operator(static=(1,))
def Tile(x, repeats):
    return x.repeat(ints(repeats))


@operator(static=(0,))
def ConstantOfShape(shape, value=None):
    filler = rl.zeros(1) if value is None else value
    return filler.reshape(()).expand(ints(shape)).clone()


@operator()
def EyeLike(x, dtype=None, k=0):
    from rushlight.onnx._operators.dtypes import dtype_of

    kind = x.dtype if dtype is None else dtype_of(dtype)
    rows, columns = x.shape
    places = rl.arange(columns) - rl.arange(rows)[:, None]
    return (places == k).to(kind)


@operator()
def Range(start, limit, delta):
    first, last, step = (number(v) for v in (start, limit, delta))
    count = max(0, math.ceil((last - first) / step))
    return (rl.arange(count, dtype=start.dtype) * step + first).to(start.dtype)


@operator(static=(1,))
def Trilu(x, k=None, upper=1):
    diagonal = 0 if k is None else int(number(k))
    return x.triu(diagonal) if upper else x.tril(diagonal)


@operator()
def DepthToSpace(x, blocksize, mode="DCR"):
    n, c, h, w = x.shape
    b = blocksize
    if mode == "DCR":
        parts = x.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(n, c // b**2, b, b, h, w).permute(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c // b**2, h * b, w * b)


@operator()
def SpaceToDepth(x, blocksize, mode="DCR"):
    n, c, h, w = x.shape
    b = blocksize
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    parts = x.reshape(n, c, h // b, b, w // b, b).permute(order)
    return parts.reshape(n, c * b * b, h // b, w // b)


@operator(static=(1, 3))
def Pad(x, pads=None, value=None, axes=None, mode="constant", **attributes):
    amounts = ints(attributes.get("pads", pads))
    fill = attributes.get("value", 0 if value is None else number(value))
    dims = [d % x.ndim for d in ints(axes)] if axes is not None else list(range(x.ndim))
    half = len(dims)
    before, after = (
        dict(zip(dims, amounts[:half], strict=True)),
        dict(zip(dims, amounts[half:], strict=True)),
    )
    for dim in dims:
        x = _padded(x, dim, before[dim], after[dim], mode, fill)
    return x


def _padded(x, dim, before, after, mode, fill):
    """One dimension with more (or fewer) elements on both sides."""
    size = x.shape[dim]
    places = rl.arange(-before, size + after)
    if mode == "constant":
        inside = (places >= 0) & (places < size)
        found = x.index_select(dim, places.clamp(0, size - 1)) if size else None
        shape = [-1 if d == dim % x.ndim else 1 for d in range(x.ndim)]
        if found is None:
            sizes = [len(places) if d == dim else s for d, s in enumerate(x.shape)]
            return rl.full(sizes, fill, dtype=x.dtype)
        return rl.where(inside.reshape(shape), found, rl.tensor(fill, dtype=x.dtype))
    if mode == "edge":
        places = places.clamp(0, size - 1)
    elif mode == "wrap":
        places = places % size
    else:
        period = max(1, 2 * (size - 1))
        places = places.abs() % period
        places = rl.where(places >= size, period - places, places)
    return x.index_select(dim, places)


@operator(static=(1,))
def CenterCropPad(x, shape, axes=None):
    dims = [d % x.ndim for d in axes] if axes is not None else list(range(x.ndim))
    for dim, wanted in zip(dims, ints(shape), strict=True):
        size = x.shape[dim]
        if wanted < size:
            x = x.narrow(dim, (size - wanted) // 2, wanted)
        elif wanted > size:
            before = (wanted - size) // 2
            x = _padded(x, dim, before, wanted - size - before, "constant", 0)
    return x


@operator()
def Gather(x, indices, axis=0):
    size = x.shape[axis]
    places = rl.where(indices < 0, indices + size, indices).long()
    found = x.index_select(axis, places.reshape(-1))
    axis %= x.ndim
    return found.reshape([*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]])


def _positive(indices, size):
    return rl.where(indices < 0, indices + size, indices).long()


@operator()
def GatherElements(x, indices, axis=0):
    return x.gather(axis, _positive(indices, x.shape[axis]))


@operator()
def GatherND(x, indices, batch_dims=0):
    indices = indices.long()
    if batch_dims:
        lead = x.shape[:batch_dims]
        flat = x.reshape(-1, *x.shape[batch_dims:])
        places = indices.reshape(-1, *indices.shape[batch_dims:])
        parts = [GatherND(a, b) for a, b in zip(flat, places, strict=True)]
        return rl.stack(parts).reshape(*lead, *parts[0].shape)
    return x[tuple(indices.unbind(-1))]


@operator("ScatterElements", "Scatter")
def ScatterElements(x, indices, updates, axis=0, reduction="none"):
    places = _positive(indices, x.shape[axis])
    if reduction == "none":
        return x.scatter(axis, places, updates)
    kinds = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    return x.scatter_reduce(axis, places, updates, kinds[reduction])


@operator()
def ScatterND(x, indices, updates, reduction="none"):
    found = x.clone()
    depth = indices.shape[-1]
    places = indices.long().reshape(-1, depth)
    values = updates.reshape(len(places), *x.shape[depth:])
    if reduction in ("none", "add"):
        return found.index_put_(tuple(places.unbind(-1)), values, accumulate=reduction == "add")
    joined = {"mul": rl.mul, "max": rl.maximum, "min": rl.minimum}[reduction]
    for place, value in zip(places.tolist(), values, strict=True):
        found[tuple(place)] = joined(found[tuple(place)], value)
    return found


@operator()
def OneHot(indices, depth, values, axis=-1):
    count = int(number(depth.reshape(-1)[0] if rl.is_tensor(depth) else depth))
    places = _positive(indices, count)
    inside = ((places >= 0) & (places < count))[..., None]
    hot = (places[..., None] == rl.arange(count)) & inside
    off, on = values[0], values[1]
    found = rl.where(hot, on, off)
    return found.movedim(-1, axis if axis >= 0 else axis + found.ndim)


@operator()
def NonZero(x):
    return x.nonzero().t() if x.ndim else x.reshape(1).nonzero().t()[:0]


@operator()
def Compress(x, condition, axis=None):
    values = x.reshape(-1) if axis is None else x
    places = condition.nonzero().reshape(-1)
    return values.index_select(axis or 0, places)


@operator()
def ReverseSequence(x, lengths, batch_axis=1, time_axis=0):
    moved = x.movedim((batch_axis, time_axis), (0, 1))
    rows = [
        rl.cat([row[: int(n)].flip(0), row[int(n) :]])
        for row, n in zip(moved, lengths, strict=True)
    ]
    return rl.stack(rows).movedim((0, 1), (batch_axis, time_axis))


@operator()
def TensorScatter(past, update, indices=None, axis=-2, mode="linear"):
    found = past.clone().movedim(axis, 1)
    values = update.movedim(axis, 1)
    size = found.shape[1]
    for row in range(len(found)):
        start = 0 if indices is None else int(indices[row])
        places = (
            (rl.arange(values.shape[1]) + start) % size
            if mode == "circular"
            else rl.arange(values.shape[1]) + start
        )
        found[row, places] = values[row]
    return found.movedim(1, axis)


@operator(static=(1, 2))
def Col2Im(x, image_shape, block_shape, dilations=None, pads=None, strides=None):
    sizes, block = ints(image_shape), ints(block_shape)
    rank = len(sizes)
    gaps, steps = dilations or [1] * rank, strides or [1] * rank
    pads = pads or [0] * (2 * rank)
    n, rows, _ = x.shape
    channels = rows // math.prod(block)
    counts = [
        (s + pads[d] + pads[d + rank] - gaps[d] * (block[d] - 1) - 1) // steps[d] + 1
        for d, s in enumerate(sizes)
    ]
    wide = [s + pads[d] + pads[d + rank] for d, s in enumerate(sizes)]
    parts = x.reshape(n, channels, *block, *counts)
    found = x.new_zeros(n, channels, *wide)
    for place in rl.cartesian_prod(*[rl.arange(b) for b in block]).reshape(-1, rank).tolist():
        where = tuple(
            slice(p * gaps[d], p * gaps[d] + counts[d] * steps[d], steps[d])
            for d, p in enumerate(place)
        )
        found[(slice(None), slice(None), *where)] += parts[(slice(None), slice(None), *place)]
    inner = tuple(slice(pads[d], pads[d] + s) for d, s in enumerate(sizes))
    return found[(slice(None), slice(None), *inner)]
