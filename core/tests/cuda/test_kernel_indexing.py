"""Indexing and embedding kernels on the emulator, against NumPy."""

import mmap
from types import SimpleNamespace

import numpy as np
import pytest
from kernel_cases import (
    BFLOAT16,
    FLOAT32,
    INT64,
    both_orders,
    close,
    emulator_only,
    on_device,
    on_host,
    wide,
)

from rushlight.compiler.cuda.device_array import DeviceArray
from rushlight.kernels.indexing import cuda as indexing
from rushlight.kernels.indexing import cuda_embedding as embedding
from rushlight.kernels.indexing import embedding as cpu
from rushlight.machine.cuda.runtime.emulated import LaunchFault


def draw(shape, dtype=FLOAT32, seed=0):
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iub":
        return generator.integers(-9, 9, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


def integers(high, shape, seed=1):
    return np.random.default_rng(seed).integers(0, high, shape)


DTYPES = [FLOAT32, BFLOAT16, INT64, np.dtype(np.uint8), np.dtype(np.complex128)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows(dtype):
    x, index = draw((4, 6, 5), FLOAT32).astype(dtype), integers(6, (7,))
    for axis in range(3):
        index = integers(x.shape[axis], (3, 2))
        found = both_orders(
            lambda i=index, a=axis: indexing.take_rows(on_device(x), on_device(i), a)
        )
        np.testing.assert_array_equal(found, np.take(x, index, axis))
    index = np.array([-1, 2, -4])
    found = both_orders(lambda: indexing.take_rows(on_device(x), on_device(index), 0, True))
    np.testing.assert_array_equal(found, x[index])
    out, index, values = x.copy(), np.array([5, 0, 3]), draw((4, 3, 5), FLOAT32, 2).astype(dtype)
    target = on_device(out)
    indexing.put_rows(target, on_device(index), on_device(values), 1)
    out[:, index] = values
    np.testing.assert_array_equal(on_host(target), out)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gather_and_scatter(dtype):
    x = draw((4, 6, 5), FLOAT32).astype(dtype)
    for axis in range(3):
        index = integers(x.shape[axis], (3, 4, 2))
        part = x[tuple(slice(None) if d == axis else slice(n) for d, n in enumerate((3, 4, 2)))]
        found = both_orders(lambda i=index, a=axis: indexing.read_at(on_device(x), a, on_device(i)))
        np.testing.assert_array_equal(found, np.take_along_axis(part, index, axis))
        turned = indexing.read_at(
            on_device(x.transpose(2, 0, 1)).transpose(1, 2, 0), axis, on_device(index)
        )
        np.testing.assert_array_equal(on_host(turned), found)
        index = np.argsort(np.random.default_rng(0).random((3, 4, 2)), axis)
        values, out = draw((3, 4, 2), FLOAT32, 3).astype(dtype), on_device(x)
        indexing.scattered_at(out, axis, on_device(index), on_device(values))
        expected = x.copy()
        where = tuple(slice(n) for n in (3, 4, 2))
        rest = [slice(None) if d == axis else s for d, s in enumerate(where)]
        view = expected[tuple(rest)]
        np.put_along_axis(view, index, values, axis)
        np.testing.assert_array_equal(on_host(out), expected)


@pytest.mark.parametrize("dtype", [FLOAT32, BFLOAT16, INT64], ids=str)
@pytest.mark.parametrize("kind", ["sum", "prod", "amax", "amin", "mean"])
@pytest.mark.parametrize("include_self", [True, False])
def test_combining(dtype, kind, include_self):
    x, source = draw((5, 4), dtype), draw((40, 4), dtype, 1)
    source = source if kind != "prod" else np.where(source > 0, 1, 2).astype(dtype)
    index = integers(4, (40, 4))  # row 4 gets nothing

    def run():
        out = on_device(x)
        indexing.combined_at(out, 0, on_device(index), on_device(source), kind, include_self)
        return out

    expected = wide(x).copy()
    for row in range(4):
        for column in range(4):
            values = wide(source)[index[:, column] == row, column]
            if include_self:
                values = np.append(values, wide(x)[row, column])
            combine = {"sum": np.sum, "prod": np.prod, "amax": np.max, "amin": np.min,
                       "mean": np.mean}[kind]  # fmt: skip
            value = combine(values)
            expected[row, column] = np.floor(value) if dtype == INT64 else value
    found = both_orders(run)
    if dtype == INT64:
        np.testing.assert_array_equal(found, expected)
    else:
        close(found, expected, dtype, 4)


@pytest.mark.parametrize("count", [30, 3000])
def test_index_add(count):
    source, index = draw((3, count, 4)), integers(7, (count,))

    def run():
        out = on_device(np.ones((3, 7, 4), np.float32))
        indexing.combined_rows(out, on_device(index), on_device(source), axis=1, alpha=2)
        return out

    expected = np.ones((3, 7, 4))
    for j in range(count):
        expected[:, index[j]] += 2 * wide(source)[:, j]
    close(both_orders(run), expected, FLOAT32, 8)


@pytest.mark.parametrize("dtype", [FLOAT32, BFLOAT16, INT64], ids=str)
@pytest.mark.parametrize("kind", ["sum", "amax", "mean"])
def test_few_places_for_many(dtype, kind):
    """More than one part for each of three rows, of which the last gets nothing."""
    source, index = draw((2, 3300, 5), dtype), integers(2, (3300,))
    index[:40] = 1

    def run(include_self=True):
        out = on_device(np.ones((2, 3, 5), dtype))
        indexing.combined_rows(out, on_device(index), on_device(source), kind, 1, include_self)
        return out

    combine = {"sum": np.sum, "amax": np.max, "mean": np.mean}[kind]
    for include_self in (True, False):
        expected = np.ones((2, 3, 5))
        for row in range(2):
            values = wide(source)[:, index == row]
            if include_self:
                values = np.concatenate([values, np.ones((2, 1, 5))], 1)
            value = combine(values, 1)
            expected[:, row] = np.floor(value) if dtype == INT64 else value
        found = both_orders(lambda i=include_self: run(i))
        if dtype == INT64:
            np.testing.assert_array_equal(found, expected)
        else:
            close(found, expected, dtype, 8)


def test_crowded_embedding():
    weight, indices = draw((3, 40)), integers(3, (2000,))
    grad = draw((2000, 40), FLOAT32, 2)
    for padding in (-1, 1):
        found = both_orders(
            lambda p=padding: embedding.embedding_backward(
                on_device(grad), on_device(indices), len(weight), p, True
            )
        )
        close(found, wide(cpu.embedding_backward(grad, indices, 3, padding, True)), FLOAT32, 4)


def test_atomic_sums():
    source, index = draw((50, 3), INT64), integers(7, (50,))
    expected = np.zeros((7, 3), np.int64)
    np.add.at(expected, index, source)
    for dtype in (np.int64, np.int32, np.float32, np.float64):
        out = on_device(np.zeros((7, 3), dtype))
        indexing.combined_rows(
            out, on_device(index), on_device(source.astype(dtype)), deterministic=False
        )
        np.testing.assert_array_equal(on_host(out), expected)
        out = on_device(np.zeros((7, 3), dtype))
        index2 = np.repeat(index[:, None], 3, 1)
        indexing.added_at(out, 0, on_device(index2), on_device(source.astype(dtype)), False)
        np.testing.assert_array_equal(on_host(out), expected)


def test_several_indices_as_one():
    rows, columns = np.array([[0, -1], [2, 1]]), np.array([[3, 0], [-2, 1]])
    found = both_orders(
        lambda: indexing.joined_indices([on_device(rows), on_device(columns)], (3, 4), (4, 1))
    )
    np.testing.assert_array_equal(found, (rows % 3) * 4 + columns % 4)


def test_masks():
    x = draw((7, 9))
    mask = x > 0.3
    found = both_orders(lambda: indexing.nonzero(on_device(mask)))
    np.testing.assert_array_equal(found, np.argwhere(mask))
    assert indexing.nonzero(on_device(np.zeros((3, 2), bool))).shape == (0, 2)
    found = both_orders(lambda: indexing.masked_select(on_device(x), on_device(mask)))
    np.testing.assert_array_equal(found, x[mask])
    values = draw((63,), FLOAT32, 5)
    found = both_orders(lambda: indexing.masked_scatter(*map(on_device, (x, mask, values))))
    expected = x.copy()
    expected[mask] = values[: mask.sum()]
    np.testing.assert_array_equal(found, expected)
    found = both_orders(lambda: indexing.counted(on_device(integers(5, (300,))), 6))
    np.testing.assert_array_equal(found, np.bincount(integers(5, (300,)), minlength=6))


@emulator_only
def test_an_index_out_of_range_fails():
    with pytest.raises(LaunchFault, match="take_rows: __trap"):
        indexing.take_rows(on_device(draw((3, 2))), on_device(np.array([3])))


@emulator_only
def test_more_than_two_to_the_31st_elements():
    """Memory that the system lends only where it is touched: places are counted in 64 bits."""
    size = 2**31 + 5000
    memory = mmap.mmap(-1, 4 * size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    bytes_of = np.frombuffer(memory, np.uint8)
    big = SimpleNamespace(address=bytes_of.ctypes.data, nbytes=bytes_of.nbytes, device=0, stream=0)
    host = np.frombuffer(memory, np.float32)
    rows = np.array([5, size // 4 - 1, 2**29 + 3])
    host.reshape(-1, 4)[rows] = np.arange(12, dtype=np.float32).reshape(3, 4)
    array = DeviceArray(big, (size // 4, 4), FLOAT32)
    found = on_host(indexing.take_rows(array, on_device(rows)))
    np.testing.assert_array_equal(found, np.arange(12, dtype=np.float32).reshape(3, 4))
    flat = DeviceArray(big, (size,), FLOAT32)
    places = np.array([4 * rows[1] + 2, 4 * rows[2]])
    found = on_host(indexing.read_at(flat, 0, on_device(places)))
    assert found.tolist() == [6, 8]
    indexing.combined_at(flat, 0, on_device(places), on_device(np.ones(2, np.float32)), "sum", True)
    assert host[places].tolist() == [7, 9]
    indexing.scattered_at(flat, 0, on_device(places), on_device(np.full(2, 3, np.float32)))
    assert host[places].tolist() == [3, 3]
    del array, flat, host, bytes_of


@pytest.mark.parametrize("dtype", [FLOAT32, BFLOAT16], ids=str)
@pytest.mark.parametrize("by_frequency", [False, True])
def test_embedding(dtype, by_frequency):
    weight, indices = draw((11, 33), dtype), integers(11, (5, 9))
    found = both_orders(lambda: embedding.embedding_forward(on_device(weight), on_device(indices)))
    np.testing.assert_array_equal(found, weight[indices])
    grad = draw((5, 9, 33), dtype, 2)
    found = both_orders(
        lambda: embedding.embedding_backward(
            on_device(grad), on_device(indices), 11, 3, by_frequency
        )
    )
    close(found, wide(cpu.embedding_backward(grad, indices, 11, 3, by_frequency)), dtype, 2)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("dtype", [FLOAT32, BFLOAT16], ids=str)
def test_bags(mode, dtype):
    weight, flat = draw((11, 6), dtype), integers(11, (20,))
    offsets = np.array([0, 3, 3, 9, 20])  # bags 1 and 4 are empty
    weights = draw((20,), dtype, 3) if mode == "sum" else None
    grad = draw((5, 6), dtype, 4)
    given = on_device(weight), on_device(flat), on_device(offsets)
    found, saved = both_orders(
        lambda: embedding.embedding_bag_forward(*given, mode, on_device(weights), False, 2)
    )
    expected, kept = cpu.embedding_bag_forward(weight, flat, offsets, mode, weights, False, 2)
    close(found, wide(expected), dtype)
    np.testing.assert_array_equal(saved[2], kept[2])
    on = tuple(on_device(a) for a in saved)
    got = both_orders(
        lambda: embedding.embedding_bag_backward(
            on_device(grad), on, 11, mode, on_device(weights), 2
        )
    )
    close(got, wide(cpu.embedding_bag_backward(grad, kept, 11, mode, weights, 2)), dtype, 2)
    if mode == "sum":
        got = both_orders(
            lambda: embedding.embedding_bag_scale_gradient(on_device(grad), given[0], on, 2)
        )
        bags = np.repeat(np.arange(4), np.diff(offsets))
        dots = (wide(grad)[bags] * wide(weight)[flat]).sum(1) * (flat != 2)
        close(got, dots, dtype, 4)


def test_bags_of_a_matrix():
    weight, indices = draw((11, 6)), integers(11, (4, 3))
    out, _ = both_orders(
        lambda: embedding.embedding_bag_forward(
            on_device(weight), on_device(indices), None, "mean", None, False, -1
        )
    )
    close(out, wide(weight)[indices].mean(1))
