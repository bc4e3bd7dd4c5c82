"""Padding of the last dimensions by one call, and its gradient: dense float32 and float64 arrays.

Amounts are given before and after the last dimension, then of the one before it. Each function
prepares a call for one layout (see :mod:`rushlight.kernels.launch.prepared`), or gives None where
it is left to others.
"""

from __future__ import annotations

import functools
import math

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.copying.moving import merged
from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.kernels.launch.prepared import LIMIT, Remembered, called, prepared
from rushlight.machine import np

__all__ = ["collected", "continued", "is_compiled", "source_places", "surrounded", "unsliced"]

_DIMS = 3  # padded dimensions that a kernel takes


def source_places(mode, size, before, after):
    """Where each element of a padded dimension comes from."""
    places = np.arange(-before, size + after)
    if mode == "replicate":
        return np.clip(places, 0, size - 1)
    if mode == "circular":
        return places % size
    period = 2 * (size - 1) if size > 1 else 1
    places = np.abs(places) % period
    return np.where(places >= size, period - places, places)


def is_compiled(array, pad):
    """Whether the kernels take an array and amounts; it need not be dense."""
    fits = not REFERENCE and array.dtype in COMPILED_DTYPES and len(pad) <= 2 * _DIMS
    return fits and array.size > 0 and len(pad) <= 2 * array.ndim


def _address(name, dtype):
    from rushlight.kernels.resampling import padding_kernels as native

    return getattr(native, name).address(element=language_type(dtype), size=dtype.itemsize)


def _padded_shape(shape, pad):
    grown = list(shape)
    for i in range(0, len(pad), 2):
        grown[-1 - i // 2] += pad[i] + pad[i + 1]
    return tuple(grown)


def _last(shape, count=_DIMS):
    """The extents of the last `count` dimensions, the last first, and ones up to three."""
    return (*shape[: -count - 1 : -1], 1, 1, 1)[:_DIMS]


def surrounded(input, pad):
    """``f(input, value)``: a number around an array that is row-major, gaps or not; negative
    amounts crop."""
    steps = [s for s, n in zip(input.strides, input.shape, strict=True) if n > 1]
    rows = input.flags.c_contiguous or input.shape[-1] > 1 and steps == sorted(steps, reverse=True)
    return _surrounded(input, pad) if rows else None


def _surrounded(input, pad):
    """The same around any array whose rows are dense and whose images are in equal steps."""
    if not is_compiled(input, pad):
        return None
    images, steps = merged(input.shape[:-_DIMS], input.strides[:-_DIMS])
    if len(images) > 1 or (input.shape[-1] > 1 and input.strides[-1] != input.itemsize):
        return None
    shape, pad = _padded_shape(input.shape, pad), (*pad, *[0] * (2 * _DIMS))
    own, grown = _last(input.shape), _last(shape)
    pairs = zip(own, pad[0::2], pad[1::2], strict=False)
    if 0 in shape or any(n + min(a, 0) + min(b, 0) <= 0 for n, a, b in pairs):
        return None
    before, after = pad[0:2]
    steps = [*input.strides[-2 : -_DIMS - 1 : -1], *[0] * _DIMS][: _DIMS - 1] + (steps or [0])
    words = [grown[0], max(before, 0), grown[0] - max(before, 0) - max(after, 0),
             max(-before, 0) * input.itemsize, grown[1], own[1], pad[2], grown[2], own[2], pad[4],
             *steps]  # fmt: skip
    rows, code = math.prod(shape[:-1]), _address("surround", input.dtype)
    grain = chunk(rows, shape[-1])
    return prepared(code, rows, grain, [input], [(shape, input.dtype)], words, "f")


def unsliced(values, dims):
    """``f(values, 0.0)``: zeros around values, which :func:`moving.window` says where to put; None
    where that is left to others."""
    pad = []
    for n, start, count in reversed(dims):
        pad += [start, n - start - count]
    if len(dims) > 1 and pad[-2:] == [0, 0]:
        del pad[-2:]
    found = _surrounded(values, tuple(pad))
    if found is not None or values.flags.c_contiguous:
        return found
    dense = surrounded(by_rows(values), tuple(pad))
    return dense and (lambda values, value: dense(by_rows(values), value))


@functools.lru_cache(LIMIT)
def _places(mode, sizes, pad):
    """The sources of planes, rows and elements, one after the other."""
    amounts = (*pad, *[0] * (2 * _DIMS))
    tables = [source_places(mode, n, *amounts[2 * d : 2 * d + 2]) for d, n in enumerate(sizes)]
    return np.concatenate(tables[::-1]).astype(np.int64)


def _words(own, wide, pad):
    return [own[0], wide[0], pad[0], own[1], wide[1], own[2], wide[2]]


_calls = Remembered()


def continued(input, pad, mode):
    """An array continued in a mode; amounts are not negative."""
    key = "continued", input.shape, input.dtype, pad
    found = _calls.get(key)
    places = _places(mode, _last(input.shape), pad)
    input = by_rows(input)
    if found is None:
        shape = _padded_shape(input.shape, pad)
        code, rows = _address("continue_rows", input.dtype), math.prod(shape[:-1])
        words = _words(_last(input.shape), _last(shape), pad)
        found = prepared(code, rows, chunk(rows, shape[-1]), [input, places],
                         [(shape, input.dtype)], words)  # fmt: skip
        _calls.keep(key, found)
    return called(found, (input, places))


def collected(grad, sizes, pad, mode):
    """The gradient of :func:`continued` where the padded dimensions had these sizes."""
    key = "collected", grad.shape, grad.dtype, sizes, pad
    found = _calls.get(key)
    dims = len(sizes)  # an image is no larger than what is padded: items are images
    own, wide = _last(sizes, dims), _last(grad.shape, dims)
    places = _places(mode, own, pad)
    grad = by_rows(grad)
    if found is None:
        code, lead = _address("collect_rows", grad.dtype), grad.shape[:-dims]
        images = math.prod(lead)
        grain, outputs = chunk(images, grad.size // images), [((*lead, *sizes), grad.dtype)]
        words = _words(own, wide, pad)
        found = prepared(code, images, grain, [grad, places], outputs, words)
        _calls.keep(key, found)
    return called(found, (grad, places))
