"""Fused optimizer steps over lists, against float64 formulas and the oracle."""

from __future__ import annotations

import copy
import itertools
import math

import ml_dtypes
import numpy as np
import pytest

from rushlight.kernels.optimizers import adaptive_steps, foreach
from rushlight.machine import threads

SHAPES = [(128, 77), (128,), (0,), (3, 4, 5), (10_000,), (1,), (), (0, 3), (4096,)]


def arrays(rng, dtype, shapes=SHAPES):
    return [np.asarray(rng.standard_normal(shape), dtype) for shape in shapes]


def squares(rng, dtype, shapes=SHAPES):
    return [np.asarray(np.abs(a)) for a in arrays(rng, dtype, shapes)]


def close(got, want, bound):
    return all(np.allclose(a, b, rtol=bound, atol=bound) for a, b in zip(got, want, strict=True))


SGD = [
    # lr, momentum, dampening, weight_decay, nesterov, maximize, first_step
    (0.1, 0, 0, 0, False, False, True),
    (0.1, 0, 0, 0.01, False, True, False),
    (0.1, 0.9, 0, 0, False, False, True),
    (0.1, 0.9, 0.5, 0.1, False, False, False),
    (0.1, 0.9, 0, 0.1, True, True, False),
    (0.1, 0.9, 0, 0.1, True, False, True),
]


@pytest.mark.parametrize("settings", SGD)
def test_sgd(rng, dtype, settings):
    buffers = arrays(rng, dtype) if settings[1] else None
    lists = [arrays(rng, dtype), arrays(rng, dtype), buffers]
    wide = copy.deepcopy(lists)
    foreach.sgd(*lists, *settings)
    foreach.sgd.reference(*wide, *settings)
    bound = 1e-5 if dtype == np.float32 else 1e-13
    assert close(lists[0], wide[0], bound)
    assert close(lists[1], wide[1], 0)
    if buffers is not None:
        assert close(lists[2], wide[2], bound)


ADAM = list(itertools.product([False, True], [0.0, 0.1], [False, True], [False, True]))


@pytest.mark.parametrize(("largest", "decay", "maximize", "decoupled"), ADAM)
def test_adam(rng, dtype, largest, decay, maximize, decoupled):
    maxima = squares(rng, dtype) if largest else None
    lists = [
        arrays(rng, dtype),
        arrays(rng, dtype),
        arrays(rng, dtype),
        squares(rng, dtype),
        maxima,
    ]
    wide = copy.deepcopy(lists)
    args = (0.01, 0.9, 0.99, 1e-8, decay, maximize, decoupled)
    steps = [3.0] * len(SHAPES)
    foreach.adam(*lists, steps, *args)
    foreach.adam.reference(*wide, steps, *args)
    bound = 2e-5 if dtype == np.float32 else 1e-12
    for got, want in zip(lists, wide, strict=True):
        assert want is None or close(got, want, bound)


