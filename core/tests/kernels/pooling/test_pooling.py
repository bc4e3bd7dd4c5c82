"""Pooling against window-by-window references and the oracle."""

from __future__ import annotations

import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest

import rushlight

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from layouts import reversed_axes, scattered  # noqa: E402

from rushlight.kernels.pooling import windows as pooling  # noqa: E402
from rushlight.machine import threads  # noqa: E402

# shape, kernel, stride, padding, dilation, ceil_mode
CASES = {
    "pairs": ((3, 4, 8, 10), (2, 2), (2, 2), (0, 0), (1, 1), False),
    "pairs, odd": ((2, 3, 7, 9), (2, 2), (2, 2), (0, 0), (1, 1), False),
    "pairs, odd, ceil": ((2, 3, 7, 9), (2, 2), (2, 2), (0, 0), (1, 1), True),
    "resnet": ((2, 3, 11, 12), (3, 3), (2, 2), (1, 1), (1, 1), False),
    "overlap": ((2, 3, 8, 8), (3, 2), (1, 1), (1, 0), (1, 1), False),
    "ceil and padding": ((1, 2, 6, 7), (3, 3), (2, 3), (1, 1), (1, 1), True),
    "dilated": ((2, 2, 9, 10), (2, 3), (2, 1), (1, 1), (3, 2), False),
    "dilated, ceil": ((2, 2, 10, 10), (3, 3), (2, 2), (1, 1), (2, 2), True),
    "1 dim": ((2, 3, 17), (3,), (2,), (1,), (1,), True),
    "3 dims": ((2, 2, 5, 6, 7), (2, 3, 2), (2, 1, 2), (1, 1, 0), (1, 1, 1), False),
    "long rows": ((1, 2, 9, 61), (3, 3), (2, 2), (1, 1), (1, 1), False),
    "long rows, dilated": ((1, 2, 9, 61), (2, 3), (1, 1), (1, 1), (1, 2), False),
    "1 dim, pairs": ((3, 5, 101), (2,), (2,), (0,), (1,), False),
    "1 dim, nothing over": ((6, 8, 20), (2,), (2,), (0,), (1,), False),
    "1 dim, nothing over, odd": ((3, 5, 21), (3,), (3,), (0,), (1,), False),
    "1 dim, all padded": ((4, 4, 8), (2,), (2,), (1,), (1,), False),
    "1 dim, padded and divided": ((4, 4, 9), (3,), (3,), (1,), (1,), False),
    "1 dim, one less": ((4, 4, 9), (3,), (2,), (0,), (1,), True),
    "1 dim, pairs, ceil": ((3, 5, 101), (2,), (2,), (0,), (1,), True),
    "1 dim, stride 4": ((2, 3, 130), (4,), (4,), (1,), (1,), False),
    "1 dim, narrow": ((2, 3, 3), (4,), (1,), (2,), (1,), False),
    "3 dims, pairs": ((2, 3, 6, 8, 16), (2, 2, 2), (2, 2, 2), (0, 0, 0), (1, 1, 1), False),
    "3 dims, resnet": ((2, 3, 6, 7, 16), (3, 3, 3), (2, 2, 2), (1, 1, 1), (2, 1, 1), False),
    "tall windows": ((2, 3, 16, 59), (7, 3), (2, 2), (3, 1), (1, 1), False),
    "tall windows, dilated rows": ((2, 3, 17, 40), (6, 2), (1, 1), (2, 0), (2, 1), False),
    "8 whole windows": ((2, 3, 9, 17), (3, 3), (1, 2), (1, 0), (2, 1), False),
    "5 x 5 that overlap": ((2, 3, 13, 13), (5, 5), (1, 1), (2, 2), (1, 1), False),
    "13 x 13 that overlap": ((1, 2, 13, 37), (13, 13), (1, 1), (6, 6), (1, 1), False),
    "17 columns": ((1, 2, 5, 40), (2, 17), (1, 2), (1, 8), (1, 1), False),
    "25 columns": ((1, 2, 5, 80), (3, 25), (1, 1), (1, 12), (1, 1), False),
    "31 columns, stride 2": ((1, 2, 5, 90), (2, 31), (1, 2), (0, 15), (1, 1), True),
    "40 columns, stride 3": ((1, 2, 4, 99), (2, 40), (1, 3), (1, 20), (1, 1), False),
    "48 columns of few": ((1, 2, 4, 30), (2, 48), (1, 1), (1, 24), (1, 1), False),
    "17 columns, dilated": ((1, 2, 4, 99), (2, 17), (1, 1), (1, 3), (1, 2), False),
    "stride 2, dilated columns": ((1, 2, 9, 73), (2, 4), (2, 2), (0, 2), (1, 3), False),
    "stride 3": ((2, 3, 10, 61), (3, 4), (2, 3), (1, 2), (1, 1), True),
    "stride 3, dilated columns": ((2, 3, 10, 67), (3, 5), (2, 3), (1, 2), (1, 2), False),
    "stride 4": ((2, 3, 10, 130), (3, 7), (3, 4), (1, 3), (1, 1), False),
    "stride 5": ((2, 3, 10, 61), (3, 4), (2, 5), (1, 2), (1, 1), False),
    "large": ((2, 70, 20, 20), (2, 2), (2, 2), (0, 0), (1, 1), False),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("change", [np.array, scattered, reversed_axes])
def test_max_pool(rng, dtype, name, change):
    shape, *settings = CASES[name]
    x = rng.standard_normal(shape).astype(dtype)
    x.reshape(-1)[:: max(1, x.size // 7)] = np.nan
    y, index = pooling.max_pool_forward(change(x), *settings)
    want, want_index = pooling.max_pool_forward.reference(x, *settings)
    assert y.dtype == dtype
    assert np.array_equal(y, want, equal_nan=True)
    assert np.array_equal(index, want_index)
    dy = rng.standard_normal(y.shape).astype(dtype)
    for _ in range(2):  # the second call of a layout goes a shorter way
        alone, nothing = pooling.max_pool_forward(change(x), *settings, False)
        assert nothing is None
        assert np.array_equal(alone, want, equal_nan=True)
    got = pooling.max_pool_backward(change(dy), change(index), shape)
    assert np.allclose(got, pooling.max_pool_backward.reference(dy, index, shape), atol=1e-5)


@pytest.mark.parametrize("name", [n for n in CASES if "dilated" not in n])
@pytest.mark.parametrize("count_include_pad", [True, False])
@pytest.mark.parametrize("divisor", [None, 3])
def test_avg_pool(rng, dtype, name, count_include_pad, divisor):
    shape, kernel, stride, padding, _, ceil_mode = CASES[name]
    settings = (kernel, stride, padding, ceil_mode, count_include_pad, divisor)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    x = rng.standard_normal(shape).astype(dtype)
    y = pooling.avg_pool_forward(scattered(x), *settings)
    assert y.dtype == dtype
    assert np.allclose(y, pooling.avg_pool_forward.reference(x, *settings), atol=tolerance)
    dy = rng.standard_normal(y.shape).astype(dtype)
    got = pooling.avg_pool_backward(scattered(dy), shape, *settings)
    want = pooling.avg_pool_backward.reference(dy, shape, *settings)
    assert np.allclose(got, want, atol=tolerance)


@pytest.mark.parametrize("name", CASES)
def test_oracle(rng, name):
    torch = pytest.importorskip("torch")
    shape, kernel, stride, padding, dilation, ceil_mode = CASES[name]
    x = rng.standard_normal(shape).astype(np.float32)
    x.reshape(-1)[:: max(1, x.size // 5)] = np.nan
    spatial = len(kernel)
    functions = torch.nn.functional
    max_pool = [functions.max_pool1d, functions.max_pool2d, functions.max_pool3d][spatial - 1]
    want, places = max_pool(torch.tensor(x), kernel, stride, padding, dilation, ceil_mode,
                            return_indices=True)  # fmt: skip
    y, index = pooling.max_pool_forward(x, kernel, stride, padding, dilation, ceil_mode)
    assert np.array_equal(y, want.numpy(), equal_nan=True)
    assert np.array_equal(index, places.numpy())
    if "dilated" in name:
        return
    x = np.nan_to_num(x)
    avg_pool = [functions.avg_pool1d, functions.avg_pool2d, functions.avg_pool3d][spatial - 1]
    for include in (True, False):
        tx = torch.tensor(x, requires_grad=True)
        want = avg_pool(tx, kernel, stride, padding, ceil_mode, include)
        want.sum().backward()
        settings = (kernel, stride, padding, ceil_mode, include, None)
        y = pooling.avg_pool_forward(x, *settings)
        assert np.allclose(y, want.detach().numpy(), atol=1e-5)
        dx = pooling.avg_pool_backward(np.ones_like(y), shape, *settings)
        assert np.allclose(dx, tx.grad.numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "out"),
    [((2, 3, 7, 9), (3, 4)), ((2, 3, 5, 5), (1, 1)), ((70, 30, 4, 4), (1, 1)),
     ((2, 30, 9), (1,)), ((3, 5, 4, 3, 2), (1, 1, 1)), ((2, 3, 1, 1), (1, 1)),
     ((1, 2, 3, 4), (5, 7)), ((2, 3, 10), (4,)),
     ((1, 2, 5, 6, 7), (2, 3, 7)), ((2, 2, 4, 4), (0, 2)), ((2, 3, 12, 40), (3, 20)),
     ((2, 2, 4, 6, 12), (2, 6, 3)), ((2, 2, 4, 4), (1, 1))],
)  # fmt: skip
def test_adaptive(rng, dtype, shape, out):
    x = rng.standard_normal(shape).astype(dtype)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    want = pooling.adaptive_avg_pool_forward.reference(x, out)
    for way in (scattered, np.array, np.array):  # the last one is a layout met before
        y = pooling.adaptive_avg_pool_forward(way(x), out)
        assert y.dtype == dtype
        assert y.shape == want.shape
        assert np.allclose(y, want, atol=tolerance)
    dy = rng.standard_normal(y.shape).astype(dtype)
    got = pooling.adaptive_avg_pool_backward(dy, shape)
    want = pooling.adaptive_avg_pool_backward.reference(dy, shape)
    assert np.allclose(got, want, atol=tolerance)
    y, index = pooling.adaptive_max_pool_forward(scattered(x), out)
    want, want_index = pooling.adaptive_max_pool_forward.reference(x, out)
    assert np.array_equal(y, want)
    assert np.array_equal(index, want_index)
    if 0 not in out:
        torch = pytest.importorskip("torch")
        functions = torch.nn.functional
        spatial = len(out) - 1
        adaptive = [functions.adaptive_max_pool1d, functions.adaptive_max_pool2d,
                    functions.adaptive_max_pool3d][spatial]  # fmt: skip
        want, places = adaptive(torch.tensor(x), out, return_indices=True)
        assert np.array_equal(y, want.numpy())
        assert np.array_equal(index, places.numpy())


ADAPTIVE = [((2, 3, 14, 14), (4, 4)), ((2, 3, 7, 5), (3, 2)), ((1, 2, 5, 300), (2, 1)),
            ((1, 2, 5, 300), (2, 2)), ((3, 1, 9, 131), (4, 130)), ((2, 2, 5, 6), (7, 8)),
            ((2, 3, 4, 4), (1, 1)), ((1, 2, 4, 5, 300), (3, 2, 2)), ((2, 3, 40), (7,)),
            ((1, 1, 11, 9), (1, 3)), ((0, 3, 4, 4), (2, 2)),
            ((2, 3, 12, 40), (3, 20)), ((2, 2, 4, 6, 12), (2, 6, 3))]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "out"), ADAPTIVE)
@pytest.mark.parametrize("kind", ["ties", "nan", "nan and -inf", "infinities and zeros"])
def test_adaptive_places(rng, dtype, shape, out, kind):
    """The first of equal maxima and the last NaN, whichever column they are in."""
    torch = pytest.importorskip("torch")
    x = rng.integers(-3, 4, shape).astype(dtype)
    if kind == "nan and -inf":
        x[:] = -np.inf
    if "nan" in kind:
        x[rng.random(shape) < 0.1] = np.nan
    if kind == "infinities and zeros":
        x = rng.choice(np.array([0.0, -0.0, np.inf, -np.inf], dtype), shape)
    name = f"adaptive_max_pool{len(out)}d"
    want = getattr(torch.nn.functional, name)(torch.tensor(x), out, return_indices=True)
    for way in (scattered, np.array, np.array):  # the last one is a layout met before
        y, index = pooling.adaptive_max_pool_forward(way(x), out)
        assert y.tobytes() == want[0].numpy().tobytes() or np.isnan(y).any()
        assert np.array_equal(y, want[0].numpy(), equal_nan=True)
        assert np.array_equal(index, want[1].numpy())


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, np.int64])
def test_other_dtypes_keep_their_dtype(rng, kind):
    x = rng.integers(-50, 50, (2, 3, 8, 8)).astype(kind)
    settings = ((3, 3), (2, 2), (1, 1), (1, 1), False)
    y, index = pooling.max_pool_forward(x, *settings)
    want, want_index = pooling.max_pool_forward(x.astype(np.float32), *settings)
    assert y.dtype == kind
    assert np.array_equal(y, want.astype(kind))
    assert np.array_equal(index, want_index)


