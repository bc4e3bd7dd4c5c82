"""Suppression: the kernel as its reference, box by box."""

import numpy as np
import pytest

from rushlight.kernels.signal import suppression


def crowd(count, seed, dtype=np.float32):
    draw = np.random.default_rng(seed)
    corners = draw.uniform(0, 60, (count, 2))
    boxes = np.concatenate([corners, corners + draw.uniform(1, 25, (count, 2))], 1)
    return np.round(boxes).astype(dtype), np.sort(draw.integers(-3, 4, count))


def agrees(boxes, groups, threshold):
    found = suppression.suppressed(boxes, groups, threshold)
    expected = suppression.suppressed_reference(boxes, groups, threshold)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, expected)
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("threshold", [-0.1, 0.0, 0.1, 1 / 3, 0.5, 1.0])
@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 127, 128, 129, 700])
def test_kernel_is_the_reference(count, threshold, dtype):
    boxes, groups = crowd(count, count, dtype)
    agrees(boxes, groups, threshold)
    agrees(boxes, np.zeros(count, np.int64), threshold)


def test_groups_end_where_others_begin():
    """Of any size: several in a chunk, and one over many chunks."""
    sizes = [1, 1, 3, 127, 128, 129, 900, 1, 40, 2]
    boxes, _ = crowd(sum(sizes), 0)
    groups = np.repeat([5, -1, 7, 0, 2, 9, 1, 0, 3, 4], sizes)
    found = agrees(boxes, groups, 0.3)
    ends = np.cumsum(sizes)
    for start, end in zip(ends - sizes, ends, strict=True):
        alone = suppression.suppressed(boxes[start:end], groups[start:end], 0.3)
        np.testing.assert_array_equal(found[start:end], alone)


def test_boxes_that_are_not_dense():
    boxes, groups = crowd(300, 1)
    expected = suppression.suppressed(boxes, groups, 0.4)
    wide = np.repeat(np.repeat(boxes, 2, 0), 3, 1)[::2, ::3]
    spread = np.repeat(groups, 2)[::2]
    np.testing.assert_array_equal(suppression.suppressed(wide, spread, 0.4), expected)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("threshold", [-1.0, 0.5])
def test_corners_that_are_no_numbers(value, threshold):
    boxes, groups = crowd(64, 2)
    boxes[np.random.default_rng(0).random(boxes.shape) < 0.1] = value
    agrees(boxes, groups, threshold)


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.7])
def test_a_ratio_next_to_the_threshold(threshold):
    """A float32 ratio counts as it is, however the float64 threshold would be rounded."""
    near = np.float32(threshold)
    for ratio in (np.nextafter(near, np.float32(0)), near, np.nextafter(near, np.float32(1))):
        boxes = np.array([[0, 0, 1, 1], [0, 0, ratio, 1]], np.float32)
        found = suppression.suppressed(boxes, np.zeros(2, np.int64), threshold)
        assert found.tolist() == [True, not float(ratio) > threshold]


def test_no_boxes():
    found = suppression.suppressed(np.zeros((0, 4), np.float32), np.zeros(0, np.int64), 0.5)
    assert found.shape == (0,) and found.dtype == bool


@pytest.mark.parametrize("threshold", [0.3, 0.7, 0.1, 0.5])
def test_a_ratio_next_to_the_limit(threshold):
    """float32 numbers around a float64 threshold, which none of them need equal."""
    limit = suppression.limit_of(threshold, np.dtype(np.float32))
    near = np.float32(threshold)
    for ratio in (near, *(np.nextafter(near, np.float32(side)) for side in (0, 1))):
        assert (ratio > limit) == (float(ratio) > threshold)
