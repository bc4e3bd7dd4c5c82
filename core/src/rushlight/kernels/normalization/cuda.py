"""Layer, RMS, group and batch normalisation. Statistics are float32 for low precision."""

from __future__ import annotations

from rushlight.kernels.launch.cuda import address, empty, grid_of, launch, row_shape
from rushlight.machine import np
from rushlight.machine.cuda import sources

__all__ = [
    "batch_norm_eval",
    "batch_norm_train_backward",
    "batch_norm_train_forward",
    "group_norm_backward",
    "group_norm_forward",
    "layer_norm_backward",
    "layer_norm_forward",
    "rms_norm_backward",
    "rms_norm_forward",
]

FILE = "normalization"
PARTS_LIMIT = 256  # second stages read as many values a column
STRETCH = 1 << 14  # elements of a plane that one warp handles


def _weights(x, *arrays):
    """The dtype of the weights, and the weights in it: x's, or what computing is done in."""
    wide = sources.compute_dtype(x.dtype)
    given = [array for array in arrays if array is not None]
    dtype = x.dtype if all(array.dtype == x.dtype for array in given) else wide
    found = [None if a is None else a.astype(dtype, copy=False).contiguous() for a in arrays]
    return dtype, found


def _wide(x, *arrays):
    wide = sources.compute_dtype(x.dtype)
    return [None if a is None else a.astype(wide, copy=False).contiguous() for a in arrays]


def _rows(input, n, weight, bias, eps, affine, centred):
    x = input.contiguous()
    dtype, (weight, bias) = _weights(x, weight, bias)
    rows, wide = x.size // n, sources.compute_dtype(x.dtype)
    out = empty(x.shape, x.dtype, x.device)
    mean = empty((rows,), wide, x.device) if centred else None
    rstd = empty((rows,), wide, x.device)
    if rows:
        kernel = sources.kernel(FILE, "normalize_rows", T=x.dtype, W=dtype)
        grid, block = row_shape(rows, n, x.itemsize)
        arguments = (x.address, out.address, address(weight), address(bias), address(mean),
                     rstd.address, rows, n, np.float64(eps), *affine,
                     np.int32(centred))  # fmt: skip
        launch(kernel, grid, block, arguments, x.device)
    return out, mean, rstd


def _rows_backward(grad, input, weight, mean, rstd, n, affine):
    x, dy = input.contiguous(), grad.astype(input.dtype, copy=False).contiguous()
    dtype, (weight,) = _weights(x, weight)
    rows = x.size // n
    out = empty(x.shape, x.dtype, x.device)
    if rows:
        kernel = sources.kernel(FILE, "normalize_rows_backward", T=x.dtype, W=dtype)
        grid, block = row_shape(rows, n, x.itemsize)
        arguments = (dy.address, x.address, out.address, address(weight), address(mean),
                     rstd.address, rows, n, *affine)  # fmt: skip
        launch(kernel, grid, block, arguments, x.device)
    return out, x, dy


