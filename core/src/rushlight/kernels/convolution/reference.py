"""Convolution in float64 by its definition, and what its arguments must be."""

from __future__ import annotations

import functools

from rushlight.kernels.convolution.columns_product import crop, output_size, padded, taps
from rushlight.machine import np

__all__ = [
    "check",
    "check_gradient",
    "forward_reference",
    "input_gradient_reference",
    "weight_gradient_reference",
]


@functools.lru_cache(maxsize=1024)
def check(op, input_shape, weight_shape, stride, padding, dilation, groups):
    """Spatial sizes of the result; ValueError where shapes do not fit."""
    spatial = len(weight_shape) - 2
    lengths = (len(input_shape) - 2, len(stride), len(padding), len(dilation))
    if spatial not in (1, 2, 3) or any(length != spatial for length in lengths):
        raise ValueError(
            f"{op}: input {input_shape}, weight {weight_shape}, stride {stride}, padding "
            f"{padding} and dilation {dilation} must have the same 1, 2 or 3 spatial dims"
        )
    if input_shape[1] != weight_shape[1] * groups or weight_shape[0] % groups:
        raise ValueError(
            f"{op}: weight {weight_shape} with groups={groups} expects input with "
            f"{weight_shape[1] * groups} channels and outputs divisible by groups, got input "
            f"{input_shape}"
        )
    size = output_size(input_shape[2:], weight_shape[2:], stride, padding, dilation)
    if min(size) < 1:
        raise ValueError(
            f"{op}: kernel {weight_shape[2:]} with dilation {dilation} is larger than the padded "
            f"input {tuple(n + 2 * p for n, p in zip(input_shape[2:], padding, strict=True))}"
        )
    return size


def check_gradient(op, grad, expected):
    """ValueError where a gradient has another shape than the result."""
    if grad.shape != expected:
        raise ValueError(f"{op}: grad has shape {grad.shape}, expected {expected}")


def _split_groups(x, groups):
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])


def forward_reference(input, weight, bias, stride, padding, dilation, groups):
    """The convolution."""
    kernel = weight.shape[2:]
    size = check("convolution", input.shape, weight.shape, stride, padding, dilation, groups)
    wide = padded(input, padding)
    w = weight.astype(np.float64).reshape(groups, -1, *weight.shape[1:])
    out = np.zeros((input.shape[0], groups, w.shape[1], *size))
    for tap, window in taps(kernel, size, stride, dilation):
        x = _split_groups(wide[(..., *window)], groups)
        out += np.einsum("ngc...,goc->ngo...", x, w[(..., *tap)])
    out = out.reshape(input.shape[0], weight.shape[0], *size)
    if bias is not None:
        out = out + bias.astype(np.float64).reshape(-1, *[1] * len(size))
    return out.astype(input.dtype)


def input_gradient_reference(grad, weight, input_shape, stride, padding, dilation, groups):
    """The gradient of the input."""
    kernel, size = weight.shape[2:], grad.shape[2:]
    op = "convolution_input_gradient"
    out = check(op, input_shape, weight.shape, stride, padding, dilation, groups)
    check_gradient(op, grad, (input_shape[0], weight.shape[0], *out))
    w = weight.astype(np.float64).reshape(groups, -1, *weight.shape[1:])
    wide = padded(np.zeros(input_shape), padding)
    dy = _split_groups(grad.astype(np.float64), groups)
    for tap, window in taps(kernel, size, stride, dilation):
        part = np.einsum("ngo...,goc->ngc...", dy, w[(..., *tap)])
        wide[(..., *window)] += part.reshape(*input_shape[:2], *size)
    return crop(wide, input_shape, padding).astype(grad.dtype)


def transposed_reference(input, weight, bias, shape, stride, padding, dilation, groups):
    """The transpose of a convolution, and a bias."""
    wide = [array.astype(np.float64) for array in (input, weight)]
    found = input_gradient_reference(*wide, shape, stride, padding, dilation, groups)
    found = found + bias.astype(np.float64).reshape(-1, *(1,) * (len(shape) - 2))
    return found.astype(input.dtype)


def weight_gradient_reference(grad, input, weight_shape, stride, padding, dilation, groups):
    """The gradient of the weight."""
    kernel, size = weight_shape[2:], grad.shape[2:]
    op = "convolution_weight_gradient"
    out = check(op, input.shape, weight_shape, stride, padding, dilation, groups)
    check_gradient(op, grad, (input.shape[0], weight_shape[0], *out))
    wide = padded(input, padding)
    dy = _split_groups(grad.astype(np.float64), groups)
    dw = np.zeros((groups, weight_shape[0] // groups, *weight_shape[1:]))
    for tap, window in taps(kernel, size, stride, dilation):
        x = _split_groups(wide[(..., *window)], groups)
        flat = [v.reshape(*v.shape[:3], int(np.prod(size))) for v in (dy, x)]
        dw[(..., *tap)] = np.einsum("ngop,ngcp->goc", *flat)
    return dw.reshape(weight_shape).astype(grad.dtype)
