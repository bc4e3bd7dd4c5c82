"""Maximum and average pooling over one, two or three spatial dims.

All arrays are (N, C, *spatial); one and three dims are the two-dim case with another leading or
windowed dim, so one kernel over (planes, depth, height, width) serves all. Indices are torch's:
flat positions in the spatial dims of the input.
"""

from __future__ import annotations

import itertools
import math

from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.launch.execution import (
    COMPILED_DTYPES,
    compute_array,
    referenced_by,
)
from rushlight.kernels.launch.prepared import Remembered, called
from rushlight.kernels.pooling.checks import check_positions
from rushlight.kernels.pooling.compiled import (
    CODE,
    avg_backward,
    avg_forward,
    max_backward,
    max_forward,
    max_strips,
    spread_planes,
)
from rushlight.kernels.pooling.geometry import (
    Pool,
    adaptive_geometry,
    adaptive_windows,
    avg_geometry,
    max_geometry,
    max_windows,
    output_size,
    plans,
    three,
)
from rushlight.kernels.reduction.totals import totalled
from rushlight.machine import np, threads
from rushlight.machine.memory import empty

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
# Of emitted code: windows apart along rows; elements of an image, as positions have 32 bits there;
# columns that are not neighbours.
_STRIDES, _LARGEST, _WIDEST_APART = 4, 1 << 30, 16
_SPREAD = 2  # gradients with zeros between them by the size of the image
_JOINED = 16  # rows


# ---- reference -----------------------------------------------------------------------------------


def _window_slices(tables, steps):
    for place in itertools.product(*(range(len(t[0])) for t in tables)):
        yield (
            place,
            tuple(
                slice(t[0][i], t[1][i], step)
                for i, t, step in zip(place, tables, steps, strict=True)
            ),
        )


def _max_reference(input, tables, steps, out):
    n, c = input.shape[:2]
    flat = np.arange(int(np.prod(input.shape[2:]))).reshape(input.shape[2:])
    result = empty((n, c, *out), input.dtype)
    index = np.empty((n, c, *out), np.int64)
    for place, window in _window_slices(tables, steps):
        values = input[(..., *window)]
        values = values.reshape(n, c, int(np.prod(values.shape[2:])))
        if not values.shape[-1]:  # beside the image: torch says where it would begin
            result[(..., *place)] = -np.inf
            starts = [part.start for part in window]
            index[(..., *place)] = np.dot(starts, np.cumprod([1, *input.shape[:2:-1]])[::-1])
            continue
        best = np.argmax(values, axis=-1)
        nan = np.isnan(values)
        # torch keeps the last NaN it meets
        best = np.where(nan.any(-1), values.shape[-1] - 1 - np.argmax(nan[..., ::-1], -1), best)
        result[(..., *place)] = np.take_along_axis(values, best[..., None], -1)[..., 0]
        index[(..., *place)] = flat[window].reshape(-1)[best]
    return result, index


def _max_pool_forward_reference(input, kernel_size, stride, padding, dilation, ceil_mode,
                                places=True):  # fmt: skip
    out = _check("max_pool", input.shape, kernel_size, stride, padding, dilation, ceil_mode)
    tables = [
        max_windows(*settings)
        for settings in zip(
            input.shape[2:], out, kernel_size, stride, padding, dilation, strict=True
        )  # fmt: skip
    ]
    result, index = _max_reference(input, tables, dilation, out)
    return result, index if places else None


def _max_pool_backward_reference(grad, indices, input_shape):
    planes, inside = input_shape[0] * input_shape[1], int(np.prod(input_shape[2:]))
    if grad.size and not 0 <= indices.min() <= indices.max() < inside:
        raise IndexError(f"max_pool: indices outside the input {input_shape}")
    result, outside = np.zeros((planes, inside)), int(np.prod(grad.shape[2:]))
    rows = np.arange(planes)[:, None]
    places = indices.reshape(planes, outside)
    np.add.at(result, (rows, places), grad.reshape(planes, outside).astype(np.float64))
    return result.reshape(input_shape).astype(grad.dtype)


