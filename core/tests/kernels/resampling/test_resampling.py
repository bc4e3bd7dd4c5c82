"""Compiled resampling of rows and columns against the taps applied one by one by NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import rushlight
from rushlight.kernels.resampling import taps as resampling
from rushlight.machine import threads

SIZES = [((2, 3, 17, 23), (34, 46)), ((1, 2, 31, 40), (77, 21)), ((4, 5, 9, 64), (27, 130)),
         ((1, 1, 50, 60), (50, 120)), ((1, 3, 64, 64), (32, 64))]  # fmt: skip


def by_numpy(array, maps):
    for axis, taps in enumerate(maps, 2):
        if taps is not None:
            array = resampling._along(array, taps, axis)
    return array


def maps_of(mode, shape, sizes):
    pairs = list(zip(shape[2:], sizes, strict=True))
    if mode == "nearest":
        return tuple(resampling.nearest(n, out, None, False) for n, out in pairs)
    if mode == "linear":
        return tuple(resampling.linear(n, out, False, None, False) for n, out in pairs)
    if mode == "cubic":
        return tuple(resampling.cubic(n, out, True, None, False) for n, out in pairs)
    return tuple(resampling.antialiased(n, out, False, None, False, 1) for n, out in pairs)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic", "antialiased"])
@pytest.mark.parametrize(("shape", "sizes"), SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_and_columns(mode, shape, sizes, dtype):
    array = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    array[0, 0, 3, 5], array[0, -1, 1, 2] = np.nan, np.inf
    maps = maps_of(mode, shape, sizes)
    for used in (maps, tuple(None if m is None else m.transposed() for m in maps)):
        given = array if used is maps else by_numpy(array, maps)
        with np.errstate(invalid="ignore"):
            wanted = by_numpy(given, used)
            found = resampling.resample(given, used)
        bound = 1e-6 if dtype == "float32" else 1e-14
        assert found.shape == wanted.shape
        assert np.array_equal(np.isnan(found), np.isnan(wanted))
        finite = np.isfinite(wanted)
        assert np.array_equal(
            found[~finite & ~np.isnan(wanted)], wanted[~finite & ~np.isnan(wanted)]
        )
        assert np.abs(found[finite] - wanted[finite]).max() <= bound * np.abs(wanted[finite]).max()


@pytest.mark.parametrize("dtype", ["uint8", "float16", "int64"])
def test_moved_elements_of_any_width(dtype):
    array = np.random.default_rng(1).integers(0, 99, (2, 2, 30, 33)).astype(dtype)
    maps = tuple(resampling.nearest(n, 3 * n, None, False) for n in array.shape[2:])
    assert np.array_equal(resampling.resample(array, maps), by_numpy(array, maps))


def test_one_and_three_dimensions():
    rng = np.random.default_rng(2)
    line, volume = rng.standard_normal((3, 4, 500)), rng.standard_normal((1, 2, 5, 16, 20))
    for array in (line, volume):
        maps = tuple(resampling.linear(n, 2 * n, False, None, True) for n in array.shape[2:])
        found, wanted = resampling.resample(array, maps), by_numpy(array, maps)
        assert found.shape == wanted.shape
        assert np.allclose(found, wanted, rtol=1e-14, atol=1e-14)


def test_threads_and_strides_do_not_matter():
    array = np.random.default_rng(3).standard_normal((2, 3, 90, 80)).astype(np.float32)
    maps, before, found = maps_of("linear", array.shape, (200, 170)), threads.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            found.append(resampling.resample(array, maps))
            turned = np.ascontiguousarray(array.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
            assert np.array_equal(resampling.resample(turned, maps), found[0])
    finally:
        threads.set_num_threads(before)
    assert all(np.array_equal(found[0], other) for other in found[1:])


def test_plans_keep_their_tables():
    array = np.random.default_rng(4).standard_normal((1, 2, 40, 50)).astype(np.float32)
    for out in range(60, 400):  # more than the caches of taps and plans hold
        maps = maps_of("linear", array.shape, (out, 64))
        assert resampling.resample(array, maps).shape == (1, 2, out, 64)
    maps = maps_of("linear", array.shape, (60, 64))
    assert np.allclose(resampling.resample(array, maps), by_numpy(array, maps), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape", [(40, 30, 2), (40, 30, 3), (9, 40, 17), (8, 16, 100), (3, 5, 1001)]
)
def test_twice_as_many_between_neighbours(shape, dtype):
    array = np.random.default_rng(5).standard_normal(shape).astype(dtype)
    array[0, 0, 0], array[1, 1, -1], array[2, 2, shape[2] // 2] = np.inf, -np.inf, np.nan
    taps = resampling.linear(shape[2], 2 * shape[2], False, None, dtype == "float64")
    assert taps.between()
    with np.errstate(invalid="ignore"):
        found, wanted = resampling.resample(array, (taps,)), by_numpy_last(array, taps)
    assert np.allclose(found, wanted, rtol=1e-6, atol=1e-6, equal_nan=True)
    aligned = resampling.linear(shape[2], 2 * shape[2], True, None, False)
    assert shape[2] == 2 or not aligned.between()
    with np.errstate(invalid="ignore"):
        found, wanted = resampling.resample(array, (aligned,)), by_numpy_last(array, aligned)
    assert np.allclose(found, wanted, rtol=1e-6, atol=1e-6, equal_nan=True)
    assert not resampling.linear(shape[2], 2 * shape[2] + 1, False, None, False).between()


def by_numpy_last(array, taps):
    return resampling._along(array, taps, array.ndim - 1)


@pytest.mark.parametrize("taps", [
    resampling.cubic(9, 27, False, None, False),
    resampling.antialiased(27, 10, False, None, False, 3),
])  # fmt: skip
def test_cubic_weights_add_up_to_one(taps):
    assert np.abs(taps.weight.sum(1) - 1).max() < 1e-7


SPANS = {1: (1, 2, 3, 5, 7, 130), 2: (1, 2, 3, 5, 7, 40, 64, 70), 3: (1, 2, 3, 5, 7)}
LAST = {4: "channels_last", 5: "channels_last_3d"}


def enlarged(library, size, dims, channels, last, dtype, factor, mode, grad=False):
    """An image of numbers from 0 on and the same resized by a factor."""
    shape = (1, channels, *(size,) * dims)
    x = library.arange(float(channels * size**dims), dtype=getattr(library, dtype)).reshape(shape)
    if last:
        x = x.contiguous(memory_format=getattr(library, LAST[dims + 2]))
    x.requires_grad_(grad)
    return x, library.nn.functional.interpolate(x, scale_factor=factor, mode=mode)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dims, last", [(1, False), (2, False), (2, True), (3, False), (3, True)])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_elements_of_factors_that_leave_or_double_a_size(dims, last, mode, dtype):
    """PyTorch goes by sizes in images of at most 128 rows and columns together and where four or
    more channels lie last; the gradient is that of what was picked."""
    torch = pytest.importorskip("torch")
    factors = (0.6, 1.0, 1.01, 1.1, 1.3, 2.0, 2.3)
    for size, factor, channels in itertools.product(SPANS[dims], factors, (1, 4)):
        if int(size * factor) < 1:
            continue
        given = size, dims, channels, last, dtype, factor, mode
        x, out = enlarged(rushlight, *given, grad=True)
        assert np.array_equal(out.detach().numpy(), enlarged(torch, *given)[1].numpy()), given
        out.sum().backward()
        counts = np.bincount(out.detach().numpy().astype(int).ravel(), minlength=x.numel())
        assert np.array_equal(x.grad.numpy().ravel(), counts)
