"""Maximum and average pooling over one to three spatial dimensions."""

from __future__ import annotations

import functools
import math

from rushlight.errors import shape_text
from rushlight.kernels.pooling import geometry
from rushlight.kernels.pooling import windows as kernels
from rushlight.machine.arrays import dtype_of
from rushlight.machine.meta_array import meta_array
from rushlight.ops._calls.direct import is_plain_float, tensor_of
from rushlight.ops._table.aten import adaptively_pooled, pooled
from rushlight.ops._table.aten_schemas import avg_pool_schemas, max_pool_schemas
from rushlight.ops._table.node_names import in_dims
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.rules import refuse_complex, refuse_unordered
from rushlight.ops._table.second_order import with_history
from rushlight.ops._table.shape_rules import same_length, shaped
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.neural.convolution import spatial
from rushlight.tensor.tensor import Tensor


def _max_samples(make):
    one, zero = (1, 1), (0, 0)
    return [
        ((make(2, 3, 6, 5), (2, 2), (2, 2), zero, one, False), {}),
        ((make(2, 2, 7, 5), (3, 2), (2, 1), (1, 0), (1, 2), True), {}),
        ((make(1, 2, 9), (3,), (2,), (1,), (1,), False), {}),
        ((make(1, 2, 4, 4, 3), (2, 2, 2), (2, 1, 1), (0,) * 3, (1,) * 3, False), {}),
    ]


def _max_meta(input, kernel_size, stride, padding, dilation, ceil_mode):
    size = geometry.output_size(input.shape[2:], kernel_size, stride, padding, dilation, ceil_mode)
    return same_length(meta_array((*input.shape[:2], *size), input.dtype))


def _avg_meta(input, kernel_size, stride, padding, ceil_mode, *_options):
    ones = (1,) * len(kernel_size)
    size = geometry.output_size(input.shape[2:], kernel_size, stride, padding, ones, ceil_mode)
    return (*input.shape[:2], *size), dtype_of(input)


def _adaptive_meta(input, output_size):
    return (*input.shape[:2], *output_size), dtype_of(input)


def _adaptive_max_meta(input, output_size):
    return same_length(meta_array((*input.shape[:2], *output_size), input.dtype))


@op(
    second_zero=("input",),
    batching="rows",
    keeps_format=(4, 5),
    meta=_max_meta,
    method=False,
    samples=_max_samples,
    node=in_dims("MaxPool{}WithIndices"),
    saves="ceil_mode dilation kernel_size padding result1 stride",
)
def _max_pool(input: Tensor, kernel_size, stride, padding, dilation, ceil_mode):
    """Maxima of windows and their flat spatial positions."""
    refuse_unordered("max_pool", input)
    return kernels.max_pool_forward(input, kernel_size, stride, padding, dilation, ceil_mode)


@op(
    node=in_dims("AdaptiveMaxPool{}"),
    aten_call=lambda input, size: (
        f"adaptive_max_pool{len(size)}d",
        {"self": input, "output_size": list(size)},
    ),
    second_zero=("input",),
    batching="rows",
    keeps_format=(4,),
    meta=_adaptive_max_meta,
    method=False,
    samples=lambda make: [
        ((make(2, 3, 6, 5), (3, 2)), {}),
        ((make(1, 2, 7), (3,)), {}),
    ],
    saves="result1",
)
def _adaptive_max_pool(input: Tensor, output_size):
    """Maxima of equal parts and their flat spatial positions."""
    refuse_unordered("adaptive_max_pool", input)
    return kernels.adaptive_max_pool_forward(input, output_size)


def _meta_unpool(input, indices, shape):
    kernels.check_positions(input, indices, tuple(shape))
    return tuple(shape), dtype_of(input)


@op(
    linear=True,
    batching="rows",
    keeps_format=(4, 5),
    meta=_meta_unpool,
    method=False,
    tested_by="_max_pool",
    samples=lambda make: [],
)
def _max_unpool(input: Tensor, indices: Tensor, shape):
    """Values put at flat spatial positions, adding up, zeros elsewhere."""
    return kernels.max_pool_backward(input, indices, tuple(shape))


