"""Data sets wrapped for transforms.v2, and COCO's masks."""

from __future__ import annotations

import pickle

import fakes_lists  # noqa: F401 - registers fakes
import fakes_targets
import numpy as np
import pytest
from faking import FAKES

import rushlight as rl
from rushlight_vision import datasets, tv_tensors
from rushlight_vision.datasets import integrity, wrap_dataset_for_transforms_v2
from rushlight_vision.datasets._coco_masks import mask_of, unpack_counts
from rushlight_vision.transforms import v2

# Height, width, a polygon, and the run lengths pycocotools 2.0 makes of it.
POLYGONS = [
    (21, 24, [12.4, 6.0, -0.5, 8.7, 9.4, -0.7], "81c0001O1O1O001O1O1002M3Nh7"),
    (25, 4, [27.0, 16.9, 4.8, 10.6, 26.3, 24.0], "T3"),
    (24, 25, [12.3, 17.6, -0.2, 14.1, 5.9, 23.5], ">1h00O2N2N101N00O2N1O1O1OX9"),
    (14, 8, [10.2, 13.7, 2.1, 14.1, 13.7, -1.7], "f12;1O1N2O1"),
    (
        24,
        22,
        [12.1, 10.2, 3.7, 7.1, 20.6, 6.9, 2.2, 17.6, 10.6, 20.4, 4.6, 7.0],
        "Q21g00O1HOI251H082EO;2FM92JL60F1a02100O1O100O100O10Y1",
    ),
    (4, 7, [3.6, 3.6, 0.6, -1.8, 8.3, -1.1, 7.3, 2.0, 8.5, 2.4, 8.3, 4.1], "8221O9"),
    (21, 10, [14.9, 15.1, 9.6, 3.5, 14.0, 0.7, 15.3, 13.9], "b6"),
    (23, 28, [23.6, 4.2, 10.5, 23.5, 10.2, 20.8, 17.6, 28.1], "k72\\10WO2O1N2O1N2O1N01M2N3M2Nl2"),
    (
        21,
        29,
        [24.7, 3.0, 21.5, 26.0, 11.2, 16.3, 13.8, 29.6, 8.5, 11.3],
        "X63a05LODL8630O2O1N2O0O100O100OO2I6Jh2",
    ),
    (22, 7, [8.9, 14.4, 22.3, 22.0, 6.5, 23.7], "j4"),
]


@pytest.fixture(autouse=True)
def any_sum(monkeypatch):
    """Files need not be the published ones."""
    monkeypatch.setattr(integrity, "check_integrity", lambda path, md5=None: True)


@pytest.mark.parametrize("case", POLYGONS, ids=range(len(POLYGONS)))
def test_polygons_cover_the_pixels_that_pycocotools_says(case):
    height, width, polygon, packed = case
    expected = mask_of({"size": [height, width], "counts": packed}, height, width)
    np.testing.assert_array_equal(mask_of([polygon], height, width), expected)
    counts = unpack_counts(packed.encode())
    assert sum(counts) == height * width
    again = mask_of({"size": [height, width], "counts": counts}, height, width)
    np.testing.assert_array_equal(again, expected)


def test_masks_that_are_none_are_refused():
    with pytest.raises(ValueError, match="segmentation must be a list of polygons or a dict"):
        mask_of("polygon", 4, 4)
    with pytest.raises(ValueError, match="counts add up to 3 pixels, expected 2 x 2"):
        mask_of({"size": [2, 2], "counts": [1, 2]}, 2, 2)
    with pytest.raises(ValueError, match="counts end inside a number"):
        unpack_counts(chr(48 + 32))


def test_coco_is_wrapped(tmp_path):
    (case,) = FAKES["CocoDetection"](tmp_path)
    plain = datasets.CocoDetection(str(tmp_path), **case.arguments)
    usual = wrap_dataset_for_transforms_v2(plain)
    assert isinstance(usual, datasets.CocoDetection) and len(usual) == 3
    _, target = usual[0]
    assert sorted(target) == ["boxes", "image_id", "labels"] and target["image_id"] == 10
    assert isinstance(target["boxes"], tv_tensors.BoundingBoxes)
    assert target["boxes"].tolist() == [[1, 1, 4, 3], [2, 2, 4, 4]]
    assert target["boxes"].canvas_size == (5, 7) and target["labels"].tolist() == [2, 1]
    assert usual[1][1] == {"image_id": 20}
    whole = wrap_dataset_for_transforms_v2(plain, "all")
    masks = whole[2][1]["masks"]
    assert isinstance(masks, tv_tensors.Mask) and masks.shape == (1, 5, 7)
    assert masks.sum() == 20 and whole[2][1]["iscrowd"] == [1]


def test_transforms_change_wrapped_items_in_workers_too(tmp_path):
    cases = FAKES["VOCDetection"](tmp_path)
    turn = v2.Compose([v2.ToImage(), v2.RandomHorizontalFlip(p=1.0)])
    plain = datasets.VOCDetection(str(tmp_path), transforms=turn)
    wrapped = wrap_dataset_for_transforms_v2(plain, ("boxes", "annotation"))
    for dataset in (wrapped, pickle.loads(pickle.dumps(wrapped))):
        image, target = dataset[1]
        assert isinstance(image, tv_tensors.Image)
        assert target["boxes"].tolist() == [[2, 1, 7, 4]] and "labels" not in target
        assert target["annotation"]["filename"] == "2007_000001.jpg"
    np.testing.assert_array_equal(
        wrapped[1][0].numpy(), cases[0].items[1][0].transpose(2, 0, 1)[:, :, ::-1]
    )
    assert wrapped[0][1]["boxes"].shape == (0, 4)


def test_instances_of_cityscapes_become_masks(tmp_path):
    case = FAKES["Cityscapes"](tmp_path)[0]
    plain = datasets.Cityscapes(str(tmp_path), **case.arguments)
    _, target = wrap_dataset_for_transforms_v2(plain)[0]
    values = case.items[0][1].astype(int)
    numbers = np.unique(values)
    assert target["masks"].shape == (len(numbers), 1, 5, 7) and target["masks"].dtype is rl.bool
    np.testing.assert_array_equal(target["masks"][:, 0].numpy(), values == numbers[:, None, None])
    assert target["labels"].tolist() == [n // 1000 if n >= 1000 else n for n in numbers]


def test_what_cannot_be_wrapped_is_refused(tmp_path):
    with pytest.raises(TypeError, match="dataset must be a VisionDataset, got list"):
        wrap_dataset_for_transforms_v2([])
    FAKES["Food101"](tmp_path)
    food = datasets.Food101(str(tmp_path))
    with pytest.raises(TypeError, match="Food101 is not wrapped"):
        wrap_dataset_for_transforms_v2(food)
    path, _ = fakes_targets.coco_file(tmp_path)
    coco = datasets.CocoDetection(str(tmp_path), str(path))
    with pytest.raises(ValueError, match=r"target_keys: \['colour'\] are not among"):
        wrap_dataset_for_transforms_v2(coco, ["colour"])
    for keys in ("boxes", 3, [1]):
        with pytest.raises(ValueError, match="target_keys must be None"):
            wrap_dataset_for_transforms_v2(coco, keys)
    noise = datasets.FakeData(2)
    with pytest.raises(TypeError, match="FakeData is not wrapped"):
        wrap_dataset_for_transforms_v2(noise, "all")
