"""Recursions along the last dimension of signals (N, C, T), with coefficients of each channel.

``filtered`` runs linear filters with constant coefficients, ``fed_back`` recursions whose gains and
delays change from sample to sample.
"""

from __future__ import annotations

from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.launch.execution import (
    REFERENCE,
    chunk,
    compute_array,
    compute_dtype,
    language_type,
)
from rushlight.kernels.launch.prepared import Remembered, called, prepared
from rushlight.kernels.signal import recursion_kernels as native
from rushlight.machine import np

__all__ = ["fed_back", "fed_back_reference", "filtered", "filtered_reference"]

_calls = Remembered()
_SAMPLE_WORK = 4  # units of work of a sample and coefficient


def filtered_reference(x, a, b):
    """``a[0] y[n] = sum_k b[k] x[n-k] - sum_{k>0} a[k] y[n-k]`` of x (N, C, T), a (C, P), b (C, Q),
    a[0] being 1, in float64."""
    wide, y = x.astype(np.float64), np.zeros(x.shape)
    a, b = a.astype(np.float64), b.astype(np.float64)
    for k in range(min(b.shape[1], x.shape[2])):
        y[..., k:] += b[:, k, None] * wide[..., : x.shape[2] - k]
    for n in range(x.shape[2]):
        for k in range(1, min(a.shape[1], n + 1)):
            y[..., n] -= a[:, k] * y[..., n - k]
    return y.astype(x.dtype)


def fed_back_reference(x, gains, delays, backward):
    """``y[n] = x[n] + sum_k gains[n, k] y[n - delays[n, k]]`` of x (N, C, T), gains and delays
    (C, T, K), in float64, all before the beginning being zero; or its transpose."""
    _check_delays(delays)
    y, gains = x.astype(np.float64), gains.astype(np.float64)
    channels, (length, terms) = np.arange(x.shape[1]), gains.shape[1:]
    for n in reversed(range(length)) if backward else range(length):
        for k in range(terms):
            source = n - delays[:, n, k]
            gain = np.where(source >= 0, gains[:, n, k], 0.0)
            source = np.maximum(source, 0)
            if backward:
                y[:, channels, source] += gain * y[:, :, n]
            else:
                y[:, :, n] += gain * y[:, channels, source]
    return y.astype(x.dtype)


def _prepare_filter(x, a, b):
    (rows, channels, length), (order, taps) = x.shape, (a.shape[1], b.shape[1])
    small = order <= 3 and taps <= 3
    kernel = native.second_order if small else native.any_order
    code = kernel.address(real=language_type(x.dtype))
    grain = chunk(rows * channels, length * _SAMPLE_WORK * (order + taps))
    words = [channels, length, order, taps]
    return prepared(
        code, rows * channels, grain, [x, a, b], [(x.shape, x.dtype)], words, scratch=not small
    )


def filtered(x, a, b):
    """:func:`filtered_reference`, compiled."""
    if REFERENCE or not x.size:
        return filtered_reference(x, a, b)
    dtype = x.dtype
    x, a, b = (compute_array(each) for each in (x, a, b))
    key = x.shape, x.dtype, a.shape, b.shape
    found = _calls.get(key)
    if found is None:
        found = _calls.keep(key, _prepare_filter(x, a, b))
    return cast(called(found, (x, a, b)), dtype)


def _prepare_feedback(x, gains, delays, backward):
    (rows, channels, length), terms = x.shape, gains.shape[2]
    code = native.varying.address(real=language_type(x.dtype))
    grain = chunk(rows * channels, length * _SAMPLE_WORK * (terms + 1))
    words = [channels, length, terms, int(backward)]
    inputs, outputs = [x, gains, delays], [(x.shape, x.dtype)]
    return prepared(code, rows * channels, grain, inputs, outputs, words, scratch=True)


def fed_back(x, gains, delays, backward):
    """:func:`fed_back_reference`, compiled."""
    if REFERENCE or not x.size:
        return fed_back_reference(x, gains, delays, backward)
    _check_delays(delays)
    dtype = x.dtype
    x, gains = compute_array(x), compute_array(cast(gains, compute_dtype(dtype)))
    delays = np.ascontiguousarray(delays, np.int64)
    key = x.shape, x.dtype, gains.shape, backward
    found = _calls.get(key)
    if found is None:
        found = _calls.keep(key, _prepare_feedback(x, gains, delays, backward))
    return cast(called(found, (x, gains, delays)), dtype)


def _check_delays(delays):
    # here, where there are values: programs are captured without, and a GPU would be waited for
    if type(delays) is np.ndarray and delays.size and delays.min() < 1:
        raise ValueError("varying_feedback: delays must be whole numbers of at least 1")
