"""Suppression of detections that are not the best nearby."""

import numpy as np
import pytest

import rushlight as rl

suppression = rl.signal.non_maximum_suppression


def staying(boxes, groups, threshold):
    """By the definition, pair by pair, in whole numbers."""
    found = []
    for i, (box, group) in enumerate(zip(boxes, groups, strict=True)):
        better = [j for j in range(i) if found[j] and groups[j] == group]
        found.append(not any(_over(boxes[j], box, threshold) for j in better))
    return found


def _over(a, b, threshold):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    inter = max(width, 0) * max(height, 0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inter
    return inter > threshold * union


def crowd(count, seed=0):
    draw = np.random.default_rng(seed)
    corners = draw.integers(0, 30, (count, 2))
    boxes = np.concatenate([corners, corners + draw.integers(1, 20, (count, 2))], 1)
    return boxes.tolist(), np.sort(draw.integers(0, 4, count)).tolist()


@pytest.mark.parametrize("dtype", [rl.float16, rl.bfloat16, rl.float32, rl.float64])
@pytest.mark.parametrize("threshold", [0.0, 0.25, 0.5])
def test_boxes_that_stay_overlap_no_better_one(threshold, dtype):
    boxes, groups = crowd(150)
    found = suppression(rl.tensor(boxes, dtype=dtype), threshold, rl.tensor(groups))
    assert found.dtype == rl.bool
    assert found.tolist() == staying(boxes, groups, threshold)
    alone = suppression(rl.tensor(boxes, dtype=dtype), threshold)
    assert alone.tolist() == staying(boxes, [0] * 150, threshold)


def test_groups_of_other_whole_numbers():
    boxes, groups = crowd(60, 1)
    expected = staying(boxes, groups, 0.3)
    for dtype in (rl.uint8, rl.int32):
        given = rl.tensor(groups, dtype=dtype)
        assert suppression(rl.tensor(boxes).float(), 0.3, given).tolist() == expected


def test_nothing_is_recorded():
    boxes = rl.tensor([[0.0, 0.0, 2.0, 2.0]] * 2, requires_grad=True)
    found = suppression(boxes, 0.5)
    assert found.tolist() == [True, False] and not found.requires_grad


def test_shapes_without_values():
    found = suppression(rl.empty(7, 4, device="meta"), 0.5)
    assert found.shape == (7,) and found.dtype == rl.bool and found.is_meta


def test_each_example_of_a_batch():
    boxes = rl.tensor([crowd(20, seed)[0] for seed in range(3)]).float()
    groups = rl.zeros(20, dtype=int)
    found = rl.stack([suppression(each, 0.2, groups) for each in boxes])
    with pytest.warns(UserWarning, match="_suppressed"):
        batched = rl.func.vmap(lambda each: suppression(each, 0.2, groups))(boxes)
    assert rl.equal(batched, found) and not found.all()


@pytest.mark.parametrize(
    ("boxes", "groups", "error", "words"),
    [
        (rl.zeros(3, 5), None, ValueError, r"boxes.*\(N, 4\).*\(3, 5\)"),
        (rl.zeros(4), None, ValueError, r"boxes.*\(N, 4\).*\(4,\)"),
        (rl.zeros(3, 4).long(), None, TypeError, "boxes.*floating.*int64"),
        (rl.zeros(3, 4), rl.zeros(3), TypeError, "groups.*whole numbers.*float32"),
        (rl.zeros(3, 4), rl.zeros(2).long(), ValueError, r"groups.*\(3,\).*\(2,\)"),
    ],
)
def test_errors_name_the_argument(boxes, groups, error, words):
    with pytest.raises(error, match=words):
        suppression(boxes, 0.5, groups)
