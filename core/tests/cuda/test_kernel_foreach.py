"""Multi-tensor kernels on the emulator, against float64 formulas of single tensors."""

import math

import numpy as np
import pytest
from kernel_cases import BFLOAT16, FLOAT32, FLOATS, close, emulator, on_device, on_host, wide

from rushlight.kernels.optimizers import cuda_foreach as foreach
from rushlight.machine.cuda.runtime import streams

SHAPES = [(3,), (33, 65), (0,), (2049,), (1,)]


def draw(seed, dtype=FLOAT32, shapes=SHAPES, positive=False):
    generator = np.random.default_rng(seed)
    arrays = [generator.standard_normal(shape) for shape in shapes]
    return [(np.abs(a) if positive else a).astype(dtype) for a in arrays]


def devices(arrays):
    return [on_device(a) for a in arrays]


def scalar(value):
    return on_device(np.asarray(value, np.float32))


def sgd_reference(p, d, m, lr, momentum, dampening, decay, nesterov, maximize, first):
    p, d = wide(p), wide(d) * (-1 if maximize else 1)
    d = d + decay * p
    if m is not None:
        m = d if first else momentum * wide(m) + (1 - dampening) * d
        d = d + momentum * m if nesterov else m
    return p - lr * d, m


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    ("momentum", "dampening", "nesterov", "first"),
    [(0, 0, False, False), (0.9, 0.1, False, False), (0.9, 0, True, False), (0.9, 0, False, True)],
)
def test_sgd(dtype, momentum, dampening, nesterov, first):
    p, d, m = (draw(seed, dtype) for seed in range(3))
    rest = (momentum, dampening, 0.01, nesterov, False, first)
    on = devices(p), devices(d), devices(m) if momentum else None
    foreach.sgd(*on, 0.1, *rest)
    for i in range(len(p)):
        wanted = sgd_reference(p[i], d[i], m[i] if momentum else None, 0.1, *rest)
        close(on_host(on[0][i]), wanted[0], dtype)
        if momentum:
            close(on_host(on[2][i]), wanted[1], dtype)


