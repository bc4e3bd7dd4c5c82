"""float32 convolution over three spatial dims by convolutions over two.

The taps along the depth become channels: image z of the lowered input holds, for every channel c
and tap k, plane ``z * stride - padding + k * dilation`` of channel c, and the weight
(O, C / groups, KD, KH, KW) is that of a convolution of C * KD channels as it lies in memory. So all
passes run on the plans of :mod:`convolution`, with copies of planes before and after. Dims along
which nothing but a product over channels happens are joined with their neighbours instead.
"""

from __future__ import annotations

from rushlight.backends import threads
from rushlight.backends.memory import empty
from rushlight.kernels.execution import chunk

__all__ = ["fits", "forward", "input_gradient", "joined", "weight_gradient"]

LOWERED_BYTES = 8 << 20  # of images at a time: what is copied is used while it is in the caches
_plans: dict = {}


def joined(kernel, stride, padding):
    """Which neighbouring dims (first, second) can be one, as their product is; else None."""
    plain = [k == s == 1 and p == 0 for k, s, p in zip(kernel, stride, padding, strict=True)]
    for first in (1, 0):
        if plain[first] and plain[first + 1]:
            return first
    return None


def as_two_dims(arrays, kernel, stride, padding, dilation):
    """Arrays and settings with two spatial dims where :func:`joined` finds a pair, else None."""
    first = joined(kernel, stride, padding)
    if first is None:
        return None
    at = 2 + first
    flat = [a.reshape(*a.shape[:at], a.shape[at] * a.shape[at + 1], *a.shape[at + 2 :])
            for a in arrays]  # fmt: skip
    return *flat, *(v[:first] + v[first + 1 :] for v in (stride, padding, dilation))


def fits(channels, kernel, groups):
    """Whether every pass runs here: not where each channel is a group with taps along depth."""
    return kernel[0] == 1 or groups == 1 or channels > groups


def _copy(kernel, x, y, shape, out, taps, settings):
    """Run `collect` or `spread` between ``x`` of this shape and ``y`` of ``out`` planes."""
    key = kernel, shape, out, taps, settings
    plan = _plans.get(key)
    if plan is None:
        from rushlight.kernels import depth_kernels as native

        if len(_plans) >= 1024:
            _plans.clear()
        n, c, depth, height, width = shape
        inside = height * width
        items = n * c * (out if kernel == "collect" else depth)
        words = [0, 0, c, depth, out, taps, *settings, inside]
        code = getattr(native, kernel).address()
        plan = _plans[key] = threads.plan(code, items, chunk(items, inside * taps), words)
    threads.run(plan, x, y)


_SAME = (1, 0, 1)


def _by_depth(array):
    """(N, C, D, H, W) as (N * D, C, H, W)."""
    n, c, depth, *plane = array.shape
    if 1 in (c, depth):
        return array.reshape(n * depth, c, *plane)
    out = empty((n * depth, c, *plane), array.dtype)
    _copy("collect", array, out, array.shape, depth, 1, _SAME)
    return out


def _lowered(x, taps, out, settings):
    """The input of the convolution over two dims."""
    n, c, depth, *plane = x.shape
    if taps == 1 and settings[:2] == (1, 0):
        return _by_depth(x)
    low = empty((n * out, c * taps, *plane), x.dtype)
    _copy("collect", x, low, x.shape, out, taps, settings)
    return low


def _split(kernel, stride, padding, dilation):
    """Taps along depth, settings along depth, and the settings of the other dims."""
    depth = stride[0], padding[0], dilation[0]
    return kernel[0], depth, (stride[1:], padding[1:], dilation[1:])


def _parts(x, taps, out):
    """Slices of images whose lowered inputs stay small."""
    n, c, _, *plane = x.shape
    step = max(1, LOWERED_BYTES // (4 * c * taps * out * plane[0] * plane[1]))
    return [slice(first, min(first + step, n)) for first in range(0, n, step)]


def _flat_weight(w):
    o, c, depth, *plane = w.shape
    return w.reshape(o, c * depth, *plane)


def forward(run, x, w, bias, y, stride, padding, dilation, groups, planes):
    """Write the convolution into ``y``; ``run`` does it over two dims (``_tile_forward``)."""
    taps, depth, rest = _split(w.shape[2:], stride, padding, dilation)
    o, out, *plane = y.shape[1:]
    for part in _parts(x, taps, out):
        low = _lowered(x[part], taps, out, depth)
        found = y[part]
        if 1 in (o, out):
            run(low, _flat_weight(w), bias, found.reshape(len(low), o, *plane), *rest, groups,
                planes)  # fmt: skip
            continue
        result = empty((len(low), o, *plane), y.dtype)
        run(low, _flat_weight(w), bias, result, *rest, groups, planes)
        _copy("spread", found, result, found.shape, out, 1, _SAME)


def input_gradient(run, dy, w, dx, stride, padding, dilation, groups, planes):
    """Write the gradient into ``dx``; False where ``run`` (``_tile_input_gradient``) cannot."""
    taps, depth, rest = _split(w.shape[2:], stride, padding, dilation)
    out = dy.shape[2]
    for part in _parts(dx, taps, out):
        found = dx[part]
        n, c, _, *plane = found.shape
        low = empty((n * out, c * taps, *plane), dx.dtype)
        if not run(_by_depth(dy[part]), _flat_weight(w), low, *rest, groups, planes):
            return False
        _copy("spread", found, low, found.shape, out, taps, depth)
    return True


def weight_gradient(run, dy, x, dw, stride, padding, dilation, groups, planes):
    """Write the gradient into ``dw``; ``run`` is ``_tile_weight_gradient``."""
    taps, depth, rest = _split(dw.shape[2:], stride, padding, dilation)
    flat, more = _flat_weight(dw), None
    for part in _parts(x, taps, dy.shape[2]):
        low = _lowered(x[part], taps, dy.shape[2], depth)
        target = flat if more is None else more
        run(_by_depth(dy[part]), low, target, *rest, groups, planes)
        if more is None:
            more = empty(flat.shape, flat.dtype)
        else:
            flat += more
