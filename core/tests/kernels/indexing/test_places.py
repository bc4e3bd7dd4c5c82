"""Reading, writing and adding at indices by one call: odd sizes, wrong indices, wrapped ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import rushlight
from rushlight.kernels.indexing import indices as places
from rushlight.machine.memory import ALIGNED_FROM

SHAPES = [(1,), (7,), (3, 5), (2, 3, 4), (4, 1, 33), (5, 8), (5, 16), (5, 32)]
DTYPES = ["u1", "f2", "f4", "f8", "i8"]


def sample(shape, dtype):
    """Different numbers of a dtype."""
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def run(call, *arrays):
    """What a call gives, and how many indices it refused."""
    before = places.failures.value
    return call(*arrays), places.failures.value - before


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_places(shape, dtype):
    x, draw = sample(shape, dtype), np.random.default_rng(2)
    for dim in range(x.ndim):
        n = shape[dim]
        rows = draw.integers(-n, n, (3, 2))
        found, failed = run(places.take_rows(x, rows, dim, True), x, rows)
        np.testing.assert_array_equal(found, np.take(x, rows, dim), strict=True)
        other = (*shape[:dim], 5, *shape[dim + 1 :])
        along = draw.integers(-n, n, other)
        taken, missed = run(places.take_along(x, along, dim, True), x, along)
        np.testing.assert_array_equal(taken, np.take_along_axis(x, along, dim), strict=True)
        once = np.argsort(draw.random(shape), dim)
        put, lost = run(places.put_along(x, once, x, dim, False), x, once, x)
        wanted = x.copy()
        np.put_along_axis(wanted, once, x, dim)
        np.testing.assert_array_equal(put, wanted, strict=True)
        assert failed == missed == lost == 0
        _, failed = run(places.take_rows(x, rows, dim), x, rows)
        assert failed == (rows < 0).sum() * np.prod(shape[:dim], dtype=int)
        _, failed = run(places.take_along(x, along, dim), x, along)
        assert failed == (along < 0).sum()


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_added_at_repeated_indices(dtype):
    x, index = sample((3, 4), dtype), np.array([[0, 1, 1, 3], [2, 2, 2, 2]])
    for dim, at, source in ((0, index % 3, sample((2, 4), dtype)), (1, index, None)):
        out = x[:2].copy() if dim else x.copy()
        source = sample((2, 4), dtype) if source is None else source
        found, failed = run(places.put_along(out, at, source, dim, True), out, at, source)
        grid = np.ogrid[:2, :4]
        np.add.at(out, (at, grid[1]) if dim == 0 else (grid[0], at), source)
        np.testing.assert_array_equal(found, out, strict=True)
        assert failed == 0


def test_errors_name_the_index():
    x, bad = rushlight.zeros(3, 4), rushlight.tensor([0, 3, -4])
    for _ in range(2):
        with pytest.raises(IndexError, match="index 3 is out of bounds"):
            x[bad]
        with pytest.raises(IndexError, match="index 3 is out of bounds"):
            x.index_select(0, bad)
        with pytest.raises(RuntimeError, match="index -1 is out of bounds"):
            x.gather(1, rushlight.tensor([[0], [1], [-1]]))
        with pytest.raises(RuntimeError, match="index 9 is out of bounds"):
            x.scatter_add(0, rushlight.full((1, 4), 9), rushlight.ones(1, 4))
        with pytest.raises(IndexError):
            rushlight.nn.functional.embedding(bad, x)
    assert x.index_select(0, rushlight.tensor([2, 0])).shape == (2, 4)
    assert x[rushlight.tensor([-1, 0])].shape == (2, 4)


def test_gradients_with_wrapped_indices():
    x = rushlight.arange(6.0).reshape(2, 3).requires_grad_()
    index = rushlight.tensor([[0, -1, -1], [1, 1, -3]])
    rushlight.take_along_dim(x, index, 1).sum().backward()
    assert x.grad.tolist() == [[1, 0, 2], [1, 2, 0]]
    x.grad = None
    x[rushlight.tensor([-1, 1, 0])].sum().backward()
    assert x.grad.tolist() == [[1, 1, 1], [2, 2, 2]]


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_slices_added_at_an_index(dim, dtype):
    generator = np.random.default_rng(dim)
    array = generator.integers(0, 50, (4, 70, 33)).astype(dtype)
    index = generator.integers(0, array.shape[dim], 300)
    shape = tuple(300 if d == dim else n for d, n in enumerate(array.shape))
    source = generator.integers(0, 50, shape).astype(dtype)
    wanted = array.copy()
    np.add.at(wanted, (slice(None),) * dim + (index,), source)
    tensors = [rushlight.from_numpy(a) for a in (array, index, source)]
    assert np.array_equal(tensors[0].index_add(dim, *tensors[1:]).numpy(), wanted)
    twice = tensors[0].index_add(dim, *tensors[1:], alpha=2).numpy()
    assert np.array_equal(twice, 2 * wanted - array)
    every = np.stack([index, index], 1)[:, 0]  # with gaps in memory
    found = tensors[0].index_add(dim, rushlight.from_numpy(every), tensors[2])
    assert np.array_equal(found.numpy(), wanted)
    with pytest.raises(IndexError):
        tensors[0].index_add(dim, tensors[1] + 60, tensors[2])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "dim"), [((50, 16), 0), ((4, 30, 7), 1), ((20, 1500), 0), ((9,), 0)]
)
@pytest.mark.parametrize("places", [(40,), (3, 4), (0,), ()])
def test_gradients_of_slices_at_an_index(shape, dim, dtype, places):
    rng = np.random.default_rng(0)
    index = rng.integers(-shape[dim], shape[dim], places)  # with repetitions, from both ends
    x = rushlight.from_numpy(rng.standard_normal(shape).astype(dtype)).requires_grad_()
    key = (*(slice(None),) * dim, rushlight.from_numpy(np.asarray(index)))
    out = x[key]
    grad = rng.standard_normal(tuple(out.shape)).astype(dtype)
    wanted = np.zeros(shape, dtype)
    np.add.at(wanted, (*(slice(None),) * dim, index), grad)
    for _ in range(2):
        (found,) = rushlight.autograd.grad(out, x, rushlight.from_numpy(grad), retain_graph=True)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


def test_slices_are_added_at_indices_in_range_only():
    x = rushlight.zeros(5, 3)
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        x.index_put((rushlight.tensor([1, 7]),), rushlight.ones(2, 3), accumulate=True)


@pytest.mark.compiled("the reference has one way for all sizes")
@pytest.mark.parametrize("way", range(5))
@pytest.mark.parametrize(
    ("shape", "places_of_a_row"), [((2347, 7), 7), ((5, 1 << 16), 4099), ((1, 40), 20487)]
)
def test_writes_at_indices_that_are_narrowed(shape, places_of_a_row, way, monkeypatch):
    monkeypatch.setattr(places, "_FAR", 4 * ALIGNED_FROM)
    monkeypatch.setattr(places, "_into", places.Remembered())
    narrowed = []
    run = places._Narrow.run
    monkeypatch.setattr(
        places._Narrow, "run", lambda *given: narrowed.append(run(*given)) or narrowed[-1]
    )
    draw = np.random.default_rng(3)
    index = draw.integers(0, shape[1], (shape[0], places_of_a_row))
    index[:, -1] = shape[1] - 1
    source = draw.standard_normal(index.shape).astype("f4")
    start = draw.standard_normal(shape).astype("f4")
    expected = start.astype("f8")
    rows = np.arange(shape[0])[:, None]
    if way == places.PUT:
        expected[rows, index] = source
    else:
        combine = [None, np.add, np.multiply, np.maximum, np.minimum][way]
        combine.at(expected, (rows, index), source)
    given = start.copy()
    assert places.put_into(given, index, source, 1, way) and narrowed == [True]
    np.testing.assert_allclose(given, expected, 1e-4, 1e-4)
    low_bits_fit = (1 << 16) + 2
    for wrong in (shape[1], -1, shape[1] + (1 << 16), low_bits_fit):
        refused, given = index.copy(), start.copy()
        refused[-1, 0] = wrong
        assert not places.put_into(given, refused, source, 1, way)
        np.testing.assert_array_equal(given, start)
    assert narrowed == [True, False, False, False, False]


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("count", [1, 1023, 1024, 1025, 5000])
def test_elements_far_behind_wrong_indices(count):
    """Indices are looked at so many at a time: the wrong ones of one group spoil no other."""
    x, draw = np.random.default_rng(4).standard_normal(300).astype("f4"), np.random.default_rng(5)
    index = draw.integers(0, 300, count)
    call = places.take_rows(x, index, 0)
    found, failed = run(call, x, index)
    np.testing.assert_array_equal(found, x[index], strict=True)
    assert failed == 0
    for wrong in (0, count // 2, count - 1):
        spoiled = index.copy()
        spoiled[wrong] = 300
        found, failed = run(call, x, spoiled)
        others = np.arange(count) != wrong
        np.testing.assert_array_equal(found[others], x[index[others]])
        assert failed == 1
    wrapped, failed = run(places.take_rows(x, index, 0, True), x, index - 300)
    np.testing.assert_array_equal(wrapped, x[index], strict=True)
    assert failed == 0


def slices_put(start, index, source, dim, way):
    """What stands in an array after slices are written or added, one after the other."""
    found = np.moveaxis(start.copy(), dim, 0)
    source = np.broadcast_to(source, start.shape[:dim] + index.shape + start.shape[dim + 1 :])
    for place, row in zip(index, np.moveaxis(source, dim, 0), strict=True):
        found[place] = row if way == places.PUT else found[place] + row
    return np.moveaxis(found, 0, dim)


@pytest.mark.compiled("the reference has one way for all sizes")
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize(
    ("shape", "dim", "count"),
    [((7,), 0, 11), ((5, 129), 0, 9), ((1, 40), 1, 70), ((3, 6, 2050), 1, 8), ((6, 9001), 0, 7),
     ((2, 1025, 3), 1, 1300), ((64, 33), 1, 40), ((3, 70_001), 0, 4)],
)  # fmt: skip
def test_slices_written_in_place(shape, dim, count, past, threads, monkeypatch):
    """Repeated indices: the last one counts, on any number of threads, past the caches or not."""
    monkeypatch.setattr(places, "streams_from", lambda: 1 if past else 1 << 60)
    monkeypatch.setattr(places, "_into_rows", places.Remembered())
    draw = np.random.default_rng(4)
    index = draw.integers(0, shape[dim], count)
    before = rushlight.get_num_threads()
    rushlight.set_num_threads(threads)
    try:
        for dtype in ("f4", "f8", "i8", "u1", "f2"):
            start = draw.integers(0, 99, shape).astype(dtype)
            source = draw.integers(0, 99, (*shape[:dim], count, *shape[dim + 1 :])).astype(dtype)
            for way in (places.PUT, places.ADD) if dtype in ("f4", "f8") else (places.PUT,):
                for value in (source, 3):
                    given = start.copy()
                    assert places.put_rows(given, index, value, dim, way)
                    wanted = slices_put(start, index, value, dim, way)
                    np.testing.assert_array_equal(given, wanted)
                for wrong in (-1, shape[dim]):
                    refused, given = index.copy(), start.copy()
                    refused[-1] = wrong
                    assert not places.put_rows(given, refused, source, dim, way)
                    np.testing.assert_array_equal(given, start)
    finally:
        rushlight.set_num_threads(before)


@pytest.mark.compiled("the reference leaves all of them to NumPy")
def test_slices_that_are_left_to_others():
    target, index = np.zeros((4, 6), np.float32), np.array([0, 2])
    source = np.ones((2, 6), np.float32)
    refused = [
        (target.T, index, source.T, 1), (target, index, source[:, ::-1], 0),
        (target, index, source.astype("f8"), 0), (target, index, source[:1], 0),
        (target, index.astype("i4"), source, 0), (target, index[:, None], source, 0),
        (target, index, target[:2], 0), (target, index, 1e40, 0), (target, index, None, 0),
    ]  # fmt: skip
    for arguments in refused:
        assert not places.put_rows(*arguments, places.PUT)
    assert not target.any()
    whole = np.zeros((4, 6), np.int64)
    assert not places.put_rows(whole, index, np.ones((2, 6), np.int64), 0, places.ADD)
    assert not places.put_rows(whole, index, 0.5, 0, places.PUT)
    assert not whole.any()


@pytest.mark.parametrize("shape", [(2, 2), (40, 90), (6, 30, 50), (3, 4, 20, 30)], ids=str)
def test_read_where_they_lie(shape):
    """Parts of tensors and tensors in another order; what lies beside them is never read."""
    draw = np.random.default_rng(len(shape))
    for order in itertools.permutations(range(len(shape))):
        for parts in itertools.product([slice(None), slice(1, None), slice(None, None, 2)],
                                       repeat=len(shape)):  # fmt: skip
            if draw.random() < 0.9 and len(shape) > 2:
                continue
            room = np.full(shape, np.nan, np.float32)
            array = room[parts].transpose(order)
            array[...] = draw.standard_normal(array.shape)
            tensor, dim = rushlight.from_numpy(array), int(draw.integers(len(shape)))
            index = draw.integers(0, array.shape[dim], 5)
            found = tensor.index_select(dim, rushlight.from_numpy(index))
            np.testing.assert_array_equal(found.numpy(), array.take(index, dim))
            assert found.is_contiguous()
            places = draw.integers(
                0, array.shape[dim], [3 if d == dim else n for d, n in enumerate(array.shape)]
            )
            wanted = np.take_along_axis(array, places, dim)
            for given in (places, np.asfortranarray(places)):
                found = tensor.gather(dim, rushlight.from_numpy(given))
                np.testing.assert_array_equal(found.numpy(), wanted)
            added = tensor.scatter_add(dim, rushlight.from_numpy(places),
                                       rushlight.from_numpy(wanted))  # fmt: skip
            sums, at = array.copy(), list(np.indices(places.shape))
            at[dim] = places
            np.add.at(sums, tuple(at), wanted)
            np.testing.assert_allclose(added.numpy(), sums, rtol=1e-5, atol=1e-5)
            with pytest.raises((IndexError, RuntimeError), match="index"):
                tensor.index_select(dim, rushlight.tensor([array.shape[dim]]))
