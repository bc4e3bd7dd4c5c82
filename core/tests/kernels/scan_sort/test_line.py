"""Loops along a dimension against NumPy: scans, the k largest, reading and adding at indices."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.scan_sort import lines as line
from rushlight.machine import threads
from rushlight.ops.reduction import scan

pytestmark = pytest.mark.skipif(REFERENCE, reason="the reference leaves all of it to NumPy")


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.mark.parametrize("shape", [(3000,), (7, 301), (50, 63), (3, 70, 20), (2, 40, 300)], ids=str)
def test_scans(rng, dtype, shape):
    x = rng.standard_normal(shape).astype(dtype)
    bound = 1e-6 if dtype == np.float32 else 1e-13
    for axis in range(len(shape)):
        found = line.scanned(x, axis, False)
        assert found.dtype == dtype
        wanted = np.cumsum(x, axis, dtype=np.float64)
        assert np.all(np.abs(found - wanted) <= bound * np.cumsum(np.abs(x), axis) + bound)
        near = np.exp(x * 0.01)
        found = line.scanned(near, axis, True)
        assert np.allclose(found, np.cumprod(near, axis, dtype=np.float64), rtol=2 * bound)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_of_arrays_with_gaps_are_added_in_float64(rng, name):
    """Transposed, reversed and sliced: within a rounding of every result."""
    base = (rng.random((600, 700)) + (0.5 if name == "cumprod" else 1.0)).astype(np.float32)
    base = np.where(base > 1, 1 / base, base).astype(np.float32) if name == "cumprod" else base
    for view in (base.T, base[1:, 3:], base[:, ::2], base.reshape(60, 70, 100).transpose(2, 0, 1)):
        for axis in range(view.ndim):
            wanted = getattr(np, name)(view, axis, dtype=np.float64)
            found = getattr(rushlight, name)(rushlight.from_numpy(view), axis)
            assert found.is_contiguous()
            error = np.abs(found.numpy() - wanted)
            assert np.all(error <= 2.0**-23 * np.abs(wanted) + 1e-37)


def test_scan_of_nan_and_infinity(rng):
    x = rng.standard_normal((2, 4000)).astype(np.float32)
    x[0, 100], x[1, 3999] = np.nan, np.inf
    found = line.scanned(x, 1, False)
    assert np.isfinite(found[0, :100]).all() and np.isnan(found[0, 100:]).all()
    assert np.isfinite(found[1, :3999]).all() and found[1, 3999] == np.inf


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(
    ("rows", "n", "k"), [(1, 5000, 10), (40, 100, 1), (30, 77, 64), (5, 640, 7)]
)
def test_top(rng, dtype, rows, n, k, largest):
    x = np.round(rng.standard_normal((rows, n)), 1).astype(dtype)  # many equal ones
    x[0, [3, n - 2]] = np.nan
    values, places = line.prepare_top(x, k, largest)(x)
    key = np.where(np.isnan(x), np.inf, x)
    order = np.argsort(-key if largest else key, 1, kind="stable")[:, :k]
    assert np.array_equal(places, order)
    assert np.array_equal(values, np.take_along_axis(x, order, 1), equal_nan=True)


@pytest.mark.parametrize(
    ("shape", "axis", "m"), [((60, 50), 1, 70), ((60, 50), 0, 90), ((5, 30, 21), 1, 40)]
)
def test_indices(rng, dtype, shape, axis, m):
    x = rng.standard_normal(shape).astype(dtype)
    places = tuple(m if i == axis else n for i, n in enumerate(shape))
    index = rng.integers(0, shape[axis], places)
    assert np.array_equal(line.read_at(x, axis, index), np.take_along_axis(x, index, axis))
    source = rng.standard_normal(places).astype(dtype)
    out = x.copy()
    assert line.added_at(out, axis, index, source) is out
    grid = list(np.ogrid[tuple(slice(n) for n in places)])
    grid[axis] = index
    wanted = x.copy()
    np.add.at(wanted, tuple(grid), source)
    assert np.array_equal(out, wanted)


def test_an_index_out_of_range(rng):
    x = rng.standard_normal((60, 50)).astype(np.float32)
    index = np.zeros((60, 50), np.int64)
    index[7, 3] = -1
    with pytest.raises(IndexError, match="-1"):
        line.read_at(x, 1, index)


def test_what_is_left_to_numpy(rng):
    x = rng.standard_normal((60, 50)).astype(np.float32)
    assert line.scanned(x.T, 0, False) is None
    assert line.scanned(x[:2], 0, False) is None
    assert line.prepare_top(x.astype(np.int64), 3, True) is None
    assert line.prepare_top(x, 51, True) is None and line.prepare_top(x.T, 3, True) is None
    assert line.prepare_extreme(x.T, 0, True) is None
    assert line.prepare_extreme(x[:0], 0, True) is None
    assert line.read_at(x, 1, np.zeros((59, 50), np.int64)) is None


@pytest.mark.parametrize("product", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 31, 64, 449, 1000])
def test_scans_of_any_length_and_special_numbers(n, dtype, product):
    array = np.random.default_rng(n).uniform(0.5, 1.5, (300, n + 1))[:, 1:].astype(dtype)
    array[0, n // 2], array[1, n // 3], array[2, -1] = np.nan, np.inf, -np.inf
    array[3, 0] = 0
    found = line.scanned(array, 1, product)
    if found is None:
        found = line.scanned(np.ascontiguousarray(array), 1, product)
    with np.errstate(invalid="ignore"):
        wanted = (np.cumprod if product else np.cumsum)(array.astype(np.float64), 1).astype(dtype)
    rtol = 1e-6 if dtype == np.float32 else 1e-13
    assert np.allclose(found, wanted, rtol=rtol, atol=0, equal_nan=True)


@pytest.mark.parametrize("shape", [(1, 9), (7, 50), (3, 40, 33), (2, 5, 300), (61, 1)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
def test_running_extremes(shape, dtype):
    array = np.random.default_rng(0).integers(0, 9, shape).astype(dtype)
    if dtype.startswith("float"):
        array.reshape(-1)[:: max(array.size // 3, 1)] = np.nan
    tensor, before = rushlight.from_numpy(array), threads.get_num_threads()
    for axis in range(len(shape)):
        for op, better in ((rushlight.cummax, np.greater_equal), (rushlight.cummin, np.less_equal)):
            wanted = scan._running_extreme("cummax", array, axis, better)
            for count in (1, 2, 5):
                threads.set_num_threads(count)
                values, places = op(tensor, axis)
                assert np.array_equal(values.numpy(), wanted[0], equal_nan=True)
                assert np.array_equal(places.numpy(), wanted[1])
    threads.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "dim"),
    [
        ((1000, 16), 1),
        ((5, 3), 0),
        ((4, 30, 300), 1),
        ((7,), 0),
        ((3, 1), 1),
        ((700, 2), 1),
        ((6, 5), None),
    ],
)
def test_gradients_of_products(shape, dim, dtype):
    rng = np.random.default_rng(0)
    array = (1 + 0.1 * rng.standard_normal(shape)).astype(dtype)
    array[rng.random(shape) < 0.05] = 0  # products of the others must not divide
    x = rushlight.from_numpy(array).requires_grad_()
    out = x.prod() if dim is None else x.prod(dim)
    grad = rushlight.from_numpy(rng.standard_normal(tuple(out.shape)).astype(dtype))
    (by_ops,) = rushlight.autograd.grad(out, x, grad, create_graph=True)
    for _ in range(2):
        (found,) = rushlight.autograd.grad(out, x, grad, retain_graph=True)
        np.testing.assert_allclose(found.numpy(), by_ops.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
@pytest.mark.parametrize(
    "shape", [(64, 250), (5, 1), (3, 300, 2), (2, 9000), (0, 4), (4, 0, 2), (9,), (2, 3, 5000)]
)
def test_differences(shape, dtype):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    values = (3 * rng.standard_normal(shape)).astype(dtype)
    if dtype[0] == "f" and values.size:
        values.flat[0], values.flat[-1] = np.inf, np.nan
    for dim in range(-len(shape), len(shape)):
        for order in (0, 1, 2, 3):
            for way in (np.ascontiguousarray, np.asfortranarray):
                theirs = torch.from_numpy(way(values)).requires_grad_(dtype[0] == "f")
                ours = rushlight.from_numpy(way(values)).requires_grad_(dtype[0] == "f")
                want, found = theirs.diff(order, dim), ours.diff(order, dim)
                assert np.array_equal(
                    found.detach().numpy(), want.detach().numpy(), equal_nan=dtype[0] == "f"
                )
                if dtype[0] != "f":
                    continue
                grad = rng.standard_normal(want.shape).astype(dtype)
                (wanted,) = torch.autograd.grad(want, theirs, torch.from_numpy(grad))
                (pulled,) = rushlight.autograd.grad(found, ours, rushlight.from_numpy(grad))
                np.testing.assert_allclose(pulled.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-5)


def test_differences_differentiated_twice_and_in_batches():
    x = rushlight.randn(3, 5, dtype=rushlight.float64, requires_grad=True)
    assert rushlight.autograd.gradgradcheck(lambda x: x.diff(2, 1) ** 2, x)
    batch, tangent = rushlight.randn(3, 4, 5), rushlight.randn(4)
    found = rushlight.func.vmap(lambda x: x.diff(dim=0))(batch)
    assert rushlight.equal(found, batch.diff(dim=1))
    _, moved = rushlight.func.jvp(lambda x: x.diff(dim=0), (batch[0, :, 0],), (tangent,))
    assert rushlight.equal(moved, tangent.diff())
