"""Greedy suppression on the emulator, against the reference of the CPU's kernel."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import BFLOAT16, FLOAT32, both_orders, on_device

import rushlight
from rushlight.kernels.signal import cuda_suppression, suppression

DTYPES = (FLOAT32, np.dtype(np.float64), np.dtype(np.float16), BFLOAT16)


def crowd(count, dtype, classes=4):
    """Boxes of whole numbers and groups that stand together."""
    draw = np.random.default_rng(count)
    corners = draw.integers(0, 40, (count, 2))
    boxes = np.concatenate([corners, corners + draw.integers(1, 20, (count, 2))], 1)
    return boxes.astype(dtype), np.sort(draw.integers(0, classes, count))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("threshold", (0.0, 0.3, 0.5))
@pytest.mark.parametrize("count", (1, 63, 64, 65, 300))
def test_boxes_that_stay(count, threshold, dtype):
    boxes, groups = crowd(count, dtype)
    for members in (groups, np.zeros_like(groups)):
        given = on_device(boxes), on_device(members)
        found = both_orders(lambda given=given: cuda_suppression.suppressed(*given, threshold))
        expected = suppression.suppressed_reference(boxes, members, threshold)
        np.testing.assert_array_equal(found, expected)
        assert count < 300 or 0 < found.sum() < count


def test_bands(monkeypatch):
    """Boxes of a band remove those of later ones."""
    monkeypatch.setattr(cuda_suppression, "BAND", 1)
    monkeypatch.setattr(cuda_suppression, "MOST_WORDS", 2)
    boxes, groups = crowd(500, FLOAT32, 2)
    found = both_orders(
        lambda: cuda_suppression.suppressed(on_device(boxes), on_device(groups), 0.4)
    )
    np.testing.assert_array_equal(found, suppression.suppressed_reference(boxes, groups, 0.4))


def test_ratios_that_are_not_numbers_remove_nothing():
    boxes = np.array([[0, 0, 2, 2], [np.nan, 0, 2, 2], [-np.inf, 0, np.inf, 1], [0, 0, 2, 1.9]])
    groups = np.zeros(4, np.int64)
    found = both_orders(
        lambda: cuda_suppression.suppressed(on_device(boxes), on_device(groups), 0.5)
    )
    np.testing.assert_array_equal(found, suppression.suppressed_reference(boxes, groups, 0.5))
    assert found.tolist() == [True, True, True, False]


def test_tensors_stay_on_the_device():
    boxes, groups = crowd(200, FLOAT32)
    given = rushlight.as_tensor(boxes), rushlight.as_tensor(groups).int()
    expected = rushlight.signal.non_maximum_suppression(given[0], 0.3, given[1])
    on_gpu = [each.cuda() for each in given]
    found = rushlight.signal.non_maximum_suppression(on_gpu[0], 0.3, on_gpu[1])
    assert found.is_cuda and found.tolist() == expected.tolist() and not found.all()
    assert rushlight.signal.non_maximum_suppression(on_gpu[0][:0], 0.3).shape == (0,)