def _row_weights(dy, x, mean, rstd, n):
    """Gradients of weight and bias (n,) of rows, in two stages."""
    wide, rows = sources.compute_dtype(x.dtype), x.size // n
    both = empty((2, n), wide, x.device)
    parts = max(1, min(PARTS_LIMIT, rows // 64))
    of_part = max(1, -(-rows // parts))
    parts = max(1, -(-rows // of_part))
    partial = empty((parts, 2, n), wide, x.device)
    kernel = sources.kernel(FILE, "row_weight_partials", T=x.dtype, W=x.dtype)
    arguments = (dy.address, x.address, address(mean), rstd.address, partial.address, rows, n,
                 of_part)  # fmt: skip
    launch(kernel, (-(-n // 32), parts, 1), (32, 8, 1), arguments, x.device)
    kernel = sources.kernel(FILE, "add_partials", T=x.dtype, W=x.dtype)
    arguments = (partial.address, both[0].address, both[1].address, n, parts)
    launch(kernel, grid_of(2 * n, x.device), 256, arguments, x.device)
    return both[0], both[1]


def layer_norm_forward(input, normalized_size, weight, bias, eps):
    """Normalise each run of ``normalized_size`` last elements; returns (out, mean, rstd).

    mean and rstd are flat, one value per run, in the compute dtype.
    """
    return _rows(input, int(normalized_size), weight, bias, eps, (1, 1, 0), True)


def layer_norm_backward(grad, input, weight, mean, rstd, normalized_size):
    """(grad_input, grad_weight, grad_bias) of :func:`layer_norm_forward`; the latter two flat."""
    n = int(normalized_size)
    mean, rstd = _wide(input, mean, rstd)
    out, x, dy = _rows_backward(grad, input, weight, mean, rstd, n, (1, 1, 0))
    return (out, *_row_weights(dy, x, mean, rstd, n))


def rms_norm_forward(input, normalized_size, weight, eps):
    """Runs of ``normalized_size`` last elements over their root mean square: (out, rstd)."""
    out, _, rstd = _rows(input, int(normalized_size), weight, None, eps, (1, 1, 0), False)
    return out, rstd


def rms_norm_backward(grad, input, weight, rstd, normalized_size):
    """(grad_input, grad_weight) of :func:`rms_norm_forward`; the latter flat."""
    n = int(normalized_size)
    (rstd,) = _wide(input, rstd)
    out, x, dy = _rows_backward(grad, input, weight, None, rstd, n, (1, 1, 0))
    return out, _row_weights(dy, x, None, rstd, n)[0]


def _groups(input, groups):
    samples, channels = input.shape[0], input.shape[1]
    inner = input.size // max(1, samples * channels)
    return samples, channels // groups, inner


def group_norm_forward(input, groups, weight, bias, eps):
    """Normalise groups of channels of (N, C, *S); returns (out, mean, rstd), the latter (N * G)."""
    _, channels, inner = _groups(input, groups)
    return _rows(
        input, max(1, channels * inner), weight, bias, eps, (groups, channels, inner), True
    )


def group_norm_backward(grad, input, groups, weight, mean, rstd):
    """(grad_input, grad_weight, grad_bias) of :func:`group_norm_forward`."""
    samples, channels, inner = _groups(input, groups)
    mean, rstd = _wide(input, mean, rstd)
    affine = (groups, channels, inner)
    n = max(1, channels * inner)
    out, x, dy = _rows_backward(grad, input, weight, mean, rstd, n, affine)
    both = empty((2, groups * channels), sources.compute_dtype(x.dtype), x.device)
    kernel = sources.kernel(FILE, "group_weight_sums", T=x.dtype, W=x.dtype)
    arguments = (dy.address, x.address, mean.address, rstd.address, both[0].address,
                 both[1].address, samples, *affine)  # fmt: skip
    launch(kernel, groups * channels, 256, arguments, x.device)
    return out, both[0], both[1]


# ---- batch normalisation -------------------------------------------------------------------------


class _Planes:
    """An input (N, C, *S) as kernels see it; channels-last memory is (N * S, C, 1)."""

    def __init__(self, input):
        self.shape, self.order = input.shape, None
        if input.ndim > 2 and not input.flags.c_contiguous:
            order = (0, *range(2, input.ndim), 1)
            if input.transpose(order).flags.c_contiguous:
                self.order = order
        self.samples, self.channels = input.shape[:2]
        self.inner = input.size // max(1, self.samples * self.channels)
        self.count = self.samples * self.inner
        if self.order:
            self.samples, self.inner = self.count, 1
        blocks = self.channels if self.inner > 1 else -(-self.channels // 32)
        self.parts = max(1, min(PARTS_LIMIT, 512 // max(1, blocks), self.samples // 8))
        self.of_part = max(1, -(-self.samples // self.parts))
        self.parts = max(1, -(-self.samples // self.of_part))
        self.blocks = (max(1, blocks), self.parts, 1)

    def memory(self, array):
        """The array laid out as the kernels expect."""
        return (array if self.order is None else array.transpose(self.order)).contiguous()

    def result(self, dtype, device):
        """A new array of the input's shape and layout."""
        if self.order is None:
            return empty(self.shape, dtype, device)
        made = empty(tuple(self.shape[d] for d in self.order), dtype, device)
        return made.transpose((0, len(self.shape) - 1, *range(1, len(self.shape) - 1)))

    def named(self, planes, columns):
        """The kernel for this layout."""
        return planes if self.inner > 1 else columns

    def grid(self):
        """Grid for one pass over all elements."""
        if self.inner > 1:
            stretches = -(-self.inner // STRETCH)
            return (-(-self.samples * self.channels // 8), stretches, 1)
        return (-(-self.channels // 32), max(1, min(1024, -(-self.samples // 32))), 1)

    def extents(self):
        """The sizes that kernels of this layout take for one pass."""
        if self.inner > 1:
            return self.samples * self.channels, self.channels, self.inner, STRETCH
        return self.samples, self.channels


def _moments(planes, x, eps):
    wide = sources.compute_dtype(x.dtype)
    both = empty((2, planes.channels), wide, x.device)
    partial = empty((planes.parts, planes.channels, 3), wide, x.device)
    kernel = sources.kernel(
        FILE, planes.named("plane_moments", "column_moments"), T=x.dtype, W=x.dtype
    )
    inner = (planes.inner,) if planes.inner > 1 else ()
    arguments = (x.address, partial.address, planes.samples, planes.channels, *inner,
                 planes.of_part)  # fmt: skip
    launch(kernel, planes.blocks, (32, 8, 1), arguments, x.device)
    kernel = sources.kernel(FILE, "finish_moments", T=x.dtype, W=x.dtype)
    arguments = (partial.address, both[0].address, both[1].address, planes.channels, planes.parts,
                 np.float64(eps))  # fmt: skip
    launch(kernel, grid_of(planes.channels, x.device), 256, arguments, x.device)
    return both[0], both[1]


def _apply(planes, x, weight, bias, mean, spread, eps):
    dtype, (weight, bias) = _weights(x, weight, bias)
    out = planes.result(x.dtype, x.device)
    if out.size:
        kernel = sources.kernel(
            FILE, planes.named("apply_planes", "apply_columns"), T=x.dtype, W=dtype
        )
        arguments = (x.address, out.address, mean.address, spread.address, address(weight),
                     address(bias), *planes.extents(), np.float64(eps))  # fmt: skip
        launch(kernel, planes.grid(), (32, 8, 1), arguments, x.device)
    return out


def batch_norm_train_forward(input, weight, bias, eps):
    """Normalise input (N, C, *S) by its own statistics over N and S.

    Returns (out, mean, invstd), the latter two (C,) in the compute dtype; the variance is the
    biased one: var = 1 / invstd**2 - eps. Channels-last memory stays so.
    """
    planes = _Planes(input)
    x = planes.memory(input)
    mean, invstd = _moments(planes, x, eps)
    return _apply(planes, x, weight, bias, mean, invstd, -1.0), mean, invstd


def batch_norm_train_backward(grad, input, weight, mean, invstd):
    """(grad_input, grad_weight, grad_bias) of :func:`batch_norm_train_forward`."""
    planes = _Planes(input)
    x, dy = planes.memory(input), planes.memory(grad.astype(input.dtype, copy=False))
    dtype, (weight,) = _weights(x, weight)
    mean, invstd = _wide(x, mean, invstd)
    wide = sources.compute_dtype(x.dtype)
    both = empty((2, planes.channels), wide, x.device)
    partial = empty((planes.parts, planes.channels, 2), wide, x.device)
    kernel = sources.kernel(
        FILE, planes.named("plane_gradient_sums", "column_gradient_sums"), T=x.dtype, W=x.dtype
    )
    inner = (planes.inner,) if planes.inner > 1 else ()
    arguments = (dy.address, x.address, mean.address, partial.address, planes.samples,
                 planes.channels, *inner, planes.of_part)  # fmt: skip
    launch(kernel, planes.blocks, (32, 8, 1), arguments, x.device)
    kernel = sources.kernel(FILE, "finish_gradient_sums", T=x.dtype, W=x.dtype)
    arguments = (partial.address, invstd.address, both[0].address, both[1].address,
                 planes.channels, planes.parts)  # fmt: skip
    launch(kernel, grid_of(planes.channels, x.device), 256, arguments, x.device)
    out = planes.result(x.dtype, x.device)
    if out.size:
        kernel = sources.kernel(
            FILE, planes.named("planes_backward", "columns_backward"), T=x.dtype, W=dtype
        )
        count = (planes.count,) if planes.inner > 1 else ()
        arguments = (dy.address, x.address, out.address, mean.address, invstd.address,
                     address(weight), both[0].address, both[1].address, *planes.extents(),
                     *count)  # fmt: skip
        launch(kernel, planes.grid(), (32, 8, 1), arguments, x.device)
    return out, both[0], both[1]


def batch_norm_eval(input, weight, bias, mean, var, eps):
    """Normalise input (N, C, *S) by given statistics per channel."""
    planes = _Planes(input)
    x = planes.memory(input)
    mean, var = _wide(x, mean, var)
    return _apply(planes, x, weight, bias, mean, var, eps)
