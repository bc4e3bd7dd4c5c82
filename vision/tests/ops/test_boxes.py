"""Boxes: shapes of batches, layouts, errors that name what was wrong."""

from __future__ import annotations

import pytest

import rushlight as rl
from rushlight_vision import ops

BOXES = rl.tensor([[1.0, 2.0, 4.0, 8.0], [0.0, 0.0, 3.0, 3.0], [2.0, 2.0, 9.0, 5.0]])
UPRIGHT, TURNED = ("xyxy", "xywh", "cxcywh"), ("xywhr", "cxcywhr", "xyxyxyxy")


@pytest.mark.parametrize("formats", [UPRIGHT, TURNED], ids=["upright", "turned"])
def test_formats_there_and_back(formats):
    start = BOXES if formats is UPRIGHT else rl.tensor([[3.0, 4.0, 5.0, 2.0, 30.0]])
    for target in formats:
        there = ops.box_convert(start, formats[0], target)
        back = ops.box_convert(there, target, formats[0])
        rl.testing.assert_close(back, start)
        for further in formats:
            expected = ops.box_convert(start, formats[0], further)
            rl.testing.assert_close(ops.box_convert(there, target, further), expected)


def test_conversion_to_the_same_format_is_new_memory():
    found = ops.box_convert(BOXES, "xyxy", "xyxy")
    assert rl.equal(found, BOXES)
    assert found.data_ptr() != BOXES.data_ptr()


@pytest.mark.parametrize("fmt", UPRIGHT)
def test_overlaps_are_the_same_in_every_format(fmt):
    converted = ops.box_convert(BOXES, "xyxy", fmt)
    rl.testing.assert_close(ops.box_area(converted, fmt), ops.box_area(BOXES))
    rl.testing.assert_close(ops.box_iou(converted, converted, fmt), ops.box_iou(BOXES, BOXES))


@pytest.mark.parametrize(
    "overlap",
    [ops.box_iou, ops.generalized_box_iou, ops.distance_box_iou, ops.complete_box_iou],
)
def test_overlaps_of_batches(overlap):
    batch, other = rl.stack((BOXES, BOXES + 1)), rl.stack((BOXES[:2], BOXES[1:]))
    found = overlap(batch, other)
    assert found.shape == (2, 3, 2)
    for one, a, b in zip(found, batch, other, strict=True):
        rl.testing.assert_close(one, overlap(a, b))
    assert overlap(BOXES, BOXES[:0]).shape == (3, 0)


def test_clipping_keeps_batches_and_the_gradient_of_what_is_inside():
    boxes = rl.stack((BOXES, BOXES - 2)).requires_grad_()
    found = ops.clip_boxes_to_image(boxes, (6, 5))
    assert found.shape == boxes.shape
    assert float(found.detach().min()) == 0 and float(found[..., 1::2].detach().max()) == 6
    found.sum().backward()
    inside = (found == boxes).detach()
    assert rl.equal(boxes.grad, inside.float())


def test_a_mask_without_pixels_is_named():
    masks = rl.zeros(3, 4, 5)
    masks[1, 2, 3] = 1
    with pytest.raises(RuntimeError, match=r"\[0, 2\]"):
        ops.masks_to_boxes(masks)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ops.box_convert(BOXES, "xyxy", "xyx"), ValueError, "out_fmt='xyx'"),
        (lambda: ops.box_convert(BOXES, "xyxy", "xywhr"), NotImplementedError, "xyxy to xywhr"),
        (lambda: ops.box_area(BOXES, "xywhr"), ValueError, "fmt must be one of xyxy.*'xywhr'"),
        (lambda: ops.box_iou(BOXES, BOXES, "a"), ValueError, "box_iou: fmt.*'a'"),
        (lambda: ops.sigmoid_focal_loss(BOXES, BOXES, 1.5), ValueError, "alpha.*1.5"),
        (lambda: ops.complete_box_iou_loss(BOXES, BOXES, "all"), ValueError, "reduction.*'all'"),
        (lambda: ops.roi_align(BOXES, BOXES, 2), AssertionError, r"\(K, 5\).*\(3, 4\)"),
        (lambda: ops.roi_align(BOXES, [BOXES[0]], 2), AssertionError, r"boxes\[0\].*\(4,\)"),
        (lambda: ops.roi_align(BOXES, None, 2), AssertionError, "got NoneType"),
    ],
)
def test_errors_name_the_argument(call, error, words):
    with pytest.raises(error, match=words):
        call()