def test_empty_batch():
    x = np.zeros((0, 3, 8, 8), np.float32)
    y, index = pooling.max_pool_forward(x, (2, 2), (2, 2), (0, 0), (1, 1), False)
    assert y.shape == index.shape == (0, 3, 4, 4)
    assert pooling.max_pool_backward(y, index, x.shape).shape == x.shape
    assert pooling.avg_pool_forward(x, (2, 2), (2, 2), (0, 0), False, True, None).shape == y.shape


def test_same_bits_for_any_number_of_threads(rng):
    x = rng.standard_normal((4, 64, 21, 21)).astype(np.float32)
    before, results = threads.get_num_threads(), []
    for count in (1, 2, 5):
        threads.set_num_threads(count)
        y = pooling.avg_pool_forward(x, (3, 3), (2, 2), (1, 1), False, True, None)
        args = (x.shape, (3, 3), (2, 2), (1, 1), False, True, None)
        maxima = [
            pooling.max_pool_forward(x, k, (2, 2), (1, 1), (1, 1), False, places)[0]
            for k in ((3, 3), (5, 5))
            for places in (True, False)
        ]
        results.append((y, pooling.avg_pool_backward(y, *args), *maxima))
    threads.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_errors():
    x = np.zeros((2, 3, 8, 8), np.float32)
    with pytest.raises(ValueError, match="at most half"):
        pooling.max_pool_forward(x, (2, 2), (2, 2), (2, 2), (1, 1), False)
    with pytest.raises(ValueError, match="one number for each spatial dim"):
        pooling.max_pool_forward(x, (2,), (2, 2), (0, 0), (1, 1), False)
    with pytest.raises(ValueError, match="smaller than kernel_size"):
        pooling.max_pool_forward(x, (9, 9), (2, 2), (0, 0), (1, 1), False)
    with pytest.raises(ValueError, match="divisor_override"):
        pooling.avg_pool_forward(x, (2, 2), (2, 2), (0, 0), False, True, 0)
    index = np.full((2, 3, 4, 4), 64, np.int64)
    with pytest.raises(IndexError, match="outside the input"):
        pooling.max_pool_backward(index.astype(np.float32), index, x.shape)