def _pick(input, indices):
    """The values at flat spatial positions: the transpose of `_max_unpool`."""
    flat = input.reshape(*input.shape[:2], -1)
    picked = flat.gather(2, indices.reshape(*indices.shape[:2], -1))
    return picked.reshape(tuple(indices.shape))


_max_unpool.gradient(input=lambda grad, indices: _pick(grad, indices))


def _max_gradient(grad, out1, input_shape, kernel_size, stride, padding, dilation, ceil_mode):
    settings = (kernel_size, stride, padding, dilation)
    if geometry.has_windows_beside(tuple(input_shape[2:]), *map(tuple, settings), ceil_mode):
        count = math.prod(input_shape[2:])
        grad = where((out1 >= 0) & (out1 < count), grad, 0.0)  # their maxima are no elements
        out1 = out1.clamp(0, count - 1)
    return _max_unpool(grad, out1, input_shape)


_max_pool.gradient(input=_max_gradient)
_adaptive_max_pool.gradient(
    input=lambda grad, out1, input_shape: _max_unpool(grad, out1, input_shape)
)


def _avg_samples(make):
    return [
        ((make(2, 3, 6, 5), (2, 2), (2, 2), (0, 0), False, True, None), {}),
        ((make(2, 2, 7, 5), (3, 2), (2, 1), (1, 1), True, False, None), {}),
        ((make(1, 2, 9), (3,), (2,), (1,), False, True, 2), {}),
    ]


