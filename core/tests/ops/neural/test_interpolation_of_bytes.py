"""Images of bytes resized in whole numbers: every byte is PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels.resampling import byte_taps, taps

torch = pytest.importorskip("torch")
WAYS = [(mode, smooth) for mode in ("bilinear", "bicubic") for smooth in (False, True)]


def bytes_of(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def resized(home, x, size=None, **options):
    return home.nn.functional.interpolate(x, size, **options)


@pytest.mark.parametrize(("mode", "smooth"), WAYS)
@pytest.mark.parametrize("shape", [(1, 3, 40, 50), (2, 3, 133, 201), (4, 1, 17, 16), (1, 2, 3, 5)])
def test_every_byte(shape, mode, smooth):
    array = bytes_of(*shape)
    for size in ((20, 30), (60, 70), (17, 80), (3, 5), (200, 7), (16, 16), (33, 15)):
        options = {"size": size, "mode": mode, "antialias": smooth}
        ours = resized(rushlight, rushlight.from_numpy(array), **options)
        theirs = resized(torch, torch.from_numpy(array), **options)
        assert ours.dtype is rushlight.uint8
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), str(size))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(
    "options",
    [{"size": (23, 71), "align_corners": True}, {"scale_factor": 1.37}, {"scale_factor": 0.6}],
)
def test_corners_and_factors(mode, options):
    array = bytes_of(1, 3, 40, 50)
    ours = resized(rushlight, rushlight.from_numpy(array), mode=mode, **options)
    theirs = resized(torch, torch.from_numpy(array), mode=mode, **options)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("seed", range(60))
def test_views_of_any_layout(seed):
    draw = np.random.default_rng(seed)
    n, c, h, w = (int(draw.integers(1, high)) for high in (3, 5, 70, 70))
    array = bytes_of(n, c, h + 9, w + 7, seed=seed)
    size = tuple(int(v) for v in draw.integers(2, 90, 2))
    mode, smooth = WAYS[seed % 4]
    ours = rushlight.from_numpy(array)[:, :, 3 : 3 + h, 2 : 2 + w]
    theirs = torch.from_numpy(array)[:, :, 3 : 3 + h, 2 : 2 + w]
    if seed % 3 == 0:
        ours = ours.contiguous(memory_format=rushlight.channels_last)
    if seed % 7 == 0:
        ours, theirs = ours.transpose(2, 3), theirs.transpose(2, 3)
    try:
        expected = resized(torch, theirs.contiguous(), size, mode=mode, antialias=smooth)
    except RuntimeError as error:  # of one pixel, in PyTorch
        assert "INTERNAL ASSERT" in str(error)
        return
    found = resized(rushlight, ours, size, mode=mode, antialias=smooth)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    assert found.is_contiguous(memory_format=rushlight.channels_last) or seed % 3 or seed % 7 == 0


@pytest.mark.parametrize(
    "sizes", [(40, 13, 50, 27), (9, 31, 5, 64), (70, 70, 200, 16), (33, 4, 18, 1)]
)
def test_kernels_give_what_numpy_gives(sizes, monkeypatch):
    height, rows, width, columns = sizes
    array = bytes_of(2, 2, height, width)
    for degree in (1, 3):
        maps = [
            taps.antialiased(size, out, False, None, True, degree)
            for size, out in ((height, rows), (width, columns))
        ]
        found = byte_taps.resample_bytes(array, *maps)
        monkeypatch.setattr(byte_taps, "REFERENCE", True)
        expected = byte_taps.resample_bytes(array, *maps)
        monkeypatch.undo()
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("degree", [1, 3])
@pytest.mark.parametrize(("size", "out"), [(1, 7), (5, 64), (64, 5), (300, 224), (33, 33), (9, 1)])
def test_tables_of_neighbours_are_those_of_any_taps(size, out, degree):
    smoothed = taps.antialiased(size, out, False, None, True, degree)
    plain = taps.Taps(smoothed.index, smoothed.weight, size)
    dense = []
    for found in (byte_taps.ByteTaps(smoothed), byte_taps.ByteTaps(plain)):
        matrix = np.zeros((out, size), np.int64)
        columns = found.start[:, None] + np.arange(found.weight.shape[1])
        np.put_along_axis(matrix, columns, found.weight.astype(np.int64), 1)
        dense.append((found.shift, matrix.tolist()))
    assert dense[0] == dense[1]


def test_extremes_are_cut_off_and_sums_do_not_overflow():
    steps = np.where(np.indices((64, 96)).sum(0) // 5 % 2, 255, 0).astype(np.uint8)[None, None]
    for size in ((7, 5), (200, 300), (64, 3)):
        options = {"size": size, "mode": "bicubic", "antialias": True}
        ours = resized(rushlight, rushlight.from_numpy(steps), **options)
        theirs = resized(torch, torch.from_numpy(steps), **options)
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
