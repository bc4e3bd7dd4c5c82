"""Convolution of one to three spatial dims: cuDNN's, or images to columns and products of matrices.

Depthwise convolution has kernels of its own; 1 x 1 windows need no columns. The columns of as
many samples as fit into ``WORKSPACE`` bytes are in memory at once.
"""

from __future__ import annotations

import math

from rushlight.backends import cudnn
from rushlight.kernels.convolution.choice import output_size
from rushlight.kernels.convolution.cuda_library import convolved
from rushlight.kernels.launch.cuda import address, empty, grid_of, launch
from rushlight.kernels.pooling.cuda import three
from rushlight.machine import np
from rushlight.machine.cuda import runtime, sources
from rushlight.machine.cuda.runtime.products import described

__all__ = ["convolution_forward", "convolution_input_gradient", "convolution_weight_gradient"]

WORKSPACE = 256 << 20
GRID_LIMIT = 65535
_INT64, _FLOAT32 = np.dtype(np.int64), np.dtype(np.float32)


class _Geometry:
    """The sizes of one convolution."""

    def __init__(self, input_shape, weight_shape, stride, padding, dilation, groups):
        self.samples, self.channels = input_shape[:2]
        self.outputs, self.kernel, self.groups = weight_shape[0], weight_shape[2:], groups
        self.size, self.stride = input_shape[2:], stride
        self.padding, self.dilation = padding, dilation
        self.out = output_size(self.size, self.kernel, stride, padding, dilation)
        self.places, self.plane = math.prod(self.out), math.prod(self.size)
        self.taps = math.prod(self.kernel)
        self.inside = self.channels // groups  # channels of one group
        self.outside = self.outputs // groups
        self.depth = self.inside * self.taps
        self.is_depthwise = self.inside == 1 and groups > 1
        dims = zip(self.kernel, self.stride, self.padding, strict=True)
        self.is_pointwise = all(k == 1 and s == 1 and p == 0 for k, s, p in dims)

    def words(self, samples, channels):
        """The kernels' struct."""
        return np.array(
            [samples, channels, *three(self.size), *three(self.out), *three(self.kernel),
             *three(self.stride), *three(self.padding, 0), *three(self.dilation)],
            _INT64,
        )  # fmt: skip

    def chunk(self, itemsize):
        """How many samples have their columns in memory at once."""
        one = max(1, self.depth * self.places * itemsize)
        return max(1, min(self.samples, WORKSPACE // one))


def _launch(name, dtype, items, arguments, device):
    kernel = sources.kernel("convolution", name, T=dtype)
    launch(kernel, grid_of(items, device), 256, arguments, device)


def _launch_planes(name, dtype, places, rows, samples, arguments, device):
    """Blocks over (positions, rows, samples)."""
    kernel = sources.kernel("convolution", name, T=dtype)
    grid = (-(-places // 256), min(rows, GRID_LIMIT), min(samples, GRID_LIMIT))
    launch(kernel, grid, 256, arguments, device)


class _Matrix:
    """A batch of matrices for a product: address, strides of (row, column), and of the batch."""

    def __init__(self, place, strides, step=0):
        self.place, self.strides, self.step = place, strides, step


def _multiply(dtype, m, n, k, a, b, out, device, batch=1, beta=0.0, out_dtype=None):
    product = described(
        dtype=dtype, m=m, n=n, k=k, a_strides=a.strides, b_strides=b.strides,
        out_strides=out.strides, batch=batch, batch_strides=(a.step, b.step, out.step), beta=beta,
        out_dtype=out_dtype, tf32=bool(cudnn.allow_tf32),
    )  # fmt: skip
    stream = runtime.streams.current(device)
    runtime.current().gemm(product, a.place, b.place, out.place, 0, stream)


def _columns(x, g, start, count, group, out):
    """Columns of some samples and one group: [inside * taps][count][positions]; for 1 x 1 windows
    the images themselves serve where there is no memory for columns."""
    image = x.address + (start * g.channels + group * g.inside) * g.plane * x.itemsize
    if out is None:
        return _Matrix(image, (g.places, 1), g.channels * g.plane)
    arguments = (image, out.address, g.words(count, g.inside), g.channels)
    packs = -(-g.places * x.itemsize // 16)
    _launch_planes("images_to_columns", x.dtype, packs, g.depth, count, arguments, x.device)
    return _Matrix(out.address, (count * g.places, 1), g.places)


def _workspace(x, g):
    if g.is_pointwise:
        return g.samples, None
    count = g.chunk(x.itemsize)
    return count, empty((g.depth * count * g.places,), x.dtype, x.device)


def convolution_forward(input, weight, bias, stride, padding, dilation, groups):
    """Cross-correlation of input (N, C, *S) with weight (O, C / groups, *K), plus bias (O,)."""
    g = _Geometry(input.shape, weight.shape, stride, padding, dilation, groups)
    bias = None if bias is None else bias.astype(input.dtype, copy=False).contiguous()
    shape = (g.samples, g.outputs, *g.out)
    out = convolved("forward", input, weight, shape, stride, padding, dilation)
    if out is not None:
        return _with_bias(out, bias)
    x, w = input.contiguous(), weight.astype(input.dtype, copy=False).contiguous()
    out = empty((g.samples, g.outputs, *g.out), x.dtype, x.device)
    if not out.size:
        return out
    if g.is_depthwise:
        arguments = (x.address, w.address, address(bias), out.address,
                     g.words(g.samples, g.channels), g.outside)  # fmt: skip
        _launch("depthwise_forward", x.dtype, out.size, arguments, x.device)
        return out
    chunk, space = _workspace(x, g)
    item = x.itemsize
    for start in range(0, g.samples, chunk):
        count = min(chunk, g.samples - start)
        for group in range(groups):
            columns = _columns(x, g, start, count, group, space)
            first = (start * g.outputs + group * g.outside) * g.places
            _multiply(x.dtype, g.outside, g.places, g.depth,
                      _Matrix(w.address + group * g.outside * g.depth * item, (g.depth, 1)),
                      columns,
                      _Matrix(out.address + first * item, (g.places, 1), g.outputs * g.places),
                      x.device, batch=count)  # fmt: skip
    return _with_bias(out, bias)


def _with_bias(out, bias):
    """Add a number per channel, in place; channels-last memory is rows of channels."""
    if bias is not None:
        places = math.prod(out.shape[2:]) if out.flags.c_contiguous else 1
        arguments = (out.address, bias.address, out.size, out.shape[1], places)
        _launch("add_channel_bias", out.dtype, out.size, arguments, out.device)
    return out


def convolution_input_gradient(grad, weight, input_shape, stride, padding, dilation, groups):
    """Gradient of :func:`convolution_forward` with respect to its input, of ``input_shape``."""
    dx = convolved("input", grad, weight, input_shape, stride, padding, dilation)
    if dx is not None:
        return dx
    dy, w = grad.contiguous(), weight.astype(grad.dtype, copy=False).contiguous()
    g = _Geometry(tuple(input_shape), w.shape, stride, padding, dilation, groups)
    dx = empty(tuple(input_shape), dy.dtype, dy.device)
    if not dx.size:
        return dx
    if g.is_depthwise:
        arguments = (dy.address, w.address, dx.address, g.words(g.samples, g.channels), g.outside)
        _launch("depthwise_input_gradient", dy.dtype, dx.size, arguments, dy.device)
        return dx
    chunk, space = _workspace(dy, g)
    item = dy.itemsize
    for start in range(0, g.samples, chunk):
        count = min(chunk, g.samples - start)
        for group in range(groups):
            first = (start * g.outputs + group * g.outside) * g.places
            image = dx.address + (start * g.channels + group * g.inside) * g.plane * item
            columns = (
                _Matrix(image, (g.places, 1), g.channels * g.plane)
                if g.is_pointwise
                else _Matrix(space.address, (count * g.places, 1), g.places)
            )
            _multiply(dy.dtype, g.depth, g.places, g.outside,
                      _Matrix(w.address + group * g.outside * g.depth * item, (1, g.depth)),
                      _Matrix(dy.address + first * item, (g.places, 1), g.outputs * g.places),
                      columns, dy.device, batch=count)  # fmt: skip
            if not g.is_pointwise:
                arguments = (space.address, image, g.words(count, g.inside), g.channels)
                sizes = (g.plane, g.inside, count)
                _launch_planes("columns_to_images", dy.dtype, *sizes, arguments, dy.device)
    return dx


def convolution_weight_gradient(grad, input, weight_shape, stride, padding, dilation, groups):
    """Gradient of :func:`convolution_forward` with respect to its weight, of ``weight_shape``."""
    dw = convolved("weight", grad, input, weight_shape, stride, padding, dilation)
    if dw is not None:
        return dw
    dy, x = grad.contiguous(), input.astype(grad.dtype, copy=False).contiguous()
    weight_shape, device = tuple(weight_shape), dy.device
    g = _Geometry(x.shape, weight_shape, stride, padding, dilation, groups)
    if not math.prod(weight_shape):
        return empty(weight_shape, dy.dtype, device)
    if g.is_depthwise:
        dw = empty(weight_shape, dy.dtype, device)
        kernel = sources.kernel("convolution", "depthwise_weight_gradient", T=dy.dtype)
        arguments = (dy.address, x.address, dw.address, g.words(g.samples, g.channels), g.outside)
        launch(kernel, g.outputs * g.taps, 256, arguments, device)
        return dw
    wide = dy.dtype if dy.dtype.itemsize > 2 else _FLOAT32
    dw = empty(weight_shape, wide, device)
    runtime.current().fill_bytes(dw.address, 0, dw.nbytes, runtime.streams.current(device))
    if not dy.size:
        return dw.astype(dy.dtype, copy=False)
    chunk = g.chunk(x.itemsize)
    space = empty((g.depth * chunk * g.places,), x.dtype, device)
    for start in range(0, g.samples, chunk):
        count = min(chunk, g.samples - start)
        part = dy[start : start + count].reshape(count, g.outputs, g.places)
        turned = part.transpose(1, 0, 2).contiguous()  # (O, count * positions)
        length = count * g.places
        for group in range(groups):
            columns = _columns(x, g, start, count, group, space)
            rows = turned.address + group * g.outside * length * turned.itemsize
            target = dw.address + group * g.outside * g.depth * dw.itemsize
            _multiply(x.dtype, g.outside, g.depth, length, _Matrix(rows, (length, 1)),
                      _Matrix(columns.place, (1, length)), _Matrix(target, (g.depth, 1)), device,
                      beta=float(start > 0), out_dtype=wide)  # fmt: skip
    return dw.astype(dy.dtype, copy=False)
