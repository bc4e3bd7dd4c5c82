"""Filters with feedback along the last dimension, and the transposed ones as their gradients."""

from __future__ import annotations

import importlib

from rushlight.kernels.signal import recursion as kernels
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.op import op
from rushlight.ops.shape.joining import stack
from rushlight.tensor.tensor import Tensor


def _samples(make):
    return [
        ((make(2, 3, 9), 0.3 * make(3, 3), make(3, 2)), {}),
        ((make(1, 2, 7), 0.2 * make(2, 5), make(2, 1)), {}),
        ((make(2, 1, 2), 0.3 * make(1, 4), make(1, 6)), {}),
        ((make(2, 1, 0), 0.3 * make(1, 2), make(1, 2)), {}),
    ]


@op(
    method=False,
    tested_by="tests/signal/test_filters.py",
    samples=_samples,
    meta=lambda x, feedback, forward: (x.shape, dtype_of(x)),
)
def _recursive_filter(x: Tensor, feedback: Tensor, forward: Tensor):
    """``y[n] = sum_k forward[k] x[n-k] - sum_{k>0} feedback[k] y[n-k]`` of x (N, C, T), both
    coefficients (C, taps); feedback[0], which is not read, stands for 1."""
    return kernels.filtered_reference(x, feedback, forward)


def _on_gpu():
    return importlib.import_module("rushlight.kernels.signal.cuda")


_recursive_filter.cpu(kernels.filtered)
_recursive_filter.cuda(lambda *arrays: _on_gpu().filtered(*arrays))


def _backwards(grad, feedback, forward):
    return _recursive_filter(grad.flip(-1), feedback, forward).flip(-1)


def _correlations(grad, signal, taps, first):
    """``sum_n grad[n] signal[n-k]`` (C, taps) of each k from `first`, zeros below."""
    length = signal.shape[-1]
    columns = []
    for k in range(taps):
        if k < first or k >= length:
            columns.append(grad.new_zeros(grad.shape[1]))
        else:
            columns.append((grad[..., k:] * signal[..., : length - k]).sum((0, 2)))
    return stack(columns, 1)


@_recursive_filter.gradients("x", "feedback", "forward")
def _filter_gradients(grad, x, feedback, forward, out, needs):
    """The transposed filter, and correlations with what it gives."""
    one = forward[:, :1] * 0 + 1
    if not (needs[1] or needs[2]):
        return _backwards(grad, feedback, forward), None, None
    inner = _backwards(grad, feedback, one)
    return (
        _backwards(inner, one, forward) if needs[0] else None,
        -_correlations(inner, out, feedback.shape[1], 1) if needs[1] else None,
        _correlations(inner, x, forward.shape[1], 0) if needs[2] else None,
    )


def _delayed(make):
    delays = make.integers(1, 4, (2, 6, 2))
    return [
        ((make(3, 2, 6), 0.4 * make(2, 6, 2), delays, False), {}),
        ((make(3, 2, 6), 0.4 * make(2, 6, 2), delays, True), {}),
    ]


@op(
    method=False,
    tested_by="tests/signal/test_filters.py",
    samples=_delayed,
    meta=lambda x, gains, delays, backward: (x.shape, dtype_of(x)),
)
def _varying_feedback(x: Tensor, gains: Tensor, delays: Tensor, backward):
    """``y[n] = x[n] + sum_k gains[n, k] y[n - delays[n, k]]`` of x (N, C, T), gains and delays
    (C, T, K), the delays being at least 1; `backward`: the transposed recursion."""
    return kernels.fed_back_reference(x, gains, delays, backward)


_varying_feedback.cpu(kernels.fed_back)
_varying_feedback.cuda(lambda *arrays: _on_gpu().fed_back(*arrays))


def _earlier(signal, delays):
    """``signal[n - delays[n, k]]`` (N, C, T, K), zeros before the beginning."""
    length = signal.shape[-1]
    channels, _, terms = delays.shape
    source = (delays.new_tensor(range(length))[:, None] - delays).reshape(channels, -1)
    found = signal.gather(2, source.clamp(min=0).expand(signal.shape[0], *source.shape))
    return (found * (source >= 0)).reshape(*signal.shape, terms)


@_varying_feedback.gradients("x", "gains")
def _feedback_gradients(grad, x, gains, delays, out, backward, needs):
    """The recursion the other way round; gains get products with the signals they multiplied."""
    inner = _varying_feedback(grad, gains, delays, not backward)
    if not needs[1]:
        return inner, None
    source, target = (inner, out) if backward else (out, inner)
    return inner, (target.unsqueeze(-1) * _earlier(source, delays)).sum(0)
