"""Operators under `vmap` give what they give one by one."""

from __future__ import annotations

import pytest

import rushlight as rl
from rushlight.func import vmap
from rushlight_vision import ops

# Bags of pixels have no batching rule: core runs them example by example, and says so once.
pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop")
BATCH = 3


def boxes(*shape):
    start = rl.rand(*shape, 2) * 10
    return rl.cat((start, start + 1 + rl.rand(*shape, 2) * 5), -1)


def regions():
    """Of two images, the same for all examples."""
    numbers = rl.tensor([[0.0], [1.0], [1.0]])
    return rl.cat((numbers, boxes(3)), 1)


def images(channels):
    return (rl.randn(BATCH, 2, channels, 16, 16),)


def cases():
    """By name a function, and what makes its batched arguments."""
    rois = regions()
    offset, mask = rl.randn(2, 18, 16, 16), rl.rand(2, 9, 16, 16)
    weight = rl.randn(5, 4, 3, 3)
    pairs = boxes(BATCH, 4), boxes(BATCH, 3)
    same = boxes(BATCH, 5), boxes(BATCH, 5)
    chances = rl.randn(BATCH, 5), rl.rand(BATCH, 5)
    return {
        "roi_align": (lambda x: ops.roi_align(x, rois, 2, 1.0, 2, True), images(4)),
        "roi_align, adaptive": (lambda x: ops.roi_align(x, rois, 2), images(4)),
        "roi_pool": (lambda x: ops.roi_pool(x, rois, 2), images(4)),
        "ps_roi_align": (lambda x: ops.ps_roi_align(x, rois, 2, 1.0, 2), images(8)),
        "ps_roi_pool": (lambda x: ops.ps_roi_pool(x, rois, 2), images(8)),
        "deform_conv2d": (
            lambda x: ops.deform_conv2d(x, offset, weight, padding=1, mask=mask),
            images(4),
        ),
        "deform_conv2d, all batched": (
            lambda x, o, w, m: ops.deform_conv2d(x, o, w, padding=1, mask=m),
            (*images(4), rl.randn(BATCH, *offset.shape), rl.randn(BATCH, *weight.shape),
             rl.rand(BATCH, *mask.shape)),
        ),
        "box_iou": (ops.box_iou, pairs),
        "generalized_box_iou": (ops.generalized_box_iou, pairs),
        "distance_box_iou": (ops.distance_box_iou, pairs),
        "complete_box_iou": (ops.complete_box_iou, pairs),
        "box_area": (ops.box_area, pairs[:1]),
        "clip_boxes_to_image": (lambda b: ops.clip_boxes_to_image(b, (8, 9)), pairs[:1]),
        "box_convert": (lambda b: ops.box_convert(b, "xyxy", "cxcywh"), pairs[:1]),
        "sigmoid_focal_loss": (
            lambda x, y: ops.sigmoid_focal_loss(x, y, reduction="mean"), chances
        ),
        "generalized_box_iou_loss": (ops.generalized_box_iou_loss, same),
        "distance_box_iou_loss": (ops.distance_box_iou_loss, same),
        "complete_box_iou_loss": (ops.complete_box_iou_loss, same),
    }  # fmt: skip


rl.manual_seed(0)
CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_batches_are_their_examples(name):
    call, arguments = CASES[name]
    expected = rl.stack([call(*each) for each in zip(*arguments, strict=True)])
    rl.testing.assert_close(vmap(call)(*arguments), expected)


def test_batched_regions_are_refused():
    rois = rl.stack([regions() for _ in range(BATCH)])
    with pytest.raises(RuntimeError, match="vmap"):
        vmap(lambda x, r: ops.roi_align(x, r, 2))(*images(4), rois)
