"""Sums, means and extremes by compiled passes: against float64, over any dimensions and dtypes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import rushlight
from rushlight.kernels.launch.prepared import of_copies
from rushlight.kernels.reduction import totals
from rushlight.machine import threads

SHAPES = [(223, 448), (5000, 1), (1, 5003), (17, 5, 9, 11), (40000, 3), (3, 100_001),
          (1000, 1100), (12_500, 2, 4), (3, 2, 5)]  # fmt: skip
EXACT = {"sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min}


def subsets(dims):
    return [c for r in range(1, dims + 1) for c in itertools.combinations(range(dims), r)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "bool", "float16"])
def test_all_dimensions(shape, dtype):
    wide = np.random.default_rng(0).standard_normal(shape) * 3
    array = wide > 0 if dtype == "bool" else wide.astype(dtype)
    bound = {"float32": 1e-6, "float64": 1e-13, "float16": 2e-3}.get(dtype, 0)
    exact = array if array.dtype.kind in "bi" else array.astype(np.float64)
    tensor = rushlight.from_numpy(array)
    for name, axes, keep in itertools.product(EXACT, subsets(len(shape)), (False, True)):
        if name == "mean" and array.dtype.kind in "bi":
            continue
        found = getattr(tensor, name)(axes, keep).numpy()
        wanted = EXACT[name](exact, axis=axes, keepdims=keep)
        assert found.shape == wanted.shape
        if name in ("amax", "amin") or not bound:
            assert np.array_equal(found, wanted)
        else:
            scale = np.abs(exact).sum(axis=axes, keepdims=keep) if name == "sum" else 3
            assert np.max(np.abs(found - wanted) / (scale + 1e-30)) <= bound


@pytest.mark.parametrize("shape", [(256, 250), (5, 1, 3), (30, 20, 9), (4, 3, 25, 7), (700, 900)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
def test_dimensions_in_any_order(shape, dtype):
    """Arrays without gaps in memory, whichever way their dimensions follow one another."""
    array = (np.random.default_rng(0).standard_normal(shape) * 3).astype(dtype)
    array.flat[-1] = 50
    bound = {"float32": 1e-6, "float64": 1e-13, "float16": 2e-3}.get(dtype, 0)
    for order in itertools.permutations(range(len(shape))):
        turned = array.transpose(order)
        exact = turned if dtype == "int64" else turned.astype(np.float64)
        tensor = rushlight.from_numpy(turned)
        for name, axes, keep in itertools.product(EXACT, subsets(len(shape)), (False, True)):
            if name == "mean" and dtype == "int64":
                continue
            found = getattr(tensor, name)(axes, keep)
            assert found.is_contiguous()
            wanted = EXACT[name](exact, axis=axes, keepdims=keep)
            scale = np.abs(exact).sum(axis=axes, keepdims=keep) if name == "sum" else 3
            assert np.max(np.abs(found.numpy() - wanted) / (scale + 1e-30)) <= bound
            variances = turned.dtype.kind == "f" and name == "mean" and dtype != "float16"
            if variances and math.prod(shape[order[a]] for a in axes) > 1:
                found = tensor.var(axes, keepdim=keep).numpy()
                wanted = np.var(exact, axis=axes, keepdims=keep, ddof=1)
                np.testing.assert_allclose(found, wanted, rtol=1e-4)


@pytest.mark.compiled("the reference reduces nothing itself")
def test_which_orders_are_taken():
    array = np.zeros((4, 5, 6), np.float32)
    for axes, taken in (((2,), False), ((0,), False), ((1, 2), True), ((0, 1), True)):
        found = totals.totalled("sum", array.T, axes, False, array.dtype)
        assert (found is not None) is taken
    assert totals.totalled("sum", array[0].T, (1,), False, array.dtype) is not None
    spaced = array[:, ::2, 1:]
    for axes, taken in (((2,), True), ((0,), False), ((1, 2), True), ((1,), True)):
        found = totals.totalled("sum", spaced, axes, False, array.dtype)
        assert (found is not None) is taken
    assert totals.totalled("sum", spaced[::-1], (2,), False, array.dtype) is None


PARTS = [slice(None), slice(1, None), slice(None, None, 2), slice(1, None, 3)]


@pytest.mark.parametrize("shape", [(90, 700), (33, 40, 50), (9, 20, 7, 30), (40_000, 7)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "bool", "float16"])
def test_gaps(shape, dtype):
    """Parts of arrays, over any dimensions; what lies between their elements is not read."""
    draw = np.random.default_rng(0)
    bound = {"float32": 1e-6, "float64": 1e-13, "float16": 2e-3}.get(dtype, 0)
    for parts in itertools.product(PARTS, repeat=len(shape)):
        if draw.random() < {3: 0.6, 4: 0.9}.get(len(shape), 0):  # of the many a part
            continue
        room = np.full(shape, np.nan if bound else 99).astype(dtype)
        array = room[parts]
        array[...] = draw.standard_normal(array.shape) * 3
        exact = array.astype(np.float64) if bound else array
        tensor = rushlight.from_numpy(array)
        assert tensor.data_ptr() == array.ctypes.data
        for name, axes in itertools.product(EXACT, subsets(len(shape))):
            if name == "mean" and not bound:
                continue
            keep = bool(draw.integers(2))
            found = getattr(tensor, name)(axes, keep)
            assert found.is_contiguous()
            wanted = EXACT[name](exact, axis=axes, keepdims=keep)
            scale = np.abs(exact).sum(axis=axes, keepdims=keep) if name == "sum" else 3
            assert found.numpy().shape == wanted.shape
            if name in ("amax", "amin") or not bound:
                assert np.array_equal(found.numpy(), wanted)
            else:
                assert np.max(np.abs(found.numpy() - wanted) / (scale + 1e-30)) <= bound


def check_special_numbers(array):
    """NaN and infinities of reductions of a matrix, however it lies."""
    tensor = rushlight.from_numpy(array)
    for axes in ((0,), (1,), (0, 1)):
        for name, exact in EXACT.items():
            found = getattr(tensor, name)(axes).numpy()
            wanted = exact(array.astype(np.float64), axis=axes)
            assert np.array_equal(np.isnan(found), np.isnan(wanted))
            assert np.array_equal(np.isinf(found), np.isinf(wanted))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_special_numbers_with_gaps(step, number):
    room = np.random.default_rng(1).standard_normal((60, 3 * 301)).astype(np.float32)
    for place in (0, 3, 299, 300):
        array = room.copy()[:, : 301 * step : step]
        array[17, place] = number
        check_special_numbers(array)


@pytest.mark.compiled("the reference copies nothing")
def test_arrays_of_few_elements_that_seem_many_are_not_copied():
    tensor = rushlight.ones(1, 3).expand(1 << 28, 3)[:, :2]
    assert rushlight.any(tensor[:1000]).item()
    prepared = of_copies(lambda array: (lambda dense: dense.sum()) if array.flags.c_contiguous
                         else None)  # fmt: skip
    assert prepared(tensor._array) is None
    spaced = np.arange(12.0).reshape(3, 4)[:, ::2]
    assert prepared(spaced)(spaced) == 30


def test_bfloat16():
    rushlight.manual_seed(0)
    tensor = rushlight.randn(300, 200).bfloat16()
    exact = tensor.double()
    for axes in ((0,), (1,), (0, 1)):
        assert tensor.sum(axes).dtype == rushlight.bfloat16
        assert (tensor.sum(axes).double() - exact.sum(axes)).abs().max() < 0.6
        assert rushlight.equal(tensor.amax(axes).double(), exact.amax(axes))


@pytest.mark.parametrize("place", [0, 5, 4999, 60_000, 99_999])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_special_numbers(place, number):
    array = np.random.default_rng(1).standard_normal((200, 500)).astype(np.float32)
    array.reshape(-1)[place] = number
    check_special_numbers(array)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "bool", "float16"])
@pytest.mark.parametrize("n", [2, 3, 7, 8, 12, 15, 16, 17, 32, 67, 256, 257])
def test_short_rows(n, dtype):
    """Sums of rows of every length that has code of its own, and neighbours; numbers that are no
    multiples of anything, and the same bits for any number of threads."""
    wide = np.random.default_rng(3).standard_normal((10_007, n)) * 3
    array = wide > 0 if dtype == "bool" else wide.astype(dtype)
    tensor, before = rushlight.from_numpy(array), threads.get_num_threads()
    exact = array if array.dtype.kind in "bi" else array.astype(np.float64)
    bound = {"float32": 1e-6, "float64": 1e-14, "float16": 1e-3}.get(dtype, 0)
    scale = np.abs(exact).sum(1) * bound
    found = []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            found.append([tensor.sum(1), tensor.amax(1), tensor.amin(1)])
            if bound:
                found[-1].append(tensor.mean(1))
    finally:
        threads.set_num_threads(before)
    total, most, least, *mean = found[0]
    assert (np.abs(total.numpy() - exact.sum(1)) <= scale).all()
    assert np.array_equal(most.numpy(), exact.max(1))
    assert np.array_equal(least.numpy(), exact.min(1))
    for m in mean:
        assert (np.abs(m.numpy() - exact.mean(1)) <= scale / n + 1e-300).all()
    for other in found[1:]:
        assert all(rushlight.equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [3, 8, 16])
def test_special_numbers_in_short_rows(n, number):
    array = np.random.default_rng(4).standard_normal((5000, n)).astype(np.float32)
    array.reshape(-1)[:: n + 1] = number
    tensor = rushlight.from_numpy(array)
    for name, exact in EXACT.items():
        wanted = exact(array.astype(np.float64), axis=1)
        assert np.allclose(getattr(tensor, name)(1).numpy(), wanted, 1e-4, 1e-4, equal_nan=True)


@pytest.mark.parametrize("offset", [0, 1, 3])
@pytest.mark.parametrize("shape", [(999, 1003), (3, 300_001), (70_001, 5)], ids=str)
def test_same_bits_for_any_number_of_threads(shape, offset):
    size = shape[0] * shape[1]
    flat = np.random.default_rng(2).standard_normal(size + 4).astype(np.float32)
    tensor = rushlight.from_numpy(flat[offset : offset + size].reshape(shape))
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            found.append([tensor.sum(0), tensor.sum(1), tensor.sum(), tensor.amax(0),
                          tensor.var(), tensor.var(1)])  # fmt: skip
    finally:
        threads.set_num_threads(before)
    for other in found[1:]:
        assert all(rushlight.equal(a, b) for a, b in zip(found[0], other, strict=True))
    exact = tensor.numpy().astype(np.float64)
    assert np.allclose(found[0][4].numpy(), exact.var(ddof=1), rtol=1e-6)
    assert np.allclose(found[0][5].numpy(), exact.var(1, ddof=1), rtol=1e-5)


def test_left_to_others():
    array = np.ones((64, 100), np.float32)
    assert totals.totalled("sum", array[::-1], (0,), False, array.dtype) is None
    assert totals.totalled("sum", array[:0], (0,), False, array.dtype) is None
    assert totals.totalled("sum", array.astype(np.complex64), (0,), False, array.dtype) is None
    assert np.array_equal(rushlight.from_numpy(array.T).sum(0).numpy(), np.full(64, 100.0))


def test_a_dtype_that_is_asked_for():
    ones = rushlight.ones(100, 200)
    assert ones.sum(0, dtype=rushlight.float64).dtype == rushlight.float64
    assert ones.mean(dtype=rushlight.float64).item() == 1
    assert (
        rushlight.func.vmap(lambda x: x.sum(0, dtype=rushlight.float64))(ones[None]).sum() == 20000
    )


SELECTED = [
    ((500, 1), 1), ((333, 2), 1), ((129, 3), 1), ((300, 8), 1), ((200, 9), 1), ((64, 16), 1),
    ((40, 33), 1), ((20, 65), -1), ((9, 130), 1), ((3, 5000), 1), ((1, 20_000), 1), ((7, 300), 0),
    ((3, 11, 70), 1), ((20_000,), 0),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize(("shape", "dim"), SELECTED)
def test_extremes_and_their_first_places(shape, dim, dtype):
    rng = np.random.default_rng(3)
    array = rng.integers(-3, 4, shape).astype(dtype)  # ties
    if dtype.startswith("f"):
        for odd in (np.nan, np.inf, -np.inf):
            array[rng.random(shape) < 0.03] = odd
    x = rushlight.from_numpy(array)
    for name in ("max", "min"):
        values, places = getattr(np, name)(array, dim), getattr(np, "arg" + name)(array, dim)
        for _ in range(5):  # small ones by other functions after some calls
            found = getattr(x, name)(dim)
            np.testing.assert_array_equal(found.values.numpy(), values)
            np.testing.assert_array_equal(found.indices.numpy(), places)
            np.testing.assert_array_equal(getattr(x, "a" + name)(dim).numpy(), values)
            kept = getattr(x, "arg" + name)(dim, keepdim=True)
            np.testing.assert_array_equal(kept.numpy(), np.expand_dims(places, dim))


@pytest.mark.parametrize(
    ("shape", "size"),
    [((64, 32, 32), (64, 1, 32)), ((64, 32, 32), (64, 32, 1)), ((1000, 16), (1000, 1)),
     ((1000, 16), (16,)), ((5, 1, 700), (1, 1)), ((3, 4, 5, 6), (4, 1, 6)), ((2, 0, 3), (2, 1, 3)),
     ((7, 3), (7, 3)), ((1, 1, 4), (4,)), ((9, 8), ())],
)  # fmt: skip
def test_sums_to_a_size(shape, size):
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    lead = len(shape) - len(size)
    axes = tuple(range(lead)) + tuple(lead + d for d, n in enumerate(size) if n != shape[lead + d])
    wanted = array.astype(np.float64).sum(axis=axes, keepdims=True).reshape(size)
    for x in (array, np.asfortranarray(array)):
        found = rushlight.from_numpy(x).sum_to_size(size)
        assert tuple(found.shape) == size
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("shape", "dim"),
    [((1000, 100), 1), ((1000, 100), 0), ((3, 5001), 1), ((5001, 3), 0), ((7, 2), 1), ((33, 5), 1),
     ((4, 9, 70), 1), ((1, 1), 0), ((11,), 0), ((70_001,), 0)],
)  # fmt: skip
def test_extremes_of_half_width_and_their_places(shape, dim, kind):
    torch = pytest.importorskip("torch")
    array = np.random.default_rng(8).standard_normal(shape).round(1).astype(np.float32)
    flat = array.reshape(-1)
    flat[3::101], flat[5::67], flat[6::97] = np.nan, np.inf, -np.inf
    before = threads.get_num_threads()
    try:
        for count in (1, 2):
            threads.set_num_threads(count)
            ours = rushlight.tensor(array).to(getattr(rushlight, kind))
            theirs = torch.tensor(array).to(getattr(torch, kind))
            for name in ("max", "min"):
                found, wanted = getattr(ours, name)(dim), getattr(theirs, name)(dim)
                assert found[0].dtype is ours.dtype
                assert np.array_equal(found[0].float().numpy(), wanted[0].float().numpy(), True)
                assert np.array_equal(found[1].numpy(), wanted[1].numpy())
            assert np.array_equal(ours.argmax(dim).numpy(), theirs.argmax(dim).numpy())
            assert np.array_equal(ours.argmin(dim, True).numpy(), theirs.argmin(dim, True).numpy())
            assert int(ours.argmax()) == int(theirs.argmax())
            turned = ours.t() if ours.ndim == 2 else ours[::2]
            other = theirs.t() if ours.ndim == 2 else theirs[::2]
            assert np.array_equal(turned.max(0)[1].numpy(), other.max(0)[1].numpy())
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("dim", [None, 0, 1, (0, 2)])
def test_norms_and_variances_of_half_width(kind, dim):
    torch = pytest.importorskip("torch")
    array = np.random.default_rng(9).standard_normal((7, 33, 130)).astype(np.float32)
    ours, theirs = (lib.tensor(array).to(getattr(lib, kind)) for lib in (rushlight, torch))
    bound = 1e-3 if kind == "float16" else 8e-3
    for name in ("norm", "var", "std"):
        arguments = {} if dim is None else {"dim": dim}
        found, wanted = getattr(ours, name)(**arguments), getattr(theirs, name)(**arguments)
        assert found.dtype is ours.dtype
        assert np.allclose(found.float().numpy(), wanted.float().numpy(), bound)
    assert rushlight.zeros(0, 3).to(ours.dtype).norm().item() == 0
    ours[0, 0, 0] = math.nan
    assert math.isnan(ours.norm().item())


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("n", [1, 2, 17, 64, 515, 300_000])
@pytest.mark.parametrize("sign", [1, -1, 0])
def test_extremes_of_half_width_by_their_bits(n, kind, sign):
    """Numbers of one sign and of both, with zeros and infinities, and with NaN of either sign."""
    dtype = getattr(rushlight, kind)
    values = np.random.default_rng(2).standard_normal((3, n))
    values = np.abs(values) * sign if sign else values
    for extra in ((), (0.0, -0.0), (np.inf,), (-np.inf,), (np.nan,), (-np.nan,)):
        array = values.copy()
        array[1, : len(extra)] = extra[:n]
        tensor = rushlight.tensor(array).to(dtype)
        wide = tensor.double().numpy()
        for name, exact in (("amax", np.max), ("amin", np.min)):
            found = getattr(tensor, name)(1).double().numpy()
            assert np.array_equal(found, exact(wide, axis=1), equal_nan=True)
            found = getattr(tensor, name)().item()
            assert np.array_equal(found, exact(wide), equal_nan=True)
        assert np.array_equal(tensor.max().item(), wide.max(), equal_nan=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_short_rows_before_others(dtype):
    """Rows whose number and length fill no vectors, with NaN in the memory before and after."""
    for rows, n in itertools.product((2, 7, 8, 9, 15, 16, 17, 35), (1, 5, 8, 20, 31, 100)):
        around = np.full((rows + 4, n), np.nan, dtype)
        around[2:-2] = np.random.default_rng(n).standard_normal((rows, n))
        inside = around[2:-2].astype(np.float64)
        for name, exact in (("sum", inside.sum(1)), ("mean", inside.mean(1))):
            found = getattr(rushlight.from_numpy(around[2:-2]), name)(1).numpy()
            np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.compiled("NumPy adds up a row in another order where there are more")
@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("dtype", [rushlight.float32, rushlight.float64])
def test_rows_have_the_same_bits_whatever_is_beside_them(name, dtype):
    """Few rows or many, the first calls and those that machine code takes later."""
    for n in (1, 3, 4, 9, 33, 200, 256):
        x = rushlight.randn(2000, n, dtype=dtype)
        many = getattr(x, name)(1)
        for rows in (1, 2, 7, 15, 16, 17, 40):
            for _ in range(6):
                assert rushlight.equal(getattr(x[:rows], name)(1), many[:rows])


@pytest.mark.compiled("the reference adds up columns from end to end")
@pytest.mark.parametrize("shape", [(2, 131_073), (9, 20_000), (3, 7, 4097)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_long_columns_with_gaps(shape, dtype):
    dtype, step = getattr(rushlight, dtype), shape[-1]
    room = (rushlight.rand(step, 2 * math.prod(shape[:-1])) / 4).to(dtype)
    x = room[:, ::2].t().reshape(shape) if len(shape) < 3 else room[:, ::2].view(
        step, *shape[:-1]).permute(1, 2, 0)  # fmt: skip
    assert not x.is_contiguous() and x.stride()[-1] > 1
    exact = x.to(rushlight.float64).numpy().sum(-1)
    unit = 2.0**-24 if dtype is rushlight.float32 else 2.0**-8
    for found in (x.sum(-1), x.mean(-1) * step):
        close = found.to(rushlight.float64).numpy() / exact - 1
        assert np.abs(close).max() < 4 * unit


@pytest.mark.compiled("the reference adds up columns from end to end")
@pytest.mark.parametrize("count", [2, 3, 17, 1000, 300_001])
@pytest.mark.parametrize("base", [0.3, 1.0, 1e6])
def test_variances_of_numbers_that_are_nearly_equal(base, count):
    """The mean of float32 is rounded by as much as such numbers differ."""
    draw = np.random.default_rng(count)
    step = np.spacing(np.float32(base))
    rows = (np.float32(base) + step * draw.integers(0, 3, (3, count)).astype("f4")).astype("f4")
    rows[:, 0], rows[:, 1] = base, np.float32(base) + step
    wanted = rows.astype("f8").var(1, ddof=1)
    turned = np.ascontiguousarray(rows.T)
    for found in (
        rushlight.from_numpy(rows).var(1), rushlight.from_numpy(rows).std(1).double().square(),
        rushlight.from_numpy(turned).var(0), rushlight.from_numpy(turned).std(0).double().square(),
        rushlight.from_numpy(turned).t().var(1),
        rushlight.stack([rushlight.from_numpy(row.copy()).var() for row in rows]),
    ):  # fmt: skip
        np.testing.assert_allclose(found.numpy(), wanted, 1e-5)


@pytest.mark.compiled("the reference adds up columns from end to end")
@pytest.mark.parametrize("count", [3, 1000, 300_001])
def test_equal_numbers_have_no_negative_variance(count):
    for value in (0.1, 0.3, 1e6, 1.1e-20):
        x = rushlight.full((2, count), value)
        for found in (x.std(1), x.std(0), x.std(), x.t().contiguous().std(0), x.var(1)):
            assert bool((found >= 0).all()) and float(found.max()) <= 1e-6 * value


@pytest.mark.compiled("the reference adds up columns from end to end")
@pytest.mark.parametrize("shape", [(600_000, 2), (9000, 64), (2, 70_000, 3)])
def test_products_and_norms_of_long_columns(shape):
    """Columns are not added up from end to end in float32, as NumPy does it."""
    draw, axis = np.random.default_rng(5), len(shape) - 2
    x = (1 + 1e-3 * draw.standard_normal(shape)).astype("f4")
    wide, given = x.astype("f8"), rushlight.from_numpy(x)
    np.testing.assert_allclose(given.prod(axis).numpy(), wide.prod(axis), 3e-7)
    norm = rushlight.linalg.vector_norm
    for order in (1, 2, 3):
        wanted = (wide**order).sum(axis) ** (1 / order)
        np.testing.assert_allclose(norm(given, order, dim=axis).numpy(), wanted, 2e-6)
    np.testing.assert_allclose(given.norm(dim=axis).numpy(), np.sqrt((wide**2).sum(axis)), 2e-6)
    assert given.mul(2.0).prod(axis).isinf().all()
