"""Windows of pooling: where they begin and end along each dim, and plans of kernels over them."""

from __future__ import annotations

import functools

from rushlight.kernels.launch.execution import chunk, language_type
from rushlight.kernels.launch.prepared import Remembered
from rushlight.kernels.pooling.compiled import (
    CODE,
    COUNTED,
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
)
from rushlight.machine import np, threads

__all__ = [
    "Pool",
    "adaptive_geometry",
    "adaptive_windows",
    "avg_geometry",
    "has_windows_beside",
    "max_geometry",
    "max_windows",
    "output_size",
    "plans",
    "three",
]


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


def max_windows(size, out, kernel, stride, padding, dilation):
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
    windows = (max_windows(*one) for one in zip(size, out, *settings, strict=True))
    return any(bool((start >= end).any()) for start, end in windows)


def adaptive_windows(size, out):
    """Start and end of every window that divides one dim into parts."""
    i = np.arange(out, dtype=np.int64)
    return i * size // out, -(-(i + 1) * size // out)


def three(values, neutral):
    """Numbers for three dims, of those that are there."""
    return (neutral,) * (3 - len(values)) + tuple(values)


plans = Remembered()  # pools by their geometry


class Pool:
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
        key = kernel, self.words[CODE], *parameters.values()
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


def max_geometry(shape, dtype, kernel, stride, padding, dilation, out):
    """The pool of maxima."""

    def build():
        size = three(shape[2:], 1)
        k, s, d = (three(v, 1) for v in (kernel, stride, dilation))
        tables = [
            max_windows(*settings)
            for settings in zip(size, three(out, 1), k, s, three(padding, 0), d, strict=True)
        ]
        pool = Pool(shape[0] * shape[1], size, three(out, 1), tables, d, None, dtype)
        pool.words[PADDING_W] = padding[-1]
        return pool

    return plans.built(("max", shape, dtype, kernel, stride, padding, dilation, out), build)


def avg_geometry(shape, dtype, kernel, stride, padding, out, count_include_pad, divisor):
    """The pool of means: by `divisor`, or by how much of a window is inside (padding included or
    not)."""

    def build():
        size = three(shape[2:], 1)
        whole = three(out, 1)
        tables, extents = [], []
        for n, o, k, s, p in zip(size, whole, three(kernel, 1), three(stride, 1),
                                 three(padding, 0), strict=True):  # fmt: skip
            start = np.arange(o, dtype=np.int64) * s - p
            end = np.minimum(start + k, n + p)
            inside = np.maximum(start, 0), np.minimum(end, n)
            tables.append(inside)
            extents.append(end - start if count_include_pad else inside[1] - inside[0])
        counts = extents[0][:, None, None] * extents[1][:, None] * extents[2]
        if divisor is not None:
            counts = np.full(whole, divisor)
        pool = Pool(shape[0] * shape[1], size, whole, tables, (1, 1, 1), counts, dtype)
        pool.words[PADDING_W] = padding[-1]
        return pool

    key = ("avg", shape, dtype, kernel, stride, padding, out, count_include_pad, divisor)
    return plans.built(key, build)


def adaptive_geometry(shape, dtype, out):
    """The pool of windows that divide an image into parts."""

    def build():
        size, whole = three(shape[2:], 1), three(out, 1)
        tables = [adaptive_windows(n, o) for n, o in zip(size, whole, strict=True)]
        extents = [end - start for start, end in tables]
        counts = extents[0][:, None, None] * extents[1][:, None] * extents[2]
        return Pool(shape[0] * shape[1], size, whole, tables, (1, 1, 1), counts, dtype)

    return plans.built(("adaptive", shape, dtype, out), build)