@pytest.mark.parametrize("name", ["sgd", "adam", "adamw", "amsgrad"])
def test_oracle_over_five_steps(rng, name):
    torch = pytest.importorskip("torch")
    shapes = [(30, 20), (20,)]
    params = arrays(rng, np.float32, shapes)
    tensors = [torch.nn.Parameter(torch.tensor(p)) for p in params]
    if name == "sgd":
        optimizer = torch.optim.SGD(tensors, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True)
    elif name == "adamw":
        optimizer = torch.optim.AdamW(tensors, 0.01, weight_decay=0.1)
    else:
        optimizer = torch.optim.Adam(tensors, 0.01, weight_decay=0.1, amsgrad=name == "amsgrad")
    state = [[np.zeros_like(p) for p in params] for _ in range(3)]
    for step in range(1, 6):
        grads = arrays(rng, np.float32, shapes)
        for tensor, grad in zip(tensors, grads, strict=True):
            tensor.grad = torch.tensor(grad)
        optimizer.step()
        if name == "sgd":
            foreach.sgd(params, grads, state[0], 0.1, 0.9, 0, 0.01, True, False, step == 1)
        else:
            maxima = state[2] if name == "amsgrad" else None
            foreach.adam(params, grads, *state[:2], maxima, [float(step)] * 2, 0.01, 0.9, 0.999,
                         1e-8, 0.1, False, name == "adamw")  # fmt: skip
    for p, tensor in zip(params, tensors, strict=True):
        assert np.allclose(p, tensor.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_different_steps(rng):
    lists = [arrays(rng, np.float64), arrays(rng, np.float64), arrays(rng, np.float64),
             squares(rng, np.float64)]  # fmt: skip
    wide = copy.deepcopy(lists)
    steps = [float(1 + i % 3) for i in range(len(SHAPES))]
    args = (0.01, 0.9, 0.99, 1e-8, 0.1, False, True)
    foreach.adam(*lists, None, steps, *args)
    foreach.adam.reference(*wide, None, steps, *args)
    for got, want in zip(lists, wide, strict=True):
        assert close(got, want, 1e-12)


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_low_precision_and_strides(rng, kind):
    shapes = [(5, 6), (7,)]
    params, grads = arrays(rng, kind, shapes), arrays(rng, kind, shapes)
    wide = [p.astype(np.float32) for p in params]
    foreach.sgd(params, grads, None, 0.1, 0, 0, 0.1, False, False, True)
    foreach.sgd(wide, [g.astype(np.float32) for g in grads], None, 0.1, 0, 0, 0.1, False, False,
                True)  # fmt: skip
    for p, w in zip(params, wide, strict=True):
        assert np.array_equal(p, w.astype(kind))
    base = rng.standard_normal((8, 6))
    strided = base.T[::2]
    want = strided - 0.1 * 1.0
    foreach.sgd([strided], [np.ones((3, 8))], None, 0.1, 0, 0, 0, False, False, True)
    assert np.allclose(strided, want)
    mixed = [np.ones(3, np.float32), np.ones(4, np.float64)]
    foreach.scale_(mixed, 0.5)
    assert all((m == 0.5).all() for m in mixed)


@pytest.mark.compiled("the reference launches nothing")
def test_memory_orders_and_dtypes_share_launches(rng, monkeypatch):
    launches = []
    monkeypatch.setattr(foreach, "_launch", lambda *a, _launch=foreach._launch: (
        launches.append(len(a[2][0])), _launch(*a))[1])  # fmt: skip
    last = [rng.standard_normal((2, 5, 4, 3)).transpose(0, 3, 1, 2) for _ in range(3)]
    plain = [rng.standard_normal((4, 4)) for _ in range(3)]
    narrow = [rng.standard_normal(7).astype(np.float32) for _ in range(3)]
    apart = [rng.standard_normal((4, 6)), rng.standard_normal((6, 4)).T, np.ones((4, 6))]
    rows = [last, plain, narrow, apart, [v + 1 for v in last]]
    lists = [[row[i] for row in rows] for i in range(3)]
    wide = [[np.array(a) for a in values] for values in lists]
    settings = (0.1, 0.9, 0, 0.1, False, False, False)
    foreach.sgd(*lists, *settings)
    foreach.sgd.reference(*wide, *settings)
    assert launches == [5, 3, 1, 1]  # refused, then float64, float32, and what has two orders
    for got, want in zip(lists, wide, strict=True):
        assert close(got, want, 1e-6)


def test_lists_must_belong_together(rng):
    with pytest.raises(ValueError, match="one length"):
        foreach.sgd([np.ones(3)], [], None, 0.1, 0, 0, 0, False, False, True)
    with pytest.raises(ValueError, match="differ in shape"):
        foreach.sgd([np.ones(3)], [np.ones(4)], None, 0.1, 0, 0, 0, False, False, True)


@pytest.mark.parametrize("norm", [1, 2, 2.0, math.inf, 3])
def test_total_norm(rng, dtype, norm):
    grads = arrays(rng, dtype)
    grads[0] = np.ascontiguousarray(grads[0].T).T
    flat = np.concatenate([g.reshape(-1).astype(np.float64) for g in grads])
    got = foreach.total_norm(grads, norm)
    assert got.dtype == dtype
    assert got.shape == ()
    assert np.allclose(got, np.linalg.norm(flat, norm), rtol=1e-6)
    assert np.allclose(got, foreach.total_norm.reference(grads, norm), rtol=1e-6)
    grads[3][0, 0, 0] = np.nan
    assert np.isnan(foreach.total_norm(grads, norm))


def test_total_norm_of_nothing():
    assert foreach.total_norm([], 2) == 0
    assert foreach.total_norm([np.zeros(0, np.float32)], 2) == 0


def test_scale(rng, dtype):
    values = arrays(rng, dtype)
    want = [v * dtype.type(0.25) for v in values]
    foreach.scale_(values, 0.25)
    assert close(values, want, 0)


def test_many_arrays_and_thread_counts(rng):
    shapes = [(int(n),) for n in rng.integers(1, 9000, 200)]
    start = [arrays(rng, np.float32, shapes) for _ in range(3)] + [squares(rng, np.float32, shapes)]
    before, results = threads.get_num_threads(), []
    for count in (1, 2, 5):
        threads.set_num_threads(count)
        lists = copy.deepcopy(start)
        foreach.adam(*lists, None, [2.0] * 200, 0.01, 0.9, 0.99, 1e-8, 0.1, False, False)
        results.append((*lists[0], foreach.total_norm(lists[0], 2)))
    threads.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))
    wide = copy.deepcopy(start)
    foreach.adam.reference(*wide, None, [2.0] * 200, 0.01, 0.9, 0.99, 1e-8, 0.1, False, False)
    assert close(results[0][:-1], wide[0], 2e-5)


