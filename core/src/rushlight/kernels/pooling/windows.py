"""Maximum and average pooling over one, two or three spatial dims.

All arrays are (N, C, *spatial); one and three dims are the two-dim case with another leading or
windowed dim, so one kernel over (planes, depth, height, width) serves all. Indices are torch's:
flat positions in the spatial dims of the input.
"""

from __future__ import annotations

import functools
import itertools
import math

from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.launch.execution import (
    COMPILED_DTYPES,
    chunk,
    compute_array,
    language_type,
    referenced_by,
)
from rushlight.kernels.launch.prepared import called
from rushlight.kernels.pooling.checks import check_positions
from rushlight.kernels.pooling.compiled import (
    COUNTED,
    KERNEL_W,
    OD,
    OW,
    PADDING_W,
    STEP_D,
    STEP_W,
    TABLE_D,
    TABLE_W,
    WORDS,
    D,
    W,
    avg_backward,
    avg_forward,
    avg_rows,
    max_backward,
    max_forward,
    max_forward_pairs,
    max_forward_regular,
    max_rows,
    max_strips,
    spread_planes,
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
_FEW_TAPS = 4  # in a row, unrolled
_LANES = 8  # positions in a vector
_JOINED = 16  # rows
_LONG_ROW = 24  # results of a row from which vectors pay: 28 x 28 -> 14: x0.85, 56 -> 28: x1.8


def output_size(size, kernel, stride, padding, dilation, ceil_mode):
    """Spatial sizes of the result; a window must start inside the image or its left padding."""
    result = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        span = n + 2 * p - d * (k - 1) - 1
        length = (span + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (length - 1) * s >= n + p:
            length -= 1
        result.append(length)
    return tuple(result)


# ---- plans ---------------------------------------------------------------------------------------


def _max_windows(size, out, kernel, stride, padding, dilation):
    """Start and end of every window along one dim, clipped to the image on the dilation's grid."""
    start = np.arange(out, dtype=np.int64) * stride - padding
    end = np.minimum(start + (kernel - 1) * dilation + 1, size)
    missing = np.maximum(0, -(start // dilation))
    start = np.where(start < 0, start + missing * dilation, start)
    return start, end


@functools.lru_cache(256)
def has_windows_beside(size, kernel, stride, padding, dilation, ceil_mode):
    """Whether a window shows nothing of the image, so that its maximum is none of the elements."""
    settings = kernel, stride, padding, dilation
    out = output_size(size, *settings, ceil_mode)
    windows = (_max_windows(*one) for one in zip(size, out, *settings, strict=True))
    return any(bool((start >= end).any()) for start, end in windows)


def _adaptive_windows(size, out):
    i = np.arange(out, dtype=np.int64)
    return i * size // out, -(-(i + 1) * size // out)


def _three(values, neutral):
    return (neutral,) * (3 - len(values)) + tuple(values)


_plans: dict = {}


class _Pool:
    """Window tables and plans of one pooling geometry."""

    def __init__(self, planes, size, out, tables, steps, divisors, dtype):
        self.tables = [np.ascontiguousarray(np.stack(t, axis=1)) for t in tables]
        self.divisors = None
        words = [0] * WORDS
        words[D : W + 1], words[OD : OW + 1] = size, out
        words[STEP_D : STEP_W + 1] = steps
        words[TABLE_D : TABLE_W + 1] = [t.ctypes.data for t in self.tables]
        if divisors is not None:
            self.divisors = np.ascontiguousarray(divisors, dtype)
            words[COUNTED] = self.divisors.ctypes.data
        work = max(int(np.prod(size)), int(np.prod(out)) * 4)
        self.words, self.items, self.work = words, planes, work
        self.grain, self.kind = chunk(planes, work), language_type(dtype)
        self.plans = {}

    def run(self, kernel, *arrays, rows=1, weight=1, **parameters):
        """Run a kernel over the planes, or over so many rows of each; `weight`: of an element."""
        key = kernel, *parameters.values()
        plan = self.plans.get(key)
        if plan is None:
            code = kernel.address(real=self.kind, **parameters)
            grain = self.grain
            if rows != 1 or weight != 1:
                grain = chunk(self.items * rows, -(-self.work * weight // rows))
            plan = threads.plan(code, self.items * rows, grain, self.words)
            self.plans[key] = plan
        self.last = plan
        threads.run(plan, *arrays)


def _planned(key, build):
    pool = _plans.get(key)
    if pool is None:
        if len(_plans) >= 1024:
            _plans.clear()
        pool = _plans[key] = build()
    return pool


def _max_pool(shape, dtype, kernel, stride, padding, dilation, out):
    def build():
        size = _three(shape[2:], 1)
        k, s, d = (_three(v, 1) for v in (kernel, stride, dilation))
        tables = [
            _max_windows(*settings)
            for settings in zip(size, _three(out, 1), k, s, _three(padding, 0), d, strict=True)
        ]
        pool = _Pool(shape[0] * shape[1], size, _three(out, 1), tables, d, None, dtype)
        pool.words[PADDING_W], pool.words[KERNEL_W] = padding[-1], kernel[-1]
        return pool

    return _planned(("max", shape, dtype, kernel, stride, padding, dilation, out), build)


def _avg_pool(shape, dtype, kernel, stride, padding, out, count_include_pad, divisor):
    def build():
        size = _three(shape[2:], 1)
        whole = _three(out, 1)
        tables, extents = [], []
        for n, o, k, s, p in zip(size, whole, _three(kernel, 1), _three(stride, 1),
                                 _three(padding, 0), strict=True):  # fmt: skip
            start = np.arange(o, dtype=np.int64) * s - p
            end = np.minimum(start + k, n + p)
            inside = np.maximum(start, 0), np.minimum(end, n)
            tables.append(inside)
            extents.append(end - start if count_include_pad else inside[1] - inside[0])
        counts = extents[0][:, None, None] * extents[1][:, None] * extents[2]
        if divisor is not None:
            counts = np.full(whole, divisor)
        return _Pool(shape[0] * shape[1], size, whole, tables, (1, 1, 1), counts, dtype)

    key = ("avg", shape, dtype, kernel, stride, padding, out, count_include_pad, divisor)
    return _planned(key, build)


def _adaptive(shape, dtype, out):
    def build():
        size, whole = _three(shape[2:], 1), _three(out, 1)
        tables = [_adaptive_windows(n, o) for n, o in zip(size, whole, strict=True)]
        extents = [end - start for start, end in tables]
        counts = extents[0][:, None, None] * extents[1][:, None] * extents[2]
        return _Pool(shape[0] * shape[1], size, whole, tables, (1, 1, 1), counts, dtype)

    return _planned(("adaptive", shape, dtype, out), build)


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
        _max_windows(*settings)
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
    pool = _avg_pool(shape, np.dtype(np.float64), kernel, stride, padding, out,
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
    tables = [_adaptive_windows(n, o) for n, o in zip(shape[2:], out, strict=True)]
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
    short = kernel_size[-1] <= _FEW_TAPS and dilation[-1] == 1 and stride[-1] <= _FEW_TAPS
    short = short and not _may_miss(input.shape[2:], out, settings)
    y, index = np.empty((*x.shape[:2], *out), x.dtype), None
    if places or not short:  # the other kernels find positions in any case
        index = np.empty(y.shape, np.int64)
    if y.size:
        shape, inside = x.shape, out
        if index is None and x.ndim == 3 and x.shape[2] == out[0] * kernel_size[0]:
            shape, inside = _joined_rows(x.shape, settings, out)
        pool = _max_pool(shape, x.dtype, *settings, inside)
        _run_max(pool, settings, inside, short, x, y, index)
        _keep(key, pool, input.dtype, (y.shape,) if index is None else (y.shape, index.shape))
    return cast(y, input.dtype), index if places else None


def _may_miss(size, out, settings):
    """Whether all taps of some window are beside the image: dilation steps over a few rows."""
    return any(
        d > 1 and p > 0 and (np.subtract(*_max_windows(n, o, k, s, p, d)) >= 0).any()
        for n, o, k, s, p, d in zip(size, out, *settings, strict=True)
    )


def _joined_rows(shape, settings, out):
    """Shapes of (N, C, L) and its maxima with some rows as one, where windows divide all of them
    and no position in a row is asked for."""
    kernel_size, stride, padding, _ = settings
    planes = shape[0] * shape[1]
    several = math.gcd(planes, _JOINED) if kernel_size == stride and not padding[0] else 1
    return (planes // several, 1, several * shape[2]), (several * out[0],)


def _run_max(pool, settings, out, short, x, y, index):
    """Run the quickest kernel; ``index`` may be None where windows are ``short``."""
    kernel, (*_, stride), padding, dilation = settings
    taps, rows = kernel[-1], int(np.prod(out[:-1]))
    high = min(kernel[-2], _FEW_TAPS) if len(kernel) > 1 else 1
    pairs = x.ndim == 4 and kernel == settings[1] == (2, 2) and index is not None
    pairs = pairs and padding == (0, 0) and dilation == (1, 1)
    whole = (x.shape[-1] - taps + padding[-1]) // stride + 1 - -(-padding[-1] // stride)
    vectors = whole >= _LONG_ROW or whole > 0 and whole % _LANES == 0
    if pairs and 2 * out[0] <= x.shape[2] and 2 * out[1] <= x.shape[3]:
        pool.run(max_forward_pairs, x, y, index)
    elif index is None:
        pool.run(max_rows, x, y, rows=rows, stride=stride, taps=taps, high=high, places=0)
    elif short and vectors:
        pool.run(max_rows, x, y, index, rows=rows, stride=stride, taps=taps, high=high, places=1)
    elif stride <= 2 and out[-1] >= _LONG_ROW:
        pool.run(max_forward_regular, x, y, index, stride=stride)
    else:
        pool.run(max_forward, x, y, index)


_calls: dict = {}  # of dense float arrays by geometry, behind all checks


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
    _remember(key, call)


def _remember(key, call):
    if len(_calls) >= 1024:
        _calls.clear()
    _calls[key] = call


def _flat_pool(input_shape, out, dtype):
    """Geometry without windows: for gradients that follow indices."""
    key = ("flat", input_shape, out, dtype)
    size, whole = _three(input_shape[2:], 1), _three(out, 1)
    empty = np.zeros(0, np.int64)
    tables = [(empty, empty)] * 3
    planes = input_shape[0] * input_shape[1]
    return _planned(key, lambda: _Pool(planes, size, whole, tables, (1, 1, 1), None, dtype))


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
        pool = _avg_pool(x.shape, x.dtype, *settings, out, count_include_pad, divisor_override)
        inside = (out[-1] - 1) * stride[-1] + kernel_size[-1] - padding[-1] <= x.shape[-1]
        if stride[-1] <= 2 and out[-1] >= _LONG_ROW and (inside or padding[-1]):
            pool.words[PADDING_W], pool.words[KERNEL_W] = padding[-1], kernel_size[-1]
            rows = int(np.prod(out[:-1]))
            pool.run(avg_rows, x, y, rows=rows, stride=stride[-1])
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
        pool = _avg_pool(input_shape, dy.dtype, *settings, out, count_include_pad,
                         divisor_override)  # fmt: skip
        pool.run(avg_backward, dx, dy)
    return cast(dx, grad.dtype)


def _check_divisor(divisor):
    if divisor == 0:
        raise ValueError("avg_pool: divisor_override must not be zero")


def _check_gradient(op, grad, expected):
    if grad.shape != expected:
        raise ValueError(f"{op}: grad has shape {grad.shape}, expected {expected}")


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
    x = compute_array(input)
    y = empty((*x.shape[:2], *output_size), x.dtype)
    if y.size:
        if max(output_size) == 1 and input.dtype in COMPILED_DTYPES:
            mean = totalled("mean", x, tuple(range(2, x.ndim)), True, x.dtype)
            if mean is not None:
                _remember(key, lambda x: called(mean, (x,)))
                return called(mean, (x,))
        pool = _adaptive(x.shape, x.dtype, output_size)
        pool.run(avg_forward, x, y)
        _keep(key, pool, input.dtype, (y.shape,))
    return cast(y, input.dtype)


@referenced_by(_adaptive_avg_pool_backward_reference)
def adaptive_avg_pool_backward(grad, input_shape):
    """Gradient of :func:`adaptive_avg_pool_forward` with respect to its input."""
    input_shape = tuple(input_shape)
    _check_adaptive("adaptive_avg_pool", input_shape, grad.shape[2:])
    dy = compute_array(grad)
    if not dy.size:
        return np.zeros(input_shape, grad.dtype)
    dx = empty(input_shape, dy.dtype)
    kernel = spread_planes if max(dy.shape[2:]) == 1 else avg_backward
    _adaptive(input_shape, dy.dtype, dy.shape[2:]).run(kernel, dx, dy)
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
    x = compute_array(input)
    y = empty((*x.shape[:2], *output_size), x.dtype)
    index = np.empty(y.shape, np.int64)
    if y.size:
        pool, rows = _adaptive(x.shape, x.dtype, output_size), math.prod(output_size[:-1])
        if rows < math.prod(x.shape[2:-1]):  # several rows in a window
            pool.run(max_strips, x, y, index, rows=rows, weight=4)
        else:
            pool.run(max_forward, x, y, index)
        _keep(key, pool, input.dtype, (y.shape, index.shape))
    return cast(y, input.dtype), index