def adam_reference(p, d, m, v, w, step, lr, b1, b2, eps, decay, maximize, decoupled):
    p, d, m, v = wide(p), wide(d) * (-1 if maximize else 1), wide(m), wide(v)
    if decoupled:
        p = p * (1 - lr * decay)
    else:
        d = d + decay * p
    m, v = m + (d - m) * (1 - b1), b2 * v + (1 - b2) * d * d
    top = v if w is None else np.maximum(v, wide(w))
    root = np.sqrt(top) / math.sqrt(1 - b2**step) + eps
    return p - lr / (1 - b1**step) * m / root, m, v, top


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("largest", "decoupled"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("kind", ["numbers", "device"])
def test_adam(dtype, largest, decoupled, kind):
    p, d, m = (draw(seed, dtype) for seed in range(3))
    v, w = draw(3, dtype, positive=True), draw(4, dtype, positive=True)
    rest = (0.9, 0.99, 1e-8, 0.1, False, decoupled)
    steps = [3, 5, 3, 3, 5]
    on = [devices(x) for x in (p, d, m, v)] + [devices(w) if largest else None]
    if kind == "device":
        foreach.adam(*on, [scalar(s) for s in steps], scalar(0.01), *rest)
    else:
        foreach.adam(*on, steps, 0.01, *rest)
    for i, step in enumerate(steps):
        top = w[i] if largest else None
        wanted = adam_reference(p[i], d[i], m[i], v[i], top, step, np.float32(0.01), *rest)
        for found, expected in zip((on[0], on[2], on[3]), wanted[:3], strict=True):
            close(on_host(found[i]), expected, dtype, 4)


def test_found_inf_skips_and_the_gradient_scale_divides():
    p, d = draw(0), draw(1)
    on = devices(p), devices(d)
    foreach.sgd(*on, None, 0.1, 0, 0, 0, False, False, False, None, scalar(1))
    for before, after in zip(p, on[0], strict=True):
        np.testing.assert_array_equal(before, on_host(after))
    foreach.sgd(*on, None, 0.1, 0, 0, 0, False, False, False, scalar(4), scalar(0))
    for before, grad, after in zip(p, d, on[0], strict=True):
        close(on_host(after), before - 0.1 / 4 * wide(grad))


def test_strided_parameters_are_written_where_they_are():
    p, d = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((3, 4), np.float32)
    on = on_device(p).transpose(1, 0)
    foreach.sgd([on], [on_device(d.T)], None, 1.0, 0, 0, 0, False, False, False)
    np.testing.assert_array_equal(on_host(on), p.T - 1)
    odd = on_device(p)[:, ::2]
    foreach.sgd([odd], [on_device(d[:, ::2])], None, 1.0, 0, 0, 0, False, False, False)
    np.testing.assert_array_equal(on_host(odd), p[:, ::2] - 1)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("order", [1, 2, 3, math.inf])
def test_total_norm(dtype, order):
    arrays = draw(0, dtype)
    flat = np.concatenate([wide(a).reshape(-1) for a in arrays])
    found = on_host(foreach.total_norm(devices(arrays), order))
    close(found, np.linalg.norm(flat, order), dtype)


def test_squares_beyond_float32_are_added():
    big = np.full(5, 1e30, np.float32)
    close(on_host(foreach.total_norm(devices([big]), 2)), 1e30 * math.sqrt(5))


def test_scale_clip_and_unscale():
    arrays = draw(0)
    for factor in (0.5, scalar(0.5)):
        on = devices(arrays)
        foreach.scale_(on, factor)
        for a, b in zip(arrays, on, strict=True):
            np.testing.assert_array_equal(on_host(b), a * np.float32(0.5))
    on = devices(arrays)
    norm = foreach.total_norm(on, 2)
    foreach.clip_(on, norm, 1.0)
    close(on_host(foreach.total_norm(on, 2)), 1.0)
    on, found = devices(arrays), scalar(0)
    foreach.unscale_(on, found, scalar(0.25))
    assert on_host(found) == 0
    np.testing.assert_array_equal(on_host(on[1]), arrays[1] * np.float32(0.25))
    on[3][7] = math.nan
    foreach.unscale_(on, found, scalar(0.25))
    assert on_host(found) == 1


def test_update_scale():
    scale, tracker = scalar(8), on_device(np.asarray(1, np.int32))
    foreach.update_scale_(scale, tracker, scalar(0), 2.0, 0.5, 2)
    assert (on_host(scale), on_host(tracker)) == (16, 0)
    foreach.update_scale_(scale, tracker, scalar(0), 2.0, 0.5, 2)
    assert (on_host(scale), on_host(tracker)) == (16, 1)
    foreach.update_scale_(scale, tracker, scalar(1), 2.0, 0.5, 2)
    assert (on_host(scale), on_host(tracker)) == (8, 0)


def test_one_launch_a_step_without_waiting_and_in_a_graph():
    runtime = emulator()
    p, d = devices(draw(0)), devices(draw(1))
    m, v = devices(draw(2)), devices(draw(3, positive=True))
    step = [scalar(1) for _ in p]
    rest = (0.01, 0.9, 0.99, 1e-8, 0.1, False, True)
    foreach.adam(p, d, m, v, None, step, *rest)
    before = runtime.counters.snapshot()
    foreach.adam(p, d, m, v, None, step, *rest)
    added = runtime.counters.since(before)
    assert (added["launches"], added["synchronizations"], added["copies_in"]) == (1, 0, 0)
    expected = [on_host(x) for x in p]
    stream = runtime.stream_create(0)
    old = streams.set_current(stream)
    runtime.graph_begin(stream)
    foreach.adam(p, d, m, v, None, step, *rest)
    graph = runtime.graph_end(stream)
    streams.set_current(old)
    np.testing.assert_array_equal(on_host(p[1]), expected[1])
    graph.launch(stream)
    runtime.stream_synchronize(stream)
    assert not np.array_equal(on_host(p[1]), expected[1])
    runtime.synchronize(0)


def test_dtypes_are_grouped():
    p = devices([np.ones(3, np.float32), np.ones(5, BFLOAT16)])
    d = devices([np.ones(3, np.float32), np.ones(5, BFLOAT16)])
    foreach.sgd(p, d, None, 0.5, 0, 0, 0, False, False, False)
    assert on_host(p[0]).tolist() == [0.5] * 3
    assert on_host(p[1]).astype(np.float32).tolist() == [0.5] * 5