def adaptive_cases():
    """Name, number of lists of squares, per-array numbers, settings."""
    for means, momenta in itertools.product([False, True], repeat=2):
        yield "rmsprop", (means, momenta), None, (0.01, 0.9, 1e-3, 0.1, 0.5, momenta)
    for maximize in (False, True):
        yield "adagrad", (), [0.01, 0.02, 0.01], (1e-8, 0.1, maximize)
        yield "adadelta", (), None, (0.5, 0.9, 1e-3, 0.1, maximize)
        yield "adamax", (), [0.01, 0.02, 0.01], (0.9, 0.99, 1e-3, 0.1, maximize)
        yield "rprop", (), None, ((0.5, 1.2), (1e-3, 1.5), maximize)
        yield "asgd", (), [(0.1, 0.9, 1.0), (0.2, 0.8, 0.3), (0.1, 0.9, 0.5)], (0.1, maximize)
        for decoupled in (False, True):
            rest = (0.01, 0.9, 0.99, 1e-3, 0.1, maximize, decoupled)
            yield "nadam", (), [(0.01, 0.02, 0.3), (0.03, 0.01, 0.5), (0.01, 0.02, 0.3)], rest
            yield "radam", (), [(0.01, 0.0), (0.03, 1.0), (0.02, 1.0)], rest


def adaptive_lists(rng, dtype, name, kinds):
    """Parameters, gradients and states of a kernel."""
    lists = [arrays(rng, dtype), arrays(rng, dtype)]
    if name == "rmsprop":
        means = [np.asarray(s * 0.1, dtype) for s in squares(rng, dtype)] if kinds[0] else None
        large = [np.asarray(s + 1, dtype) for s in squares(rng, dtype)]
        return [*lists, large, means, arrays(rng, dtype) if kinds[1] else None]
    if name in ("nadam", "radam", "rprop"):
        lists.append(arrays(rng, dtype))
    if name == "adamax":
        return [*lists, arrays(rng, dtype), squares(rng, dtype)]
    count = 2 if name == "adadelta" else 1
    return [*lists, *(squares(rng, dtype) for _ in range(count))]


@pytest.mark.parametrize(("name", "kinds", "numbers", "settings"), list(adaptive_cases()))
def test_adaptive_steps(rng, dtype, name, kinds, numbers, settings):
    kernel = getattr(adaptive_steps, name)
    lists = adaptive_lists(rng, dtype, name, kinds)
    wide = copy.deepcopy(lists)
    own = [] if numbers is None else [[numbers[i % 3] for i in range(len(SHAPES))]]
    kernel(*lists, *own, *settings)
    kernel.reference(*wide, *own, *settings)
    bound = 5e-5 if dtype == np.float32 else 1e-12
    for i, (got, want) in enumerate(zip(lists, wide, strict=True)):
        assert want is None or close(got, want, 0 if i == 1 else bound)


