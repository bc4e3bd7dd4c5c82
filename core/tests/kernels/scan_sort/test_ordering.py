"""Rows in order against NumPy's stable sort: ties, zeros of both signs, NaN, infinities."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.scan_sort import ordering

SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38, 1.0, 1.0]


def stable(x, descending):
    """Places by NumPy: NaN counts as the largest."""
    if not descending:
        return np.argsort(x, -1, kind="stable")
    back = np.argsort(x[..., ::-1], -1, kind="stable")[..., ::-1]
    return x.shape[-1] - 1 - back


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("shape", [(2,), (3, 7), (22, 45), (2, 3, 129), (1, 5000)])
def test_ordered(shape, descending):
    draw = np.random.default_rng(5)
    numbers = draw.standard_normal(shape).astype("f4")
    for x in (numbers, numbers.round(1), draw.choice(np.array(SPECIAL, "f4"), shape)):
        values, places = ordering.ordered(x, descending)
        wanted = stable(x, descending)
        np.testing.assert_array_equal(places, wanted, strict=True)
        expected = np.take_along_axis(x, wanted, -1)
        assert values.tobytes() == expected.tobytes()


def extremes(dtype):
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array(SPECIAL).astype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    limits = np.iinfo(dtype)
    return np.array([limits.min, limits.max, 0, 1, 1, limits.max - 1], dtype)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u1", "i1", "i2", "b1", "f2"])
@pytest.mark.parametrize("shape", [(1, 257), (2, 700), (3, 2, 300), (1, 5000), (2, 140_000)])
def test_bytes_of_keys(dtype, shape, descending):
    draw, dtype = np.random.default_rng(6), np.dtype(dtype)
    few = draw.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)
    cases = [few, draw.choice(extremes(dtype), shape)]
    if dtype.kind == "f":
        cases.append((draw.standard_normal(shape) * 1e3).astype(dtype))
    elif dtype.kind == "i":
        cases.append(draw.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype))
    for x in cases:
        found = ordering.ordered(x, descending)
        if REFERENCE:
            assert found is None
            continue
        wanted = stable(x, descending)
        np.testing.assert_array_equal(found[1], wanted, strict=True)
        expected = np.take_along_axis(x, wanted, -1)
        assert found[0].dtype == dtype and found[0].tobytes() == expected.tobytes()


@pytest.mark.parametrize("slow", [False, True])
def test_both_ways_with_rows_of_float32(slow, monkeypatch):
    monkeypatch.setattr(ordering, "compresses_slowly", lambda: slow)
    monkeypatch.setattr(ordering, "_known", ordering.Remembered())
    x = np.random.default_rng(7).standard_normal((3, 1000)).astype("f4").round(1)
    found = ordering.ordered(x, True)
    assert found is None if REFERENCE else np.array_equal(found[1], stable(x, True))


def test_what_is_left_to_others():
    x = np.ones((4, 6), "f4")
    for other in (x.astype("f8"), x.T, x[:, ::2], x[:0], x[:, :1], np.ones((), "f4"),
                  x.astype("u8"), np.ones(1000, "u8"), np.ones(1000, "c8")):  # fmt: skip
        assert ordering.ordered(other, False) is None


@pytest.mark.parametrize("dim", [0, 1, 2, -2])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "f2"])
def test_any_dimension_and_layout(dim, dtype):
    x = np.random.default_rng(8).integers(0, 50, (230, 3, 210)).astype(dtype)
    for tensor in (rushlight.from_numpy(x), rushlight.from_numpy(x.copy("F"))):
        for descending in (False, True):
            values, places = tensor.sort(dim, descending)
            moved = np.ascontiguousarray(np.moveaxis(x, dim, -1))
            wanted = np.moveaxis(stable(moved, descending), -1, dim)
            assert np.array_equal(places.numpy(), wanted)
            assert np.array_equal(values.numpy(), np.take_along_axis(x, wanted, dim))


@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "i8", "u8"])
@pytest.mark.parametrize("size", [3, 600, 5000, 300_000])
def test_distinct_integers(dtype, size):
    draw, dtype = np.random.default_rng(9), np.dtype(dtype)
    limits = np.iinfo(dtype)
    cases = [(0, min(limits.max, 90)), (limits.min, limits.max), (limits.max - 99, limits.max)]
    for low, high in cases:
        x = draw.integers(low, high, size, dtype, endpoint=True)
        tensor = rushlight.from_numpy(x)
        assert np.array_equal(rushlight.unique(tensor).numpy(), np.unique(x))
        found = rushlight.unique(tensor, return_inverse=True, return_counts=True)
        for ours, theirs in zip(
            found, np.unique(x, return_inverse=True, return_counts=True), strict=True
        ):
            assert np.array_equal(ours.numpy(), theirs)
        rows = tensor.reshape(-1, 3) if size % 3 == 0 else tensor.reshape(-1, 2)
        values, inverse = rushlight.unique(rows, return_inverse=True)
        assert inverse.shape == rows.shape
        assert np.array_equal(values[inverse].numpy(), rows.numpy())


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("shape", [(2,), (5, 33), (3, 4, 500), (20_001,)], ids=str)
def test_chosen_elements(shape):
    array = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    order = np.argsort(array, -1, kind="stable")
    for k in sorted({0, 1, shape[-1] // 2, shape[-1] - 1}):
        values, places = ordering.chosen(array, k)
        assert np.array_equal(places, order[..., k])
        assert np.array_equal(values, np.sort(array, -1)[..., k])
        tensor = rushlight.from_numpy(array)
        assert np.array_equal(tensor.kthvalue(k + 1).indices.numpy(), places)
    middle = (shape[-1] - 1) // 2
    assert np.array_equal(tensor.median(-1).values.numpy(), np.sort(array, -1)[..., middle])
    flat = np.sort(array.reshape(-1))
    assert tensor.median().item() == flat[(flat.size - 1) // 2]
    array.reshape(-1)[-1] = np.nan
    assert np.isnan(rushlight.from_numpy(array).median().item())
    assert rushlight.from_numpy(array).median(-1).indices.reshape(-1)[-1] == shape[-1] - 1


def _mode_of(row):
    """The smallest of the most frequent elements and its last place, by counting."""
    counts = [(-int((row == x).sum()), x) for x in row if x == x]
    if not counts or min(counts)[0] == -1:  # nothing twice: the first in order
        place = int(np.argsort(row, kind="stable")[0])
    else:
        place = int(np.flatnonzero(row == min(counts)[1])[-1])
    return row[place], place


@pytest.mark.parametrize("kind", ["f4", "f8", "i4", "i8", "i2", "f2", "u1"])
@pytest.mark.parametrize("shape", [(5, 2), (30, 7), (9, 300), (3, 2500), (0, 4), (2, 1), (700,)])
def test_modes(kind, shape):
    rng = np.random.default_rng(0)
    for case in ("few values", "all apart", "nan", "infinities and zeros"):
        x = rng.integers(0, 9, shape).astype(kind)
        if case == "all apart" and kind in ("f4", "f8"):
            x = rng.standard_normal(shape).astype(kind)
        elif kind[0] == "f" and case == "nan":
            x[rng.random(shape) < 0.4] = np.nan
        elif kind[0] == "f" and case[0] == "i":
            x = rng.choice(np.array([0.0, -0.0, np.inf, -np.inf], kind), shape)
        want = [_mode_of(row) for row in x.reshape(-1, shape[-1])]
        for way in (np.array, lambda x: np.array(x.T, order="C").T):
            values, places = rushlight.from_numpy(way(x)).mode(-1)
            assert values.dtype == rushlight.from_numpy(x).dtype
            assert values.shape == places.shape == shape[:-1]
            found = zip(values.numpy().reshape(-1), places.numpy().reshape(-1), strict=True)
            for (value, place), (wanted, at) in zip(found, want, strict=True):
                assert place == at and (value == wanted or wanted != wanted)
            kept = rushlight.from_numpy(way(x)).mode(-1, keepdim=True)
            assert kept.values.shape == (*shape[:-1], 1)
        torch = pytest.importorskip("torch")
        if case != "nan":
            assert np.array_equal(torch.tensor(x).mode(-1).values.numpy(), values.numpy())