@op(
    second_zero=("input",),
    linear=True,
    batching="rows",
    keeps_format=(4,),
    meta=_avg_meta,
    method=False,
    samples=_avg_samples,
    node=in_dims("AvgPool{}"),
    saves="ceil_mode count_include_pad divisor_override kernel_size padding stride",
)
def _avg_pool(
    input: Tensor, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    """Means of windows."""
    return kernels.avg_pool_forward(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@op(
    linear=True,
    batching="rows",
    meta=shaped(1),
    method=False,
    tested_by="_avg_pool",
    samples=lambda make: [],
)
def _avg_unpool(
    input: Tensor,
    shape,
    kernel_size,
    stride,
    padding,
    ceil_mode,
    count_include_pad,
    divisor_override,
):
    """The transpose of `_avg_pool`: every element spread over its window."""
    return kernels.avg_pool_backward(
        input,
        tuple(shape),
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


def _spread(
    grad, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    return _avg_unpool(
        grad,
        input_shape,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


def _gather(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    return _avg_pool(
        grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


_avg_pool.gradient(input=_spread)
_avg_unpool.gradient(input=_gather)


@op(
    node=in_dims("AdaptiveAvgPool{}"),
    second_zero=("input",),
    second_if=lambda input, output_size: any(n != 1 for n in output_size),  # else a mean
    linear=True,
    batching="rows",
    keeps_format=(4,),
    meta=_adaptive_meta,
    method=False,
    samples=lambda make: [
        ((make(2, 3, 6, 5), (3, 2)), {}),
        ((make(1, 2, 7), (3,)), {}),
    ],
    saves="",
)
def _adaptive_avg_pool(input: Tensor, output_size):
    """Means of equal parts."""
    return kernels.adaptive_avg_pool_forward(input, output_size)


@op(
    linear=True,
    batching="rows",
    meta=shaped(1),
    method=False,
    tested_by="_adaptive_avg_pool",
    samples=lambda make: [],
)
def _adaptive_avg_unpool(input: Tensor, shape):
    """The transpose of `_adaptive_avg_pool`."""
    return kernels.adaptive_avg_pool_backward(input, tuple(shape))


_adaptive_avg_pool.gradient(input=lambda grad, input_shape: _adaptive_avg_unpool(grad, input_shape))
_adaptive_avg_unpool.gradient(
    input=lambda grad, input_shape: _adaptive_avg_pool(grad, tuple(input_shape[2:]))
)


# ------------------------------------------------------------------------------------------ public
def _lacks_batch(name, shape, count):
    """Whether a shape is that of an input without a batch dimension."""
    if len(shape) not in (count + 1, count + 2):
        raise RuntimeError(
            f"{name}: Expected {count + 1}D or {count + 2}D (batch mode) tensor, but got: "
            f"{shape_text(shape)}"
        )
    added = len(shape) == count + 1
    if 0 in shape[0 if added else 1 :]:
        raise RuntimeError(
            f"{name}: Expected input's non-batch dimensions to have positive length, but got: "
            f"{shape_text(shape)}"
        )
    return added


def _batched(name, input, count):
    """The input with a batch dimension, and whether it was added."""
    added = _lacks_batch(name, tuple(input.shape), count)
    return (input.unsqueeze(0) if added else input), added


def _window(name, count, kernel_size, stride, padding):
    kernel = spatial(kernel_size, count, "kernel_size", name)
    if stride is None or stride == [] or stride == ():
        stride = kernel
    stride = spatial(stride, count, "stride", name)
    padding = spatial(padding, count, "padding", name)
    if any(s <= 0 for s in stride):
        raise RuntimeError(f"{name}: stride should not be zero, got {stride}")
    if any(k <= 0 for k in kernel):
        raise RuntimeError(f"{name}: kernel_size must be greater than zero, but got {kernel}")
    for k, p in zip(kernel, padding, strict=True):
        if p < 0 or 2 * p > k:
            raise RuntimeError(
                f"{name}: pad should be at most half of effective kernel size, but got pad={p}, "
                f"kernel_size={k}"
            )
    return kernel, stride, padding


def _check_output(name, shape, kernel, stride, padding, dilation, ceil_mode):
    sizes = geometry.output_size(shape[2:], kernel, stride, padding, dilation, ceil_mode)
    if any(n < 1 for n in sizes):
        raise RuntimeError(
            f"{name}: Given input size: {shape_text(shape[1:])}. Calculated output size: "
            f"{[shape[1], *sizes]}. Output size is too small (kernel_size={kernel}, "
            f"stride={stride}, padding={padding})"
        )


def _settings(name, count, shape, kernel_size, stride, padding, dilation, ceil_mode):
    """Checked tuples of kernel, stride, padding and dilation for an input of a shape, whether it
    lacks a batch dimension, and that there is a result."""
    kernel, stride, padding = _window(name, count, kernel_size, stride, padding)
    dilation = spatial(dilation, count, "dilation", name)
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"{name}: dilation must be greater than zero, but got {dilation}")
    added = _lacks_batch(name, shape, count)
    batched = (1, *shape) if added else shape
    _check_output(name, batched, kernel, stride, padding, dilation, ceil_mode)
    return kernel, stride, padding, dilation, added


_checked_settings = functools.lru_cache(maxsize=512)(_settings)


def _checked(*settings):
    """:func:`_settings`, remembered."""
    try:
        return _checked_settings(*settings)
    except TypeError:  # lists
        return _settings(*settings)


def _max(count, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    name, shape = f"max_pool{count}d", input._array.shape
    *settings, added = _checked(
        name, count, shape, kernel_size, stride, padding, dilation, bool(ceil_mode)
    )
    if not added and is_plain_float(input):
        values, places = kernels.max_pool_forward(
            input._array, *settings, bool(ceil_mode), return_indices
        )
        return (tensor_of(values), tensor_of(places)) if return_indices else tensor_of(values)
    found = _max_pool(input.unsqueeze(0) if added else input, *settings, bool(ceil_mode))
    found = tuple(t.squeeze(0) for t in found) if added else found
    return found if return_indices else found[0]


def _avg(count, input, kernel_size, stride, padding, ceil_mode, include, divisor):
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    name = f"avg_pool{count}d"
    kernel, stride, padding, _, added = _checked(
        name, count, input._array.shape, kernel_size, stride, padding, 1, bool(ceil_mode)
    )
    if not added and is_plain_float(input):
        settings = kernel, stride, padding, bool(ceil_mode), bool(include), divisor
        return tensor_of(_avg_pool.op.cpu_kernel(input._array, *settings))
    refuse_complex(name, input._array)
    batched = input.unsqueeze(0) if added else input
    out = _avg_pool(batched, kernel, stride, padding, bool(ceil_mode), bool(include), divisor)
    return out.squeeze(0) if added else out


@composite(
    schemas=max_pool_schemas(1),
    aten_call=pooled("max_pool1d"),
    method=False,
    samples=lambda make: [(make(2, 6), 2), (make(1, 2, 9), 3, 2, 1, 1, True)],
)
def max_pool1d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    dilation=1,
    ceil_mode=False,
    return_indices=False,
):
    """Maxima of windows of (N, C, L) or (C, L); with `return_indices` also where they were."""
    return _max(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@composite(
    schemas=max_pool_schemas(2),
    aten_call=pooled("max_pool2d"),
    method=False,
    samples=lambda make: [
        (make(1, 2, 6, 5), 2),
        (make(2, 7, 5), (3, 2), (2, 1), (1, 0), (1, 2), True),
    ],
)
def max_pool2d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    dilation=1,
    ceil_mode=False,
    return_indices=False,
):
    """Maxima of windows of (N, C, H, W) or (C, H, W); with `return_indices` also where they were.

    >>> x = rushlight.arange(16.0).reshape(1, 4, 4)
    >>> rushlight.max_pool2d(x, 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    return _max(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@composite(
    schemas=max_pool_schemas(3),
    aten_call=pooled("max_pool3d"),
    method=False,
    samples=lambda make: [(make(1, 2, 4, 4, 3), 2), (make(1, 5, 4, 3), (3, 2, 2), 1, (1, 0, 0))],
    autocast="float32",
)
def max_pool3d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    dilation=1,
    ceil_mode=False,
    return_indices=False,
):
    """Maxima of windows of (N, C, D, H, W) or (C, D, H, W)."""
    return _max(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@composite(
    schemas=avg_pool_schemas(1),
    aten_call=pooled("avg_pool1d"),
    method=False,
    samples=lambda make: [(make(2, 6), 2), (make(1, 2, 9), 3, 2, 1, True, False)],
)
def avg_pool1d(
    input: Tensor, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True
):
    """Means of windows of (N, C, L) or (C, L)."""
    return _avg(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@composite(
    schemas=avg_pool_schemas(2),
    aten_call=pooled("avg_pool2d"),
    method=False,
    oracle="nn.functional",
    samples=lambda make: [
        (make(1, 2, 6, 5), 2),
        (make(2, 7, 5), (3, 2), (2, 1), 1, True, False),
        (make(1, 2, 4, 4), 2, 1, 0, False, True, 3),
    ],
)
def avg_pool2d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    """Means of windows of (N, C, H, W) or (C, H, W)."""
    return _avg(
        2,
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


@composite(
    schemas=avg_pool_schemas(3),
    aten_call=pooled("avg_pool3d"),
    method=False,
    oracle="nn.functional",
    samples=lambda make: [
        (make(1, 2, 4, 4, 3), 2),
        (make(1, 5, 4, 3), (3, 2, 2), 1, (1, 0, 0), True, False),
    ],
    autocast="float32",
)
def avg_pool3d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    """Means of windows of (N, C, D, H, W) or (C, D, H, W)."""
    return _avg(
        3,
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


def _sizes(name, output_size, input, count):
    if input.dim() < count + 1:
        kind = RuntimeError if count == 1 else ValueError
        raise kind(
            f"{name}: Input dimension should be at least {count + 1}, got shape "
            f"{shape_text(input.shape)}"
        )
    if isinstance(output_size, (tuple, list)) and len(output_size) != count:
        raise RuntimeError(
            f"{name}: 'output_size' should contain {count} ints, got {tuple(output_size)}"
        )
    given = output_size if isinstance(output_size, (tuple, list)) else (output_size,)
    if any(n is not None and n < 0 for n in given):
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0, got {given}"
        )
    wanted = (output_size,) * count if isinstance(output_size, int | type(None)) else output_size
    have = input.shape[-count:]
    return tuple(h if w is None else w for w, h in zip(wanted, have, strict=True))


def _adaptive_of_nothing(name, function, count, input, sizes):
    """Parts of an input without elements: none, but one mean of nothing is nan."""
    if function is _adaptive_avg_pool and set(sizes) == {1}:
        return input.mean(tuple(range(-count, 0)), True)
    if 0 in input.shape[1:]:
        _batched(name, input[:1], count)  # says what is wrong
    shape = (*input.shape[:-count], *sizes)
    found = (
        with_history(input).flatten(-count)[..., :1].expand(*input.shape[:-count], math.prod(sizes))
    )
    found = found.reshape(shape).clone()  # not a view of one element that nobody may write to
    return found if function is _adaptive_avg_pool else (found, found.long())


def _adaptive(name, function, count, input, output_size):
    sizes = _sizes(name, output_size, input, count)
    if not input.numel():
        return _adaptive_of_nothing(name, function, count, input, sizes)
    batched, added = _batched(name, input, count)
    if function is _adaptive_avg_pool and is_plain_float(batched):
        array = function.op.cpu_kernel(batched._array, sizes)
        return tensor_of(array[0] if added else array)
    if function is _adaptive_avg_pool:
        refuse_complex(name, batched._array)
    found = function(batched, sizes)
    if not added:
        return found
    return tuple(t.squeeze(0) for t in found) if isinstance(found, tuple) else found.squeeze(0)


@composite(
    schemas=("adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",),
    aten_call=adaptively_pooled("adaptive_avg_pool1d"),
    method=False,
    samples=lambda make: [(make(2, 6), 4), (make(1, 2, 7), 3)],
)
def adaptive_avg_pool1d(input: Tensor, output_size):
    """Means of `output_size` equal parts of (N, C, L) or (C, L)."""
    return _adaptive("adaptive_avg_pool1d", _adaptive_avg_pool, 1, input, output_size)


@composite(
    schemas=("adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",),
    aten_call=adaptively_pooled("adaptive_avg_pool2d"),
    method=False,
    oracle="nn.functional",
    samples=lambda make: [(make(1, 2, 6, 5), (3, 2)), (make(2, 4, 5), (None, 3))],
)
def adaptive_avg_pool2d(input: Tensor, output_size):
    """Means of equal parts of (N, C, H, W); None keeps a size."""
    return _adaptive("adaptive_avg_pool2d", _adaptive_avg_pool, 2, input, output_size)


@composite(
    schemas=("adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",),
    aten_call=adaptively_pooled("adaptive_avg_pool3d"),
    method=False,
    oracle="nn.functional",
    samples=lambda make: [(make(1, 2, 4, 4, 3), (3, 2, 2)), (make(1, 4, 3, 3), 2)],
    autocast="float32",
)
def adaptive_avg_pool3d(input: Tensor, output_size):
    """Means of equal parts of (N, C, D, H, W); None keeps a size."""
    return _adaptive("adaptive_avg_pool3d", _adaptive_avg_pool, 3, input, output_size)


def _adaptive_max(name, count, input, output_size, return_indices):
    found = _adaptive(name, _adaptive_max_pool, count, input, output_size)
    return found if return_indices else found[0]


@composite(
    schemas=("adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",),
    aten_call=adaptively_pooled("adaptive_max_pool1d"),
    method=False,
    oracle="nn.functional",
    samples=lambda make: [(make(2, 6), 4), (make(1, 2, 7), 3)],
)
def adaptive_max_pool1d(input: Tensor, output_size, return_indices=False):
    """Maxima of `output_size` equal parts of (N, C, L) or (C, L)."""
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size, return_indices)


@composite(
    schemas=("adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",),
    aten_call=adaptively_pooled("adaptive_max_pool2d"),
    method=False,
    oracle="nn.functional",
    samples=lambda make: [(make(1, 2, 6, 5), (3, 2)), (make(2, 4, 5), (None, 3))],
)
def adaptive_max_pool2d(input: Tensor, output_size, return_indices=False):
    """Maxima of equal parts of (N, C, H, W); None keeps a size."""
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size, return_indices)


@composite(
    schemas=("adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",),
    aten_call=adaptively_pooled("adaptive_max_pool3d"),
    method=False,
    oracle="nn.functional",
    samples=lambda make: [(make(1, 2, 4, 4, 3), (3, 2, 2)), (make(1, 4, 3, 3), 2)],
    autocast="float32",
)
def adaptive_max_pool3d(input: Tensor, output_size, return_indices=False):
    """Maxima of equal parts of (N, C, D, H, W); None keeps a size."""
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size, return_indices)