def test_adaptive_steps_take_low_precision_and_read_only_gradients(rng):
    params = [p.astype(ml_dtypes.bfloat16) for p in arrays(rng, np.float32, [(5, 6)])]
    sums, grads = [np.ones_like(params[0])], [np.ones_like(params[0])]
    grads[0].flags.writeable = False
    want = params[0].astype(np.float32) - 0.1 / math.sqrt(2.0)
    adaptive_steps.adagrad(params, grads, sums, [0.1], 0.0, 0.0, False)
    assert np.array_equal(params[0], want.astype(ml_dtypes.bfloat16))
    assert (sums[0] == 2).all()
    adaptive_steps.adagrad([], [], [], [], 0.0, 0.0, False)
    with pytest.raises(ValueError, match="one length"):
        adaptive_steps.adagrad(params, grads, sums, [], 0.0, 0.0, False)


HALVES = [np.float16, ml_dtypes.bfloat16]


@pytest.mark.compiled("the reference computes in float64")
@pytest.mark.parametrize("kind", HALVES)
@pytest.mark.parametrize("largest", [False, True])
def test_adam_of_half_width_is_that_of_float32_rounded_once(rng, kind, largest):
    lists = [arrays(rng, kind), arrays(rng, kind), arrays(rng, kind), squares(rng, kind)]
    lists.append(squares(rng, kind) if largest else None)
    lists[1][0][:, 3] = np.inf
    lists[1][0][:, 5] = np.nan
    wide = [v and [a.astype(np.float32) for a in v] for v in lists]
    args = ([3.0] * len(SHAPES), 0.01, 0.9, 0.99, 1e-8, 0.1, False, True)
    foreach.adam(*lists, *args)
    foreach.adam(*wide, *args)
    for got, want in zip(lists, wide, strict=True):
        for a, b in zip(got or (), want or (), strict=True):
            with np.errstate(over="ignore"):
                assert np.array_equal(a.astype(np.float32), b.astype(kind).astype(np.float32), True)


def test_states_that_are_wider_than_parameters_keep_their_width(rng):
    shapes = [(33, 5)]
    lists = [arrays(rng, np.float16, shapes), arrays(rng, np.float16, shapes),
             arrays(rng, np.float32, shapes), squares(rng, np.float32, shapes)]  # fmt: skip
    wide = [[a.astype(np.float32) for a in values] for values in lists]
    args = (None, [2.0], 0.01, 0.9, 0.99, 1e-8, 0.0, False, False)
    foreach.adam(*lists, *args)
    foreach.adam(*wide, *args)
    assert close(lists[2], wide[2], 0)
    assert close(lists[3], wide[3], 0)
    assert np.array_equal(lists[0][0], wide[0][0].astype(np.float16))


STEPS = [("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
         ("Adam", {"lr": 0.1, "amsgrad": True}), ("AdamW", {"lr": 0.1}),
         ("RMSprop", {"lr": 0.1, "momentum": 0.5, "centered": True}), ("Adagrad", {"lr": 0.1}),
         ("Adamax", {"lr": 0.1}), ("NAdam", {"lr": 0.1}), ("RAdam", {"lr": 0.1}),
         ("Rprop", {"lr": 0.1}), ("ASGD", {"lr": 0.1})]  # fmt: skip


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize(("name", "options"), STEPS)
def test_steps_of_half_width_against_the_oracle(rng, name, options, kind):
    import rushlight

    torch = pytest.importorskip("torch")
    shapes = [(37, 11), (5000,), ()]
    starts = arrays(rng, np.float32, shapes)
    grads = [arrays(rng, np.float32, shapes) for _ in range(3)]
    results = []
    for library in (rushlight, torch):
        dtype = getattr(library, kind)
        params = [library.tensor(a).to(dtype).t() if a.ndim == 2 else library.tensor(a).to(dtype)
                  for a in starts]  # fmt: skip
        params = [p.requires_grad_() for p in params]
        optimizer = getattr(library.optim, name)(params, **options)
        for values in grads:
            for p, g in zip(params, values, strict=True):
                g = library.tensor(g + np.sign(g)).to(dtype)
                p.grad = g.t() if g.ndim == 2 else g
            optimizer.step()
        assert all(p.dtype is dtype for p in params)
        assert all(v.dtype is dtype for s in optimizer.state.values() for k, v in s.items()
                   if v is not None and v.shape == params[0].shape)  # fmt: skip
        results.append([p.detach().float().numpy() for p in params])
    bound = 4e-3 if kind == "float16" else 3e-2  # four of their last places
    for a, b in zip(*results, strict=True):
        assert np.allclose(a, b, rtol=bound, atol=bound)