@pytest.mark.parametrize("name", ["1 dim", "1 dim, pairs", "3 dims, pairs", "8 whole windows"])
def test_infinities_and_nan(rng, name):
    """Where nothing is greater than minus infinity, the first place of the window counts."""
    torch = pytest.importorskip("torch")
    shape, *settings = CASES[name]
    x = rng.choice(np.array([-np.inf, -np.inf, -np.inf, np.nan, 1, 1], np.float32), shape)
    y, index = pooling.max_pool_forward(x, *settings)
    want, places = pooling.max_pool_forward.reference(x, *settings)
    assert np.array_equal(y, want, equal_nan=True)
    assert np.array_equal(index, places)
    alone, _ = pooling.max_pool_forward(x, *settings, False)
    assert np.array_equal(alone, want, equal_nan=True)
    pool = getattr(torch.nn.functional, f"max_pool{len(settings[0])}d")
    theirs = pool(torch.tensor(x), *settings).numpy()
    assert np.array_equal(y, theirs, equal_nan=True)


@pytest.mark.parametrize("case", [
    ((1, 40), (2, 2), (1, 1), (1, 0), (2, 1)), ((1, 3), (2, 2), (1, 1), (1, 0), (2, 1)),
    ((2, 33), (2, 3), (1, 2), (1, 1), (3, 1)), ((30, 1), (3, 2), (1, 1), (1, 1), (1, 2)),
    ((1, 2, 30), (2, 2, 2), (1, 1, 1), (1, 1, 0), (2, 2, 1)),
])  # fmt: skip
@pytest.mark.parametrize("places", [False, True])
def test_windows_beside_the_image(rng, case, places):
    size, *settings = case
    x = rng.standard_normal((2, 3, *size)).astype(np.float32)
    want, where = pooling._max_pool_forward_reference(x, *settings, False)
    found, index = pooling.max_pool_forward(x, *settings, False, places)
    assert np.isneginf(want).any() and np.array_equal(found, want)
    assert not places or np.array_equal(index, where)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "dilation"),
    [(1, 2, 2, 1, 2), (2, 2, 1, 1, 3), (1, 3, 1, 1, 2), (5, 2, 2, 1, 7), (4, 3, 2, 1, 2)],
)
def test_gradients_of_windows_that_show_nothing(dims, size, kernel, stride, padding, dilation):
    """A window beside the image passes no gradient on, the others all of theirs. (PyTorch writes
    that of the former outside of the plane.)"""
    x = rushlight.randn(2, 3, *(size,) * dims, dtype=rushlight.float64, requires_grad=True)
    pool = getattr(rushlight.nn.functional, f"max_pool{dims}d")
    try:
        y, places = pool(x, kernel, stride, padding, dilation, return_indices=True)
    except RuntimeError:  # no window fits at all
        assert size + 2 * padding < dilation * (kernel - 1) + 1
        return
    weight = rushlight.rand_like(y).requires_grad_()
    (grad,) = rushlight.autograd.grad(y, x, weight, create_graph=True)
    inside = (~y.isinf()).detach()
    wanted = rushlight.zeros(2, 3, size**dims, dtype=rushlight.float64)
    seen = places.where(inside, 0).reshape(2, 3, -1)
    wanted.scatter_add_(2, seen, (weight.detach() * inside).reshape(2, 3, -1))
    assert rushlight.allclose(grad.reshape(2, 3, -1), wanted)
    (twice,) = rushlight.autograd.grad(grad.sum(), weight)
    assert rushlight.equal(twice, inside.double())
