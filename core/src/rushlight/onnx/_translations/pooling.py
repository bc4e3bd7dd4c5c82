"""Pooling."""

from __future__ import annotations

import math

import rushlight
from rushlight.onnx._registry import aten
from rushlight.onnx._tables import OUTSIDE, SHARES
from rushlight.onnx._translations.layers import spread


def _batched(g, x, count):
    """An input with a batch, and whether it had none."""
    single = x.rank == count + 1
    return (g.unsqueeze(x, 0), True) if single else (x, False)


def _max_pool(count):
    def translate(g, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        return _max(g, self, count, (kernel_size, stride, padding, dilation, ceil_mode))[0]

    def with_places(g, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        windows = kernel_size, stride, padding, dilation, ceil_mode
        return _max(g, self, count, windows, places=True)

    return translate, with_places


def _max(g, x, count, windows, places=False):
    kernel_size, stride, padding, dilation, ceil_mode = windows
    kernel = spread(kernel_size, count)
    pads = spread(padding, count)
    x, single = _batched(g, x, count)
    options = {
        "kernel_shape": kernel,
        "strides": spread(stride, count) if stride else kernel,
        "pads": pads + pads,
        "dilations": spread(dilation, count),
        "ceil_mode": int(ceil_mode),
    }
    if not places:
        found = [g.op("MaxPool", x, **options)]
    else:
        values, where = g.op("MaxPool", x, outputs=2, **options)
        where.dtype = rushlight.int64
        area = math.prod(x.meta.shape[-count:] if x.meta is not None else g_shape(x)[-count:])
        found = [values, g.op("Mod", where, g.constant(area, rushlight.int64))]
    return tuple(g.squeeze(v, 0) if single else v for v in found)


def g_shape(x):
    """The sizes of a value, which must be known."""
    if x.shape is None:
        raise NotImplementedError("places in a picture whose size is not known")
    return x.shape


aten("max_pool1d")(_max_pool(1)[0])
aten("max_pool2d")(_max_pool(2)[0])
aten("max_pool3d")(_max_pool(3)[0])
aten("max_pool1d_with_indices")(_max_pool(1)[1])
aten("max_pool2d_with_indices")(_max_pool(2)[1])
aten("max_pool3d_with_indices")(_max_pool(3)[1])


def _avg_pool(count):
    def translate(
        g, self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True,
        divisor_override=None,
    ):  # fmt: skip
        if divisor_override is not None:
            raise NotImplementedError("avg_pool with divisor_override")
        kernel, pads = spread(kernel_size, count), spread(padding, count)
        x, single = _batched(g, self, count)
        found = g.op(
            "AveragePool", x, kernel_shape=kernel, pads=pads + pads,
            strides=spread(stride, count) if stride else kernel,
            ceil_mode=int(ceil_mode), count_include_pad=int(count_include_pad),
        )  # fmt: skip
        return g.squeeze(found, 0) if single else found

    return translate


aten("avg_pool1d")(_avg_pool(1))
aten("avg_pool2d")(_avg_pool(2))
aten("avg_pool3d")(_avg_pool(3))


def _adaptive_avg(count):
    def translate(g, self, output_size):
        sizes = spread(output_size, count)
        x, single = _batched(g, self, count)
        if all(size == 1 for size in sizes):
            found = g.op("GlobalAveragePool", x)
        else:
            found = _parts(g, x, self.shape[-count:], sizes)
        return g.squeeze(found, 0) if single else found

    return translate


def _parts(g, x, lengths, sizes):
    kernel, sizes = _windows(lengths, sizes)
    if kernel is None or g.general:
        return _uneven(g, x, lengths, sizes)
    return g.op("AveragePool", x, kernel_shape=kernel, strides=kernel)


def _windows(lengths, sizes):
    """The lengths of windows, None where they differ from each other, and their numbers."""
    if any(type(length) is not int for length in lengths):
        raise NotImplementedError("adaptive pooling of pictures whose size is not fixed")
    sizes = [n if s is None else s for n, s in zip(lengths, sizes, strict=True)]
    if 0 in sizes:
        raise NotImplementedError("adaptive pooling to no elements")
    if any(length % size for length, size in zip(lengths, sizes, strict=True)):
        return None, sizes
    return [length // size for length, size in zip(lengths, sizes, strict=True)], sizes


def _uneven(g, x, lengths, sizes):
    """Windows of unequal length: along each dimension, averages as a product with a matrix."""
    rank = len(g.out.shape) if len(g.out.shape) == len(lengths) + 2 else len(lengths) + 2
    for n, (length, size) in enumerate(zip(lengths, sizes, strict=True)):
        dim = rank - len(lengths) + n
        shares = g.table(SHARES, length, size, dtype=x.dtype)
        order = [d for d in range(rank) if d != dim] + [dim]
        turned = g.op("MatMul", g.transpose(x, order), shares)
        x = g.transpose(turned, [order.index(d) for d in range(rank)])
    return x


aten("adaptive_avg_pool1d")(_adaptive_avg(1))
aten("adaptive_avg_pool2d", "_adaptive_avg_pool2d")(_adaptive_avg(2))
aten("adaptive_avg_pool3d", "_adaptive_avg_pool3d")(_adaptive_avg(3))


def _adaptive_max(count):
    def translate(g, self, output_size):
        sizes, lengths = spread(output_size, count), self.shape[-count:]
        x, single = _batched(g, self, count)
        if all(size == 1 for size in sizes):
            found = _largest(g, x, self, count)
        else:
            kernel, sizes = _windows(lengths, sizes)
            if g.general:
                found = _masked(g, x, lengths, sizes)
            elif kernel is None:
                batch = [1, *self.shape[:-count]] if single else self.shape[:-count]
                found = _gathered(g, x, batch, lengths, sizes)
            else:
                found = _max(g, x, count, (kernel, kernel, 0, 1, False), places=True)
        return tuple(g.squeeze(each, 0) if single and each else each for each in found)

    return translate


def _largest(g, x, given, count):
    """The maximum of all positions, and its flat position."""
    values = g.op("GlobalMaxPool", x)
    if 1 not in g.taken:
        return values, None
    batch = given.shape[:-count]
    flat = g.reshape(x, [*([] if len(batch) == 2 else [1]), *batch, -1])
    where = g.op("ArgMax", flat, axis=2, keepdims=1, dtype=rushlight.int64)
    return values, g.unsqueeze(where, *range(3, count + 2)) if count > 1 else where


def _masked(g, x, lengths, sizes):
    """Maxima of windows whose lengths depend on sizes: along each dimension, of all elements, those
    outside of a window at -inf."""
    if 1 in g.taken:
        raise NotImplementedError(
            "adaptive_max_pool with positions for pictures whose size is not fixed: take the "
            "maxima alone"
        )
    rank = len(lengths) + 2
    for dim, (length, size) in enumerate(zip(lengths, sizes, strict=True), 2):
        order = [d for d in range(rank) if d != dim] + [dim]
        turned = g.unsqueeze(g.transpose(x, order), rank)
        outside = g.table(OUTSIDE, length, size, dtype=x.dtype)
        wide = g.op("Add", turned, outside)
        x = g.transpose(g.reduce("ReduceMax", wide, [rank - 1], False), _inverse(order))
    return x, None


def _inverse(order):
    return [order.index(d) for d in range(len(order))]


def _gathered(g, x, batch, lengths, sizes):
    """Maxima of windows of unequal length, and their flat positions: every window with as many
    elements as the longest has, by repeating its last ones."""
    count = len(lengths)
    tables = [_positions(length, size) for length, size in zip(lengths, sizes, strict=True)]
    for dim, table in reversed([*enumerate(tables)]):
        x = g.op("Gather", x, g.constant(table), axis=2 + dim)
    order = [0, 1, *range(2, 2 + 2 * count, 2), *range(3, 3 + 2 * count, 2)]
    windows = [math.prod(sizes), math.prod(table.shape[1] for table in tables)]
    x = g.reshape(g.transpose(x, order), [*batch, *windows])
    values = g.reshape(g.reduce("ReduceMax", x, 3, False), [*batch, *sizes])
    if 1 not in g.taken:
        return values, None
    starts = g.constant(rushlight.arange(0, math.prod(windows), windows[1]))
    first = g.op("Add", g.op("ArgMax", x, axis=3, keepdims=0, dtype=rushlight.int64), starts)
    where = g.op("Gather", g.constant(_flat_positions(tables, lengths)), first, axis=0)
    return values, g.reshape(where, [*batch, *sizes])


def _positions(length, size):
    """The positions of each window along one dimension, (size, the longest window's length)."""
    n = rushlight.arange(size)
    starts, ends = n * length // size, -(-(n + 1) * length // size)
    longest = int((ends - starts).max())
    return (starts[:, None] + rushlight.arange(longest)).minimum(ends[:, None] - 1)


def _flat_positions(tables, lengths):
    """The flat positions of the elements of all windows, one window after the other."""
    count, found = len(tables), rushlight.tensor(0)
    for dim, (table, length) in enumerate(zip(tables, lengths, strict=True)):
        shape = [1] * (2 * count)
        shape[dim], shape[count + dim] = table.shape
        found = found * length + table.reshape(shape)
    return found.flatten()


aten("adaptive_max_pool1d")(_adaptive_max(1))
aten("adaptive_max_pool2d")(_adaptive_max(2))
aten("adaptive_max_pool3d")(_adaptive_max(3))
