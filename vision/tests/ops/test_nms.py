"""Suppression against the definition."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl
from rushlight_vision import ops


def overlap(box, others):
    """Intersection over union in the order of operations of the definition."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    inter = np.prod(np.maximum(sides, box.dtype.type(0)), axis=1, dtype=box.dtype)
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1, dtype=box.dtype)
    return inter / (np.prod(box[2:] - box[:2], dtype=box.dtype) + areas - inter)


def greedy(boxes, scores, threshold, classes=None):
    """Non-maximum suppression as it is defined, one box after the other."""
    order = np.argsort(-scores, kind="stable")
    alive, kept = np.ones(len(boxes), bool), []
    for place, best in enumerate(order):
        if alive[place]:
            kept.append(best)
            later = order[place + 1 :]
            near = overlap(boxes[best], boxes[later]).astype(np.float64) > threshold
            alive[place + 1 :] &= ~(near & (classes is None or classes[later] == classes[best]))
    return np.array(kept, np.int64)


def crowd(count, seed, dtype=np.float32, size=60.0):
    source = np.random.default_rng(seed)
    corners = source.uniform(0, size, (count, 2))
    sides = source.uniform(1, 25, (count, 2))
    boxes = np.concatenate([corners, corners + sides], 1).astype(dtype)
    return boxes, np.round(source.random(count), 2).astype(dtype), source.integers(0, 6, count)


@pytest.mark.parametrize("count", [1, 2, 255, 511, 512, 513, 1700])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nms_is_the_definition(count, threshold, dtype):
    boxes, scores, _ = crowd(count, count, dtype)
    found = ops.nms(rl.tensor(boxes), rl.tensor(scores), threshold)
    assert found.dtype == rl.int64
    np.testing.assert_array_equal(found.numpy(), greedy(boxes, scores, threshold))


@pytest.mark.parametrize("count", [1001, 2300])
@pytest.mark.parametrize("threshold", [0.3, 0.6])
def test_batched_nms_beyond_the_limit_compares_classes(count, threshold):
    boxes, scores, classes = crowd(count, count)
    found = ops.batched_nms(rl.tensor(boxes), rl.tensor(scores), rl.tensor(classes), threshold)
    np.testing.assert_array_equal(found.numpy(), greedy(boxes, scores, threshold, classes))


def test_classes_of_other_dtypes():
    boxes, scores, classes = crowd(1500, 4)
    expected = greedy(boxes, scores, 0.4, classes)
    for given in (rl.tensor(classes) / 2, rl.tensor(classes).to(rl.uint8)):
        found = ops.batched_nms(rl.tensor(boxes), rl.tensor(scores), given, 0.4)
        np.testing.assert_array_equal(found.numpy(), expected)


def test_a_chain_in_which_each_box_overlaps_the_next():
    start = rl.arange(300.0)
    boxes = rl.stack((start, rl.zeros(300), start + 3, rl.ones(300)), 1)
    found = ops.nms(boxes, rl.arange(300.0, 0.0, -1.0), 0.45)
    assert found.tolist() == list(range(0, 300, 2))


def test_boxes_without_area_stay():
    boxes = rl.tensor([[1.0, 1.0, 1.0, 1.0]] * 3)
    assert ops.nms(boxes, rl.tensor([0.1, 0.3, 0.2]), 0.5).tolist() == [1, 2, 0]


@pytest.mark.parametrize("dtype", [rl.float16, rl.bfloat16])
def test_half_precision(dtype):
    boxes = rl.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.5], [5.0, 5.0, 6.0, 6.0]]).to(dtype)
    scores = rl.tensor([0.5, 0.9, 0.7]).to(dtype)
    assert ops.nms(boxes, scores, 0.5).tolist() == [1, 2]


def test_nms_records_nothing():
    boxes = rl.tensor([[0.0, 0.0, 2.0, 2.0]], requires_grad=True)
    scores = rl.tensor([0.5], requires_grad=True)
    assert not ops.nms(boxes, scores, 0.5).requires_grad


@pytest.mark.parametrize(
    ("boxes", "scores", "words"),
    [
        (rl.zeros(3, 5), rl.zeros(3), r"boxes.*\(N, 4\).*\(3, 5\)"),
        (rl.zeros(3, 4), rl.zeros(2), r"scores.*\(3,\).*\(2,\)"),
        (rl.zeros(3, 4), rl.zeros(3).double(), "same floating dtype.*float32.*float64"),
        (rl.zeros(3, 4).long(), rl.zeros(3).long(), "floating"),
    ],
)
def test_errors_name_the_argument(boxes, scores, words):
    with pytest.raises(RuntimeError, match=words):
        ops.nms(boxes, scores, 0.5)


def test_classes_of_another_shape():
    with pytest.raises(RuntimeError, match=r"idxs.*\(3,\).*\(2,\)"):
        ops.batched_nms(rl.zeros(3, 4), rl.zeros(3), rl.zeros(2).long(), 0.5)
