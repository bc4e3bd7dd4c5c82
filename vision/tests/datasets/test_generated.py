"""GeneratedShapes: the same pictures everywhere, with boxes and masks that agree."""

from __future__ import annotations

import pickle

import pytest

import rushlight as rl
from rushlight_vision import ops, tv_tensors
from rushlight_vision.datasets import GeneratedShapes


def test_pictures_follow_from_their_index():
    first, second = GeneratedShapes(count=5), pickle.loads(pickle.dumps(GeneratedShapes(count=9)))
    for index in range(5):
        assert rl.equal(first[index][0], second[index][0]) and first[index][1] == second[index][1]
    other = [GeneratedShapes("val"), GeneratedShapes(seed=1)]
    assert not any(rl.equal(first[0][0], data[0][0]) for data in other)
    assert rl.equal(first[-1][0], first[4][0])
    with pytest.raises(IndexError, match="index 5: there are 5 pictures"):
        first[5]


def test_boxes_and_masks_agree():
    boxed, masked = GeneratedShapes(task="detection"), GeneratedShapes(task="segmentation")
    for index in range(20):
        (image, target), (same, mask) = boxed[index], masked[index]
        assert rl.equal(image, same) and isinstance(mask, tv_tensors.Mask)
        assert isinstance(image, tv_tensors.Image) and image.dtype == rl.uint8
        for label, box in zip(target["labels"].tolist(), target["boxes"].tolist(), strict=True):
            x0, y0, x1, y1 = (int(side) for side in box)
            inside = mask[y0:y1, x0:x1] == label
            assert inside.any(0)[[0, -1]].all() and inside.any(1)[[0, -1]].all()
        assert set(mask.unique().tolist()) - {0} == set(target["labels"].tolist())
        assert float(ops.box_iou(target["boxes"], target["boxes"]).triu(1).max()) < 0.5


def test_classes_are_all_there():
    data = GeneratedShapes()
    assert {data[index][1] for index in range(60)} == set(range(len(data.classes)))
    assert GeneratedShapes(task="detection").classes[0] == "__background__"
    assert "Task: classification" in repr(data)


@pytest.mark.parametrize(
    "wrong", [{"split": "x"}, {"task": "x"}, {"count": 0}, {"size": 8}], ids=str
)
def test_refusals(wrong):
    with pytest.raises(ValueError, match=f"GeneratedShapes: .*{next(iter(wrong))}"):
        GeneratedShapes(**wrong)
