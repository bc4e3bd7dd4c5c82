"""Maximum, average and adaptive pooling of (N, C, *S) with one to three spatial dims."""

from __future__ import annotations

from rushlight.kernels.launch.cuda import empty, grid_of, launch
from rushlight.kernels.pooling.geometry import output_size
from rushlight.machine import np
from rushlight.machine.cuda import sources

__all__ = [
    "adaptive_avg_pool_backward",
    "adaptive_avg_pool_forward",
    "adaptive_max_pool_forward",
    "avg_pool_backward",
    "avg_pool_forward",
    "max_pool_backward",
    "max_pool_forward",
]

_INT64 = np.dtype(np.int64)


def three(values, neutral=1):
    """Values of up to three spatial dims as three."""
    return [neutral] * (3 - len(values)) + [int(v) for v in values]


def _windows(shape, out, kernel, stride, padding, dilation, adaptive=False, count_padding=True,
             divisor=0):  # fmt: skip
    return np.array(
        [shape[0] * shape[1], *three(shape[2:]), *three(out), *three(kernel), *three(stride),
         *three(padding, 0), *three(dilation), adaptive, count_padding, divisor or 0],
        _INT64,
    )  # fmt: skip


def _adaptive(shape, out):
    one = (1,) * len(out)
    return _windows(shape, out, one, one, (0,) * len(out), one, adaptive=True)


def _launch(name, first, others, windows, items):
    kernel = sources.kernel("pooling", name, T=first.dtype)
    arguments = (first.address, *[a.address for a in others], windows)
    launch(kernel, grid_of(items, first.device), 256, arguments, first.device)


def _maxima(input, out, windows):
    x = input.contiguous()
    shape = (*x.shape[:2], *out)
    y, places = empty(shape, x.dtype, x.device), empty(shape, _INT64, x.device)
    if y.size:
        _launch("max_forward", x, (y, places), windows, y.size)
    return y, places


def max_pool_forward(input, kernel_size, stride, padding, dilation, ceil_mode):
    """Maxima of windows and their flat spatial positions (int64); NaN wins."""
    out = output_size(input.shape[2:], kernel_size, stride, padding, dilation, ceil_mode)
    return _maxima(input, out, _windows(input.shape, out, kernel_size, stride, padding, dilation))


def adaptive_max_pool_forward(input, output_size):
    """Maxima of the windows of :func:`adaptive_avg_pool_forward`, and their flat positions."""
    return _maxima(input, tuple(output_size), _adaptive(input.shape, tuple(output_size)))


def max_pool_backward(grad, indices, input_shape):
    """Gradient of any maximum pooling (adaptive too) from the positions it returned."""
    grad, places = grad.contiguous(), indices.astype(_INT64, copy=False).contiguous()
    wide = sources.compute_dtype(grad.dtype)
    dx = empty(tuple(input_shape), wide, grad.device)
    if dx.size:
        planes = input_shape[0] * input_shape[1]
        kernel = sources.kernel("pooling", "max_backward", T=grad.dtype)
        arguments = (grad.address, places.address, dx.address, planes, grad.size // planes,
                     dx.size // planes)  # fmt: skip
        launch(kernel, -(-planes // 4), (32, 4, 1), arguments, grad.device)
    return dx.astype(grad.dtype, copy=False)


def _averages(input, out, windows):
    x = input.contiguous()
    y = empty((*x.shape[:2], *out), x.dtype, x.device)
    if y.size:
        _launch("average_forward", x, (y,), windows, y.size)
    return y


def _spread(grad, input_shape, windows):
    grad = grad.contiguous()
    dx = empty(tuple(input_shape), grad.dtype, grad.device)
    if dx.size:
        _launch("average_backward", grad, (dx,), windows, dx.size)
    return dx


def avg_pool_forward(
    input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    """Means of windows; torch's rules for padding and ``ceil_mode`` in the divisor."""
    one = (1,) * len(kernel_size)
    out = output_size(input.shape[2:], kernel_size, stride, padding, one, ceil_mode)
    windows = _windows(input.shape, out, kernel_size, stride, padding, one, False,
                       count_include_pad, divisor_override)  # fmt: skip
    return _averages(input, out, windows)


def avg_pool_backward(
    grad, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    """Gradient of :func:`avg_pool_forward` with respect to its input."""
    one = (1,) * len(kernel_size)
    windows = _windows(input_shape, grad.shape[2:], kernel_size, stride, padding, one, False,
                       count_include_pad, divisor_override)  # fmt: skip
    return _spread(grad, input_shape, windows)


def adaptive_avg_pool_forward(input, output_size):
    """Means of windows that divide every spatial dim into ``output_size`` parts."""
    out = tuple(output_size)
    return _averages(input, out, _adaptive(input.shape, out))


def adaptive_avg_pool_backward(grad, input_shape):
    """Gradient of :func:`adaptive_avg_pool_forward` with respect to its input."""
    return _spread(grad, input_shape, _adaptive(tuple(input_shape), grad.shape[2:]))
