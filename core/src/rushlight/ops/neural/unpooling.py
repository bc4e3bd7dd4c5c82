"""Pools of other kinds: unpooling, power means, and fractional steps."""

from __future__ import annotations

import inspect

from rushlight.dtypes import FLOAT
from rushlight.errors import shape_text
from rushlight.machine import np
from rushlight.ops._table.aten import in_aten
from rushlight.ops._table.second_order import with_history
from rushlight.ops.creation.tensors import beside, zeros
from rushlight.ops.neural.convolution import spatial
from rushlight.ops.neural.pooling import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from rushlight.ops.random.sampling import rand
from rushlight.ops.shape.copying import in_format_of
from rushlight.tensor.dispatch import readable
from rushlight.tensor.overriding import overridable


# ------------------------------------------------------------------------------------- unpooling
def _unpooled_size(name, input, kernel, stride, padding, output_size):
    count = len(kernel)
    default = [
        (n - 1) * s + k - 2 * p
        for n, k, s, p in zip(input.shape[-count:], kernel, stride, padding, strict=True)
    ]
    if output_size is None:
        return tuple(default)
    sizes = tuple(output_size)
    if len(sizes) == count + 2:
        sizes = sizes[2:]
    if len(sizes) != count:
        raise ValueError(
            f"output_size should be a sequence containing {count} or {count + 2} elements, but it "
            f"has a length of '{len(sizes)}'"
        )
    for d, (n, wanted, s) in enumerate(zip(default, sizes, stride, strict=True)):
        if not n - s < wanted < n + s:
            raise ValueError(
                f'invalid output_size "{sizes}" (dim {d} must be between {n - s} and {n + s})'
            )
    return sizes


def _unpool(name, count, input, indices, kernel_size, stride, padding, output_size):
    kernel = spatial(kernel_size, count, "kernel_size", name)
    stride = kernel if stride is None else spatial(stride, count, "stride", name)
    padding = spatial(padding, count, "padding", name)
    sizes = _unpooled_size(name, input, kernel, stride, padding, output_size)
    if any(s <= 0 for s in stride):
        raise RuntimeError(f"{name}: strides should be greater than zero, but got {stride}")
    if count == 3:
        return _in_volumes(input, indices, sizes, stride, padding)
    if count == 2:
        return _in_planes(input, indices, sizes)
    planes = (each.unsqueeze(-1) for each in (input, indices))
    return _in_planes(*planes, (*sizes, 1)).squeeze(-1)


def put_back(name, input, indices, sizes):
    """Values of ``(N, C, ...)`` at `indices` of results whose last dimensions have some `sizes`."""
    count = len(sizes)
    if indices.dtype.name != "int64":
        raise RuntimeError(
            f"elements in indices should be type int64 but got: {indices.dtype.name}"
        )
    if input.shape != indices.shape:
        raise RuntimeError(
            f"{name}: Expected shape of indices to be same as that of the input tensor "
            f"({shape_text(input.shape)}) but got indices tensor with shape: "
            f"{shape_text(indices.shape)}"
        )
    if input.dim() not in (count + 1, count + 2):
        raise RuntimeError(
            f"{name}: Input to {name} should be a {count + 1}d or {count + 2}d Tensor, but got "
            f"{shape_text(input.shape)}"
        )
    if 0 in input.shape[-count - 1 :]:
        raise RuntimeError(
            f"{name}: Expected input to have non-zero size for non-batch dimensions, but got "
            f"{shape_text(input.shape)}"
        )
    area = int(np.prod(sizes))
    found = indices.numpy() if readable(indices) else np.zeros(0)
    if found.size and not 0 <= found.min() <= found.max() < area:
        raise RuntimeError(
            f"{name}: found an invalid max index outside 0 to {area - 1} (output size "
            f"{'x'.join(map(str, sizes))})"
        )
    lead = tuple(input.shape[:-count])
    base = zeros((*lead, area), dtype=input.dtype, device=input.device)
    values = input.reshape(*lead, -1)
    return base.scatter(-1, indices.reshape(tuple(values.shape)), values).reshape(*lead, *sizes)