def _avg_settings(shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor):
    out = _check("avg_pool", shape, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    _check_divisor(divisor)
    pool = avg_geometry(shape, np.dtype(np.float64), kernel, stride, padding, out,
                     count_include_pad, divisor)  # fmt: skip
    tables = [t.T for t in pool.tables[3 - len(kernel) :]]
    return out, tables, pool.divisors.reshape(out)


def _averages(input, out, tables, divisors):
    result = np.empty((*input.shape[:2], *out))
    axes = tuple(range(2, input.ndim))
    for place, window in _window_slices(tables, (1,) * len(out)):
        total = input[(..., *window)].astype(np.float64).sum(axis=axes)
        result[(..., *place)] = total / divisors[place]
    return result.astype(input.dtype)


def _spread(grad, input_shape, tables, divisors):
    result = np.zeros(input_shape)
    lift = (..., *[None] * (len(input_shape) - 2))
    for place, window in _window_slices(tables, (1,) * (len(input_shape) - 2)):
        share = grad[(..., *place)].astype(np.float64) / divisors[place]
        result[(..., *window)] += share[lift]
    return result.astype(grad.dtype)


def _avg_pool_forward_reference(input, kernel_size, stride, padding, ceil_mode,
                                count_include_pad, divisor_override):  # fmt: skip
    return _averages(input, *_avg_settings(input.shape, kernel_size, stride, padding, ceil_mode,
                                           count_include_pad, divisor_override))  # fmt: skip


def _avg_pool_backward_reference(grad, input_shape, kernel_size, stride, padding, ceil_mode,
                                 count_include_pad, divisor_override):  # fmt: skip
    _, tables, divisors = _avg_settings(input_shape, kernel_size, stride, padding, ceil_mode,
                                        count_include_pad, divisor_override)  # fmt: skip
    return _spread(grad, input_shape, tables, divisors)


def _adaptive_settings(shape, out):
    tables = [adaptive_windows(n, o) for n, o in zip(shape[2:], out, strict=True)]
    counts = np.ones(())
    for start, end in tables:
        counts = np.multiply.outer(counts, end - start)
    return tables, counts


def _adaptive_avg_pool_forward_reference(input, output_size):
    return _averages(input, output_size, *_adaptive_settings(input.shape, output_size))


def _adaptive_avg_pool_backward_reference(grad, input_shape):
    return _spread(grad, input_shape, *_adaptive_settings(input_shape, grad.shape[2:]))


def _adaptive_max_pool_forward_reference(input, output_size):
    tables, _ = _adaptive_settings(input.shape, output_size)
    return _max_reference(input, tables, (1,) * len(output_size), output_size)


# ---- public --------------------------------------------------------------------------------------


def _check(op, shape, kernel, stride, padding, dilation, ceil_mode):
    spatial = len(shape) - 2
    settings = {"kernel_size": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    for name, value in settings.items():
        if spatial not in (1, 2, 3) or len(value) != spatial:
            raise ValueError(
                f"{op}: {name} {tuple(value)} must have one number for each spatial dim of input "
                f"{shape} (N, C and 1 to 3 spatial dims)"
            )
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise ValueError(
            f"{op}: padding {tuple(padding)} must be at most half of kernel_size {tuple(kernel)}"
        )
    out = output_size(shape[2:], kernel, stride, padding, dilation, ceil_mode)
    if min(out) < 1:
        raise ValueError(f"{op}: input {shape} is smaller than kernel_size {tuple(kernel)}")
    return out


@referenced_by(_max_pool_forward_reference)
def max_pool_forward(input, kernel_size, stride, padding, dilation, ceil_mode, places=True):
    """Maxima of windows and their flat spatial positions (int64); NaN wins.

    All settings are tuples of one int per spatial dim. Padding never wins. Integers and low
    precision keep their dtype. Without ``places`` the positions are None. Raises ValueError when
    shapes do not fit.
    """
    settings = (kernel_size, stride, padding, dilation)
    key = "max", input.shape, input.dtype, settings, ceil_mode, places
    call = _calls.get(key)
    if call is not None and input.flags.c_contiguous:
        found = call(input)
        return found if places else (found[0] if type(found) is tuple else found, None)
    out = _check("max_pool", input.shape, *settings, ceil_mode)
    x = compute_array(input)
    in_vectors = _has_vectors(x.shape[2:], out, settings)
    y, index = np.empty((*x.shape[:2], *out), x.dtype), None
    if places or not in_vectors:  # the other kernel finds positions in any case
        index = np.empty(y.shape, np.int64)
    if y.size:
        shape, inside = x.shape, out
        if index is None and x.ndim == 3 and x.shape[2] == out[0] * kernel_size[0]:
            shape, inside = _joined_rows(x.shape, settings, out)
        pool = max_geometry(shape, x.dtype, *settings, inside)
        if in_vectors:
            kind, arrays = ("maxima", (x, y)) if index is None else ("positions", (x, y, index))
            _run_in_vectors(kind, pool, settings, inside, arrays)
        else:
            pool.run(max_forward, x, y, index)
        _keep(key, pool, input.dtype, (y.shape,) if index is None else (y.shape, index.shape))
    return cast(y, input.dtype), index if places else None


def _has_vectors(size, out, settings):
    """Whether there is code for windows in vectors: near each other, each of which shows something
    of an image."""
    kernel, stride, _, dilation = settings
    if dilation[-1] > 1 and kernel[-1] > _WIDEST_APART:
        return False
    if stride[-1] > _STRIDES or math.prod(size) > _LARGEST:
        return False
    return not _may_miss(size, out, settings)


def _may_miss(size, out, settings):
    """Whether all taps of some window are beside the image: dilation steps over a few rows."""
    return any(
        d > 1 and p > 0 and (np.subtract(*max_windows(n, o, k, s, p, d)) >= 0).any()
        for n, o, k, s, p, d in zip(size, out, *settings, strict=True)
    )


def _joined_rows(shape, settings, out):
    """Shapes of (N, C, L) and its maxima with some rows as one, where windows divide all of them
    and no position in a row is asked for."""
    kernel_size, stride, padding, _ = settings
    planes = shape[0] * shape[1]
    several = math.gcd(planes, _JOINED) if kernel_size == stride and not padding[0] else 1
    return (planes // several, 1, several * shape[2]), (several * out[0],)


def _run_in_vectors(kind, pool, settings, out, arrays):
    """Results of windows by emitted code."""
    from rushlight.kernels.pooling.window_vectors import rows_of_windows, windows_address

    kernel, stride, _, dilation = settings
    geometry = kernel[-1], stride[-1], dilation[-1]
    pool.words[CODE] = windows_address(kind, arrays[0].itemsize, *geometry)
    pool.run(rows_of_windows, *arrays, rows=math.prod(out[:-1]))


_calls = Remembered()  # of dense float arrays by geometry, behind all checks


def _keep(key, pool, dtype, shapes):
    """Remember the kernel that a pool ran last, for arrays of the compiled dtypes."""
    if dtype not in COMPILED_DTYPES:
        return
    plan, (first, *rest) = pool.last, shapes
    if rest:

        def call(x):
            y, index = empty(first, dtype), empty(first, _INT64)
            threads.run(plan, x, y, index)
            return y, index

    else:

        def call(x):
            y = empty(first, dtype)
            threads.run(plan, x, y)
            return y

    call.pool = pool  # its tables are known to the plan by their addresses
    _calls.keep(key, call)


def _flat_pool(input_shape, out, dtype):
    """Geometry without windows: for gradients that follow indices."""
    key = ("flat", input_shape, out, dtype)
    size, whole = three(input_shape[2:], 1), three(out, 1)
    empty = np.zeros(0, np.int64)
    tables = [(empty, empty)] * 3
    planes = input_shape[0] * input_shape[1]
    return plans.built(key, lambda: Pool(planes, size, whole, tables, (1, 1, 1), None, dtype))


@referenced_by(_max_pool_backward_reference)
def max_pool_backward(grad, indices, input_shape):
    """Gradient of any maximum pooling (adaptive too) from the positions it returned."""
    input_shape = tuple(input_shape)
    check_positions(grad, indices, input_shape)
    dy = compute_array(grad)
    index = np.ascontiguousarray(indices, np.int64)
    dx = empty(input_shape, dy.dtype)
    if dx.size:
        failed = np.zeros(1, np.int64)
        _flat_pool(input_shape, dy.shape[2:], dy.dtype).run(max_backward, dx, dy, index, failed)
        if failed[0]:
            raise IndexError(f"max_pool: indices outside the input {input_shape}")
    return cast(dx, grad.dtype)


@referenced_by(_avg_pool_forward_reference)
def avg_pool_forward(
    input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    """Means of windows; torch's rules for padding and ``ceil_mode`` in the divisor."""
    settings = (kernel_size, stride, padding)
    key = "avg", input.shape, input.dtype, settings, ceil_mode, count_include_pad, divisor_override
    call = _calls.get(key)
    if call is not None and input.flags.c_contiguous:
        return call(input)
    one = (1,) * len(kernel_size)
    out = _check("avg_pool", input.shape, *settings, one, ceil_mode)
    _check_divisor(divisor_override)
    x = compute_array(input)
    y = empty((*x.shape[:2], *out), x.dtype)
    if y.size:
        pool = avg_geometry(x.shape, x.dtype, *settings, out, count_include_pad, divisor_override)
        whole = *settings, one
        if _has_vectors(x.shape[2:], out, whole):
            _run_in_vectors("means", pool, whole, out, (x, y))
        else:
            pool.run(avg_forward, x, y)
        _keep(key, pool, input.dtype, (y.shape,))
    return cast(y, input.dtype)


@referenced_by(_avg_pool_backward_reference)
def avg_pool_backward(
    grad, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    """Gradient of :func:`avg_pool_forward` with respect to its input."""
    input_shape = tuple(input_shape)
    settings = (kernel_size, stride, padding)
    one = (1,) * len(kernel_size)
    out = _check("avg_pool", input_shape, *settings, one, ceil_mode)
    _check_gradient("avg_pool", grad, (*input_shape[:2], *out))
    dy = compute_array(grad)
    dx = empty(input_shape, dy.dtype)
    if dx.size:
        pool = avg_geometry(input_shape, dy.dtype, *settings, out, count_include_pad,
                         divisor_override)  # fmt: skip
        if not _gradient_in_vectors(pool, settings, dx, dy):
            pool.run(avg_backward, dx, dy)
    return cast(dx, grad.dtype)


def _gradient_in_vectors(pool, settings, dx, dy):
    """The gradient as sums of windows over the shares of the results, between which are zeros as
    windows are apart; whether there is code for that."""
    kernel, stride, padding = settings
    out, size = dy.shape[2:], dx.shape[2:]
    spread = tuple((o - 1) * s + 1 for o, s in zip(out, stride, strict=True))
    one = (1,) * len(kernel)
    beside = tuple(k - 1 - p for k, p in zip(kernel, padding, strict=True))
    whole = kernel, one, beside, one
    if not _has_vectors(spread, size, whole) or math.prod(spread) > _SPREAD * math.prod(size):
        return False
    shares = np.zeros((*dy.shape[:2], *spread), dy.dtype)
    places = shares[(..., *(slice(None, None, s) for s in stride))]
    np.divide(dy, pool.divisors.reshape(out), out=places)
    sums = avg_geometry(shares.shape, dy.dtype, *whole[:3], size, True, None)
    _run_in_vectors("sums", sums, whole, size, (shares, dx))
    return True


def _check_divisor(divisor):
    if divisor == 0:
        raise ValueError("avg_pool: divisor_override must not be zero")


def _check_gradient(op, grad, expected):
    if grad.shape != expected:
        raise ValueError(f"{op}: grad has shape {grad.shape}, expected {expected}")


def _even_windows(size, out):
    """Extents, strides and padding of windows that divide an image evenly, where there is code for
    such in vectors; or None."""
    if not min(out) or any(n % o for n, o in zip(size, out, strict=True)):
        return None
    if max(out) == 1 or size[-1] > _STRIDES * out[-1]:
        return None
    kernel = tuple(n // o for n, o in zip(size, out, strict=True))
    return kernel, kernel, (0,) * len(kernel)


def _check_adaptive(op, shape, out):
    if len(out) != len(shape) - 2 or len(out) not in (1, 2, 3) or 0 in shape[2:] or min(out) < 0:
        raise ValueError(
            f"{op}: output_size {tuple(out)} must have one number for each of the 1 to 3 "
            f"non-empty spatial dims of input {shape}"
        )


@referenced_by(_adaptive_avg_pool_forward_reference)
def adaptive_avg_pool_forward(input, output_size):
    """Means of windows that divide every spatial dim into ``output_size`` parts."""
    output_size = tuple(output_size)
    key = "adaptive", input.shape, input.dtype, output_size
    call = _calls.get(key)
    if call is not None and input.flags.c_contiguous:
        return call(input)
    _check_adaptive("adaptive_avg_pool", input.shape, output_size)
    even = _even_windows(input.shape[2:], output_size)
    if even is not None:
        return avg_pool_forward(input, *even, False, True, None)
    x = compute_array(input)
    y = empty((*x.shape[:2], *output_size), x.dtype)
    if y.size:
        if max(output_size) == 1 and input.dtype in COMPILED_DTYPES:
            mean = totalled("mean", x, tuple(range(2, x.ndim)), True, x.dtype)
            if mean is not None:
                _calls.keep(key, lambda x: called(mean, (x,)))
                return called(mean, (x,))
        pool = adaptive_geometry(x.shape, x.dtype, output_size)
        pool.run(avg_forward, x, y)
        _keep(key, pool, input.dtype, (y.shape,))
    return cast(y, input.dtype)


@referenced_by(_adaptive_avg_pool_backward_reference)
def adaptive_avg_pool_backward(grad, input_shape):
    """Gradient of :func:`adaptive_avg_pool_forward` with respect to its input."""
    input_shape = tuple(input_shape)
    _check_adaptive("adaptive_avg_pool", input_shape, grad.shape[2:])
    even = _even_windows(input_shape[2:], grad.shape[2:])
    if even is not None:
        return avg_pool_backward(grad, input_shape, *even, False, True, None)
    dy = compute_array(grad)
    if not dy.size:
        return np.zeros(input_shape, grad.dtype)
    dx = empty(input_shape, dy.dtype)
    kernel = spread_planes if max(dy.shape[2:]) == 1 else avg_backward
    adaptive_geometry(input_shape, dy.dtype, dy.shape[2:]).run(kernel, dx, dy)
    return cast(dx, grad.dtype)


@referenced_by(_adaptive_max_pool_forward_reference)
def adaptive_max_pool_forward(input, output_size):
    """Maxima of the windows of :func:`adaptive_avg_pool_forward`, and their flat positions."""
    output_size = tuple(output_size)
    key = "adaptive max", input.shape, input.dtype, output_size
    call = _calls.get(key)
    if call is not None and input.flags.c_contiguous:
        return call(input)
    _check_adaptive("adaptive_max_pool", input.shape, output_size)
    even = _even_windows(input.shape[2:], output_size)
    if even is not None:
        return max_pool_forward(input, *even, (1,) * len(output_size), False)
    x = compute_array(input)
    y = empty((*x.shape[:2], *output_size), x.dtype)
    index = np.empty(y.shape, np.int64)
    if y.size:
        pool, rows = adaptive_geometry(x.shape, x.dtype, output_size), math.prod(output_size[:-1])
        if rows < math.prod(x.shape[2:-1]):  # several rows in a window
            pool.run(max_strips, x, y, index, rows=rows, weight=4)
        else:
            pool.run(max_forward, x, y, index)
        _keep(key, pool, input.dtype, (y.shape, index.shape))
    return cast(y, input.dtype), index
