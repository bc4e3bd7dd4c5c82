"""Matrices turned in registers: copies of views whose columns are what is dense."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels.copying import moving
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine import threads


@pytest.mark.parametrize(
    "shape", [(8, 8), (16, 16), (17, 33), (64, 64), (223, 448), (130, 1000), (1100, 1000)]
)
@pytest.mark.parametrize("dtype", ["float32", "int32", "float64", "int64"])
def test_transposed(shape, dtype):
    array = np.random.default_rng(0).integers(0, 999, shape).astype(dtype)
    wanted, before = np.ascontiguousarray(array.T), threads.get_num_threads()
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            found = rushlight.from_numpy(array).t().contiguous()
            assert found.is_contiguous()
            assert np.array_equal(found.numpy(), wanted)
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(2, 20, 37), (3, 64, 50), (1, 16, 5000), (3, 9, 8), (2, 130, 9)])
def test_batches_parts_and_special_numbers(shape, dtype):
    array = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    array[0, 3, 5], array[-1, -1, -1] = np.nan, -np.inf
    for view in (array.transpose(0, 2, 1), array[:, :-1, 1:].transpose(0, 2, 1),
                 array[:, 1:, :].transpose(2, 0, 1), array.transpose(2, 1, 0)):  # fmt: skip
        found = rushlight.from_numpy(view).contiguous().numpy()
        assert found.flags.c_contiguous
        assert np.array_equal(found, view, equal_nan=True)


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
def test_what_is_turned(monkeypatch):
    turned, found = moving._turned, []
    monkeypatch.setattr(moving, "_turned", lambda *given: found.append(given) or turned(*given))
    for dtype in (np.float32, np.int32, np.float64, np.int64, np.complex64, np.int16):
        for columns in (7, 8):
            array = np.random.default_rng(2).integers(0, 99, (columns, 50)).astype(dtype)
            copy = moving.copied(array.T, (50, columns), array.T.strides, 0, (50, columns))
            assert np.array_equal(copy(array.T), array.T)
            assert bool(found) == (columns == 8 and dtype != np.int16)
            found.clear()


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int16", "complex128"])
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_elements_in_turn(count, dtype):
    arrays = [
        np.random.default_rng(i).integers(0, 99, (97, 131)).astype(dtype) for i in range(count)
    ]
    found = rushlight.stack([rushlight.from_numpy(a) for a in arrays], -1)
    assert np.array_equal(found.numpy(), np.stack(arrays, -1))


@pytest.mark.parametrize("width", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_short_rows_of_any_strides(width, dtype):
    array = np.random.default_rng(0).integers(0, 99, (61, 400)).astype(dtype)
    before = threads.get_num_threads()
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            windows = rushlight.from_numpy(array).unfold(1, width, 1)
            wanted = np.lib.stride_tricks.sliding_window_view(array, width, 1)
            assert np.array_equal(windows.contiguous().numpy(), wanted)
            turned = rushlight.from_numpy(array[: 6 * width]).reshape(6, width, 20, 20)
            for order in ((0, 2, 3, 1), (2, 0, 3, 1), (3, 2, 0, 1), (0, 3, 1, 2)):
                found = turned.permute(order).contiguous().numpy()
                assert np.array_equal(found, turned.numpy().transpose(order))
    finally:
        threads.set_num_threads(before)


@pytest.mark.skipif(REFERENCE, reason="nothing is prepared")
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "i8"])
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("widths", [(3, 5), (16, 16), (1, 700), (1, 1, 1)])
def test_joined_rows_of_strided_arrays(dtype, dim, widths):
    """Rows that lie apart, backwards, or again and again; long and short ones."""
    rng, arrays = np.random.default_rng(0), []
    for i, width in enumerate(widths):
        shape = [4, 6, 7]
        shape[dim] = width
        base = rng.integers(0, 100, [2 * n for n in shape]).astype(dtype)
        rows = [base[: shape[0], : shape[1], : shape[2]], base[::2, : shape[1], : shape[2]],
                base[: shape[0], 0, : shape[2]][:, None].repeat(shape[1], 1)]  # fmt: skip
        arrays.append(rows[i % 3][:: -1 if i == 1 and dim else 1])
    total = list(arrays[0].shape)
    total[dim] = sum(widths)
    call = moving.joined(arrays, dim, total)
    if call is not None:
        assert np.array_equal(call(*arrays), np.concatenate(arrays, axis=dim))
    flat = [a.reshape(-1, a.shape[-1])[::2] for a in arrays] if dim == 2 else None
    if flat:
        found = moving.joined(flat, 1, (len(flat[0]), total[2]))(*flat)
        assert np.array_equal(found, np.concatenate(flat, axis=1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "bool"])
@pytest.mark.parametrize("shape", [(5, 3, 7), (64, 16, 64), (2, 4, 1), (1, 3, 9), (33, 20, 1, 5)])
def test_slices_one_after_the_other(shape, dtype):
    values = (np.random.default_rng(0).standard_normal(shape) * 9).astype(dtype)
    before = threads.get_num_threads()
    try:
        for count in (1, 2):
            threads.set_num_threads(count)
            tensor = rushlight.from_numpy(values)
            parts = tensor.unbind(1)
            wanted = np.moveaxis(values, 1, 0)
            assert np.array_equal(rushlight.stack(parts, 0).numpy(), wanted)
            joined = rushlight.cat(parts, 0).numpy()
            assert np.array_equal(joined, wanted.reshape(-1, *wanted.shape[2:]))
            mixed = [parts[0], parts[1].contiguous(), parts[0].expand_as(parts[0])]
            found = rushlight.stack(mixed, 0).numpy()
            assert np.array_equal(found, np.stack([p.numpy() for p in mixed]))
    finally:
        threads.set_num_threads(before)


@pytest.mark.skipif(REFERENCE, reason="there is nothing to choose")
def test_rows_of_other_shapes_or_strides_are_left():
    a = np.zeros((6, 8), np.float32)
    assert moving.joined([a[:, :4], a[:, 4:]], 0, (12, 4)) is not None
    assert moving.joined([a[:, ::2], a[:, 1::2]], 0, (12, 4)) is None
    assert moving.joined([a[:, :4], a[:3, 4:]], 0, (9, 4)) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.bool_, np.complex64])
@pytest.mark.parametrize("shape", [(1201, 911), (3, 701, 501), (1 << 20 | 3,)], ids=str)
def test_much_memory_in_reverse(shape, dtype):
    array = np.random.default_rng(1).integers(-9, 9, shape).astype(dtype)
    x = rushlight.from_numpy(array)
    for dims in (*range(len(shape)), tuple(range(len(shape)))):
        assert np.array_equal(x.flip(dims).numpy(), np.flip(array, dims))
