"""float32 convolution over three spatial dims by convolutions over two.

The taps along the depth become channels: image z of the lowered input holds, for every channel c
and tap k, plane ``z * stride - padding + k * dilation`` of channel c, and the weight
(O, C / groups, KD, KH, KW) is that of a convolution of C * KD channels as it is in memory. So all
passes run on the plans of :mod:`convolution`, with copies of planes before and after. Where every
channel is a group, each tap along the depth is an output of its own instead, for every plane of the
input, and the taps' outputs are added up. Dims along which nothing but a product over channels
happens are joined with their neighbours.
"""

from __future__ import annotations

from rushlight.kernels.launch.execution import chunk
from rushlight.kernels.launch.prepared import Remembered
from rushlight.machine import np, threads
from rushlight.machine.memory import empty

__all__ = ["as_two_dims", "forward", "input_gradient", "weight_gradient"]

LOWERED_BYTES = 8 << 20  # of images at a time: what is copied is used while it is in the caches
_plans = Remembered()


def _joined(kernel, stride, padding):
    """Which neighbouring dims (first, second) can be one, as their product is; else None."""
    plain = [k == s == 1 and p == 0 for k, s, p in zip(kernel, stride, padding, strict=True)]
    for first in (1, 0):
        if plain[first] and plain[first + 1]:
            return first
    return None


def as_two_dims(arrays, kernel, stride, padding, dilation):
    """Arrays and settings with two spatial dims where :func:`_joined` finds a pair, else None."""
    first = _joined(kernel, stride, padding)
    if first is None:
        return None
    at = 2 + first
    flat = [a.reshape(*a.shape[:at], a.shape[at] * a.shape[at + 1], *a.shape[at + 2 :])
            for a in arrays]  # fmt: skip
    return *flat, *(v[:first] + v[first + 1 :] for v in (stride, padding, dilation))


def _copy(kernel, x, y, shape, out, taps, settings):
    """Run `collect` or `spread` between ``x`` of this shape and ``y`` of ``out`` planes."""
    key = kernel, shape, out, taps, settings
    plan = _plans.get(key)
    if plan is None:
        from rushlight.kernels.convolution import depth_kernels as native

        n, c, depth, height, width = shape
        inside = height * width
        items = n * c * (out if kernel == "collect" else depth)
        words = [0, 0, c, depth, out, taps, *settings, inside]
        code = getattr(native, kernel).address()
        plan = _plans.keep(key, threads.plan(code, items, chunk(items, inside * taps), words))
    threads.run(plan, x, y)


_SAME = (1, 0, 1, 1)  # step, padding, dilation, and what divides


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
    if taps == 1 and settings[:2] == _SAME[:2]:
        return _by_depth(x)
    low = empty((n * out, c * taps, *plane), x.dtype)
    _copy("collect", x, low, x.shape, out, taps, settings)
    return low


def _split(kernel, stride, padding, dilation):
    """Taps along depth, settings along depth, and the settings of the other dims."""
    depth = stride[0], padding[0], dilation[0], 1
    return kernel[0], depth, (stride[1:], padding[1:], dilation[1:])


def _parts(x, taps, out):
    """Slices of images whose lowered inputs stay small."""
    n, c, _, *plane = x.shape
    step = max(1, LOWERED_BYTES // (4 * c * taps * out * plane[0] * plane[1]))
    return [slice(first, min(first + step, n)) for first in range(0, n, step)]


def _flat_weight(w):
    o, c, depth, *plane = w.shape
    return w.reshape(o, c * depth, *plane)


def _is_depthwise(c, taps, groups):
    return taps > 1 and groups > 1 and groups == c


def _outputs_of_taps(settings):
    """Settings of copies between results, as "planes", and outputs of taps, for each plane of the
    input: the positions of one are those of the other reversed."""
    step, padding, dilation, _ = settings
    return 1, -padding, -dilation, step


def _tap_parts(x, y, taps):
    """Slices of images whose outputs of taps stay small."""
    n, _, depth, *_ = x.shape
    o, _, *plane = y.shape[1:]
    step = max(1, LOWERED_BYTES // (4 * o * taps * depth * plane[0] * plane[1]))
    return [slice(first, min(first + step, n)) for first in range(0, n, step)]


def _taps_forward(run, x, w, bias, y, taps, settings, rest, groups, planes):
    depth, (o, _, *plane) = x.shape[2], y.shape[1:]
    weight = w.reshape(o * taps, 1, *w.shape[3:])
    for part in _tap_parts(x, y, taps):
        low, found = _by_depth(x[part]), y[part]
        outputs = empty((len(low), o * taps, *plane), y.dtype)
        run(low, weight, None, outputs, *rest, groups, planes)
        _copy("spread", found, outputs, found.shape, depth, taps, _outputs_of_taps(settings))
    if bias is not None:
        with np.errstate(all="ignore"):  # infinity minus infinity is NaN, as it should
            y += bias.reshape(-1, 1, 1, 1)


def _gradients_of_taps(dy, depth, taps, settings):
    n, o, _, *plane = dy.shape
    low = empty((n * depth, o * taps, *plane), dy.dtype)
    _copy("collect", dy, low, dy.shape, depth, taps, _outputs_of_taps(settings))
    return low


def _taps_input_gradient(run, dy, w, dx, taps, settings, rest, groups, planes):
    weight = w.reshape(w.shape[0] * taps, 1, *w.shape[3:])
    for part in _tap_parts(dx, dy, taps):
        found = dx[part]
        n, c, depth, *plane = found.shape
        low = empty((n * depth, c, *plane), dx.dtype)
        gradients = _gradients_of_taps(dy[part], depth, taps, settings)
        if not run(gradients, weight, low, *rest, groups, planes):
            return False
        _copy("spread", found, low, found.shape, depth, 1, _SAME)
    return True


def forward(run, x, w, bias, y, stride, padding, dilation, groups, planes):
    """Write the convolution into ``y``; ``run`` does it over two dims (``_tile_forward``)."""
    taps, depth, rest = _split(w.shape[2:], stride, padding, dilation)
    o, out, *plane = y.shape[1:]
    if _is_depthwise(x.shape[1], taps, groups):
        _taps_forward(run, x, w, bias, y, taps, depth, rest, groups, planes)
        return
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
    if _is_depthwise(dx.shape[1], taps, groups):
        return _taps_input_gradient(run, dy, w, dx, taps, depth, rest, groups, planes)
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
    separate = _is_depthwise(x.shape[1], taps, groups)
    flat, more = _flat_weight(dw), None
    if separate:
        flat = dw.reshape(len(dw) * taps, 1, *dw.shape[3:])
    for part in _tap_parts(x, dy, taps) if separate else _parts(x, taps, dy.shape[2]):
        if separate:
            low = _by_depth(x[part])
            gradients = _gradients_of_taps(dy[part], x.shape[2], taps, depth)
        else:
            low = _lowered(x[part], taps, dy.shape[2], depth)
            gradients = _by_depth(dy[part])
        target = flat if more is None else more
        run(gradients, low, target, *rest, groups, planes)
        if more is None:
            more = empty(flat.shape, flat.dtype)
        else:
            with np.errstate(all="ignore"):
                flat += more
