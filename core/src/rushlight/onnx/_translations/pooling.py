"""Pooling."""

from __future__ import annotations

import math

import rushlight
from rushlight.onnx._registry import aten
from rushlight.onnx._translations.layers import spread


def _batched(g, x, count):
    """An input with a batch, and whether it had none."""
    single = x.rank == count + 1
    return (g.unsqueeze(x, 0), True) if single else (x, False)


def _max_pool(count):
    def translate(g, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        return _max(g, self, count, kernel_size, stride, padding, dilation, ceil_mode)[0]

    def with_places(g, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        return _max(g, self, count, kernel_size, stride, padding, dilation, ceil_mode, places=True)

    return translate, with_places


def _max(g, x, count, kernel_size, stride, padding, dilation, ceil_mode, places=False):
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


def _adaptive(count, kind, whole):
    def translate(g, self, output_size):
        sizes = [size for size in spread(output_size, count)]
        x, single = _batched(g, self, count)
        if all(size == 1 for size in sizes):
            found = g.op(whole, x)
        else:
            found = _parts(g, x, self.shape[-count:], sizes, kind)
        return g.squeeze(found, 0) if single else found

    return translate


def _parts(g, x, lengths, sizes, kind):
    if any(type(length) is not int for length in lengths):
        raise NotImplementedError("adaptive pooling of pictures whose size is not fixed")
    sizes = [n if s is None else s for n, s in zip(lengths, sizes, strict=True)]
    if any(length % size for length, size in zip(lengths, sizes, strict=True)):
        return _uneven(g, x, lengths, sizes, kind)
    kernel = [length // size for length, size in zip(lengths, sizes, strict=True)]
    return g.op(kind, x, kernel_shape=kernel, strides=kernel)


def _uneven(g, x, lengths, sizes, kind):
    """Windows of unequal length: along each dimension, averages as a product with a matrix."""
    if kind != "AveragePool":
        raise NotImplementedError("adaptive maxima of windows of unequal length")
    rank = len(g.out.shape) if len(g.out.shape) == len(lengths) + 2 else len(lengths) + 2
    for n, (length, size) in enumerate(zip(lengths, sizes, strict=True)):
        dim = rank - len(lengths) + n
        shares = rushlight.zeros(length, size, dtype=x.dtype)
        for place in range(size):
            start, end = place * length // size, -(-(place + 1) * length // size)
            shares[start:end, place] = 1 / (end - start)
        order = [d for d in range(rank) if d != dim] + [dim]
        turned = g.op("MatMul", g.transpose(x, order), g.tensor(shares, "shares"))
        x = g.transpose(turned, [order.index(d) for d in range(rank)])
    return x


_WHOLE = ("AveragePool", "GlobalAveragePool")
aten("adaptive_avg_pool1d")(_adaptive(1, *_WHOLE))
aten("adaptive_avg_pool2d", "_adaptive_avg_pool2d")(_adaptive(2, *_WHOLE))
aten("adaptive_avg_pool3d", "_adaptive_avg_pool3d")(_adaptive(3, *_WHOLE))