@in_aten("max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor")
@overridable(as_given=True)
def _in_planes(self, indices, output_size):
    return in_format_of(self, put_back("max_unpool2d", self, indices, tuple(output_size)))


@in_aten(
    "max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, "
    "int[3] padding) -> Tensor"
)
@overridable(as_given=True)
def _in_volumes(self, indices, output_size, stride, padding):
    return put_back("max_unpool3d", self, indices, tuple(output_size))


@overridable
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Values of (N, C, L) put back where :func:`max_pool1d` found them, zeros elsewhere."""
    return _unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


@overridable
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Values of (N, C, H, W) put back where :func:`max_pool2d` found them, zeros elsewhere."""
    return _unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


@overridable
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Values of (N, C, D, H, W) put back where :func:`max_pool3d` found them, zeros elsewhere."""
    return _unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)


# ----------------------------------------------------------------------------------- power means
def _power(count, average, input, norm_type, kernel_size, stride, ceil_mode):
    kernel = spatial(kernel_size, count, "kernel_size", f"lp_pool{count}d")
    means = average(input.pow(norm_type), kernel, stride, 0, ceil_mode)
    return (means.sign() * means.abs().relu() * int(np.prod(kernel))).pow(1.0 / norm_type)


@overridable
def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """``sum(x ** norm_type) ** (1 / norm_type)`` over windows of (N, C, L) or (C, L)."""
    return _power(1, avg_pool1d, input, norm_type, kernel_size, stride, ceil_mode)


@overridable
def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """:func:`lp_pool1d` over windows of (N, C, H, W) or (C, H, W)."""
    return _power(2, avg_pool2d, input, norm_type, kernel_size, stride, ceil_mode)


@overridable
def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """:func:`lp_pool1d` over windows of (N, C, D, H, W) or (C, D, H, W)."""
    return _power(3, avg_pool3d, input, norm_type, kernel_size, stride, ceil_mode)


# ---------------------------------------------------------------------------------- fractional
def _starts(samples, size, out, kernel):
    """Where the windows of one dimension begin, for every (N, C): int64 (N, C, out)."""
    places = np.arange(out)
    if out == 1:
        return np.full((*samples.shape, 1), size - kernel, np.int64)
    step = samples.dtype.type(size - kernel) / samples.dtype.type(out - 1)
    moved = (places + samples[..., None]) * step
    starts = moved.astype(np.int64) - (samples * step).astype(np.int64)[..., None]
    starts[..., -1] = size - kernel
    return starts


def _fractional_sizes(name, input, kernel_size, output_size, output_ratio, count):
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else [output_ratio] * count
        output_size = [int(n * r) for n, r in zip(input.shape[-count:], ratios, strict=True)]
    sizes = spatial(output_size, count, "output_size", name)
    kernel = spatial(kernel_size, count, "kernel_size", name)
    if input.dim() not in (count + 1, count + 2) or 0 in input.shape[-count - 1 :]:
        raise RuntimeError(
            f"{name}(): Expected {count + 1}D or {count + 2}D tensor with non-zero sizes but the "
            f"batch's, but got: {shape_text(input.shape)}"
        )
    spare = int(count == 3)  # in three dimensions PyTorch asks for one element more
    for n, out, k in zip(input.shape[-count:], sizes, kernel, strict=True):
        if out < 1 or k < 1 or out + k - 1 + spare > n:
            raise RuntimeError(
                f"{name}(): windows of {kernel} do not fit {sizes} times into input of shape "
                f"{shape_text(input.shape)}"
            )
    return sizes, kernel


def _fractional(name, count, input, kernel_size, output_size, output_ratio, samples, indices):
    sizes, kernel = _fractional_sizes(name, input, kernel_size, output_size, output_ratio, count)
    if input._dtype.category != FLOAT:
        raise RuntimeError(f'"{name}" not implemented for {input._dtype}')
    batched = input if input.dim() == count + 2 else input.unsqueeze(0)
    n, c = batched.shape[:2]
    if samples is None:
        samples = rand(n, c, count, dtype=input.dtype, device=input.device)
    elif batched is not input:
        samples = samples[:1]  # PyTorch takes samples of a batch for one image too
    _check_samples(name, input, samples, (n, c, count))
    # one index per output element and kernel element: (N, C, outputs, windows)
    flat = None
    for dim in range(count):
        # PyTorch reads the samples of images from the last dimension, of volumes from the first
        column = 1 - dim if count == 2 else dim
        start = _starts(samples._array[..., column], batched.shape[2 + dim], sizes[dim],
                        kernel[dim])  # fmt: skip
        places = start[..., :, None] + np.arange(kernel[dim])
        if flat is None:
            flat = places
            continue
        flat = flat[..., :, None, :, None] * batched.shape[2 + dim]
        flat = flat + places[..., None, :, None, :]
        flat = flat.reshape(n, c, flat.shape[2] * flat.shape[3], flat.shape[4] * flat.shape[5])
    area = int(np.prod(batched.shape[2:]))
    values = batched.detach().reshape(n, c, 1, area)._array
    windows = np.take_along_axis(values, flat, 3)
    best = _first_largest(windows)
    index = beside(input, np.take_along_axis(flat, best[..., None], 3)[..., 0])
    out = with_history(batched).reshape(n, c, area).gather(2, index).reshape(n, c, *sizes)
    index = index.reshape(n, c, *sizes)
    if batched is not input:
        out, index = out.squeeze(0), index.squeeze(0)
    return (out, index) if indices else out


def _first_largest(windows):
    """The position of the maximum; of a NaN the last one, as PyTorch finds it."""
    nan = windows != windows
    last = windows.shape[-1] - 1 - np.argmax(nan[..., ::-1], -1)
    return np.where(nan.any(-1), last, np.argmax(np.where(nan, -np.inf, windows), -1))


def _check_samples(name, input, samples, expected):
    if samples._dtype is not input._dtype:
        raise RuntimeError(f"Expect _random_samples to have the same dtype as input ({name})")
    if samples.dim() != 3 or tuple(samples.shape) != expected:
        raise RuntimeError(
            f"{name}: Expect _random_samples of shape {list(expected)} (N, C, dims), got "
            f"{shape_text(samples.shape)}"
        )


@overridable
def fractional_max_pool2d(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """Maxima of windows of (N, C, H, W) at random steps that give `output_size`. (Graham, 2014.)"""
    return _fractional(
        "fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio,
        _random_samples, return_indices,
    )  # fmt: skip


@overridable
def fractional_max_pool3d(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """Maxima of windows of (N, C, D, H, W) at random steps that give `output_size`."""
    return _fractional(
        "fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio,
        _random_samples, return_indices,
    )  # fmt: skip


_SHORTEST = 3  # arguments by position among which none says whether to give indices


def _indexed(function):
    def call(*args, **kwargs):
        if len(args) < _SHORTEST:
            return function(*args, **{**kwargs, "return_indices": True})
        given = inspect.signature(function).bind(*args, **kwargs)
        given.arguments["return_indices"] = True
        return function(*given.args, **given.kwargs)

    call.__name__ = call.__qualname__ = function.__name__ + "_with_indices"
    call.__doc__ = f":func:`{function.__name__}` with the positions of the maxima."
    return call


max_pool1d_with_indices = _indexed(max_pool1d)
max_pool2d_with_indices = _indexed(max_pool2d)
max_pool3d_with_indices = _indexed(max_pool3d)
adaptive_max_pool1d_with_indices = _indexed(adaptive_max_pool1d)
adaptive_max_pool2d_with_indices = _indexed(adaptive_max_pool2d)
adaptive_max_pool3d_with_indices = _indexed(adaptive_max_pool3d)
fractional_max_pool2d_with_indices = _indexed(fractional_max_pool2d)
fractional_max_pool3d_with_indices = _indexed(fractional_max_pool3d)
