"""Containers, samples and errors of transforms.v2."""

from __future__ import annotations

from collections import namedtuple

import inputs
import pytest
from PIL import Image

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import v2

LIBRARY = inputs.library("rushlight_vision")
flip = v2.RandomHorizontalFlip(p=1.0)


def test_only_the_first_plain_tensor_is_an_image():
    first, second = rl.rand(3, 4, 5), rl.rand(3, 4, 5)
    result = flip((first, second))
    assert rl.equal(result[0], first.flip(-1)) and result[1] is second
    image = tv_tensors.Image(second)
    result = flip({"a": first, "b": [image]})
    assert result["a"] is first and rl.equal(result["b"][0], image.flip(-1))


def test_structures_are_kept():
    Pair = namedtuple("Pair", "image label")
    result = flip(Pair(rl.rand(3, 4, 5), 3))
    assert type(result) is Pair and result.label == 3
    one, two = flip(rl.rand(3, 4, 5), "text")
    assert one.shape == (3, 4, 5) and two == "text"


def test_containers():
    image = rl.rand(3, 8, 9)
    both = v2.Compose([flip, v2.CenterCrop(4)])
    assert rl.equal(both(image), v2.CenterCrop(4)(flip(image)))
    assert "RandomHorizontalFlip" in repr(both)
    result, label = both(image, 5)
    assert result.shape == (3, 4, 4) and label == 5
    assert v2.RandomApply([flip], p=0.0)(image) is image
    assert rl.equal(v2.RandomApply([flip], p=1.0)(image), flip(image))
    rl.manual_seed(0)
    chosen = {tuple(v2.RandomChoice([flip, v2.CenterCrop(4)])(image).shape) for _ in range(20)}
    assert chosen == {(3, 8, 9), (3, 4, 4)}
    rl.manual_seed(1)
    order = rl.randperm(2).tolist()
    rl.manual_seed(1)
    seen = []
    v2.RandomOrder([lambda x: seen.append(0) or x, lambda x: seen.append(1) or x])(image)
    assert seen == order


def test_own_transform():
    class Scaled(v2.Transform):
        def make_params(self, flat_inputs):
            return {"factor": float(rl.empty(1).uniform_(1, 2)), "size": v2.query_size(flat_inputs)}

        def transform(self, inpt, params):
            return inpt * params["factor"]

    rl.manual_seed(0)
    factor = float(rl.empty(1).uniform_(1, 2))
    rl.manual_seed(0)
    result = Scaled()({"image": rl.ones(3, 4, 5), "label": 1})
    assert rl.allclose(result["image"], rl.full((3, 4, 5), factor)) and result["label"] == 1
    with pytest.raises(NotImplementedError, match="Transform: subclasses give `transform`"):
        v2.Transform()(rl.ones(3, 4, 4))


def test_lambda_and_types():
    sample = inputs.sample(LIBRARY)
    result = v2.Lambda(lambda x: x.shape[0], tv_tensors.BoundingBoxes)(sample)
    assert result["target"]["boxes"] == 4 and result["text"] == "kept"
    assert v2.Lambda(str)((1, 2)) == ("1", "2")
    kinds = {tv_tensors.Image: rl.float32, tv_tensors.Mask: rl.int64, "others": None}
    result = v2.ToDtype(kinds, scale=True)(sample)
    assert result["image"].dtype is rl.float32 and result["image"].max() <= 1
    assert result["target"]["masks"].dtype is rl.int64
    assert result["target"]["boxes"].dtype is rl.float32
    with pytest.raises(ValueError, match="ToDtype: no dtype for BoundingBoxes"):
        v2.ToDtype({tv_tensors.Image: rl.float32})(sample["target"]["boxes"])


def test_queries():
    sample = inputs.sample(LIBRARY)
    flat = [sample["image"], sample["target"]["boxes"], sample["target"]["points"], "text"]
    assert v2.query_size(flat) == (17, 23) and v2.query_chw(flat) == (3, 17, 23)
    assert v2.get_bounding_boxes(flat) is flat[1] and v2.get_keypoints(flat) is flat[2]
    assert v2.has_any(flat, tv_tensors.Mask, str) and not v2.has_any(flat, tv_tensors.Mask)
    assert v2.has_all(flat, str, tv_tensors.Image) and not v2.has_all(flat, str, tv_tensors.Mask)
    assert v2.check_type(3, (str, lambda x: x == 3)) and not v2.check_type(4, (str,))
    with pytest.raises(ValueError, match="different sizes"):
        v2.query_size([rl.zeros(3, 4, 4), tv_tensors.Mask(rl.zeros(5, 5))])
    with pytest.raises(TypeError, match="no image"):
        v2.query_size(["text"])
    with pytest.raises(ValueError, match="no bounding boxes"):
        v2.get_bounding_boxes(["text"])


BATCH = (rl.rand(4, 3, 8, 8), rl.tensor([0, 1, 2, 0]))
BOXES = tv_tensors.BoundingBoxes([[1, 1, 3, 3]], format="XYXY", canvas_size=(8, 8))
ERRORS = [
    (lambda: v2.MixUp()(BATCH), ValueError, "num_classes must be given"),
    (
        lambda: v2.CutMix(num_classes=3)({"a": BATCH[0], "labels": 1}),
        ValueError,
        "must be a tensor",
    ),
    (lambda: v2.MixUp(num_classes=3)((BATCH[0], BATCH[1], BOXES)), ValueError, "not supported"),
    (lambda: v2.MixUp(num_classes=3)((BATCH[0][:2], BATCH[1])), ValueError, "2 images, 4 labels"),
    (lambda: v2.AutoAugment()((BATCH[0], BOXES)), TypeError, "AutoAugment: boxes"),
    (lambda: v2.Normalize([0.5], [0.5])(Image.new("L", (3, 3))), TypeError, "PIL images"),
    (lambda: v2.RandomIoUCrop()(BATCH[0]), TypeError, "needs an image or video and bounding"),
    (lambda: v2.RandomCrop(9)(rl.zeros(3, 8, 8)), ValueError, "larger than the padded image"),
    (lambda: v2.SanitizeBoundingBoxes()(BOXES), ValueError, "no labels"),
    (lambda: v2.SanitizeBoundingBoxes(min_size=0), ValueError, "at least 1"),
    (lambda: v2.Compose([]), ValueError, "at least one"),
    (lambda: v2.RandomApply([flip], p=2), ValueError, "expected 0 to 1"),
    (lambda: v2.RandomHorizontalFlip(p=-1), ValueError, "expected 0 to 1"),
    (lambda: v2.Resize(None), ValueError, "max_size"),
    (lambda: v2.JPEG(0), ValueError, "quality"),
    (lambda: v2.GaussianBlur(4), ValueError, "odd positive"),
    (lambda: v2.RandomRotation(-1), ValueError, "must not be negative"),
    (lambda: v2.RandomZoomOut(side_range=(0.5, 2)), ValueError, "side_range"),
    (lambda: v2.Pad(1, fill="red"), TypeError, "fill 'red'"),
    (lambda: v2.SetClampingMode("firm"), ValueError, "clamping_mode"),
    (lambda: v2.ToDtype("float32"), ValueError, "dtype must be"),
]


@pytest.mark.parametrize(("call", "error", "words"), ERRORS)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_sanitize_takes_labels_and_masks_out():
    boxes = rl.tensor([[1.0, 1, 5, 5], [2, 2, 2, 6], [0, 0, 9, 9]])
    sample = {
        "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(8, 8)),
        "labels": rl.tensor([1, 2, 3]),
        "masks": tv_tensors.Mask(rl.rand(3, 8, 8)),
        "other": rl.rand(3),
    }
    result = v2.SanitizeBoundingBoxes()(sample)
    assert result["labels"].tolist() == [1] and result["masks"].shape == (1, 8, 8)
    assert result["boxes"].tolist() == [[1, 1, 5, 5]] and result["other"] is sample["other"]
    both = v2.SanitizeBoundingBoxes(labels_getter=lambda s: (s["labels"], s["other"]))(sample)
    assert both["other"].shape == (1,)
    assert v2.SanitizeBoundingBoxes(labels_getter=None)(sample)["labels"].shape == (3,)


def test_an_image_alone_goes_through_all_steps_of_a_transform():
    seen = []

    class Shifted(v2.Transform):
        def check_inputs(self, flat_inputs):
            seen.append(("checked", len(flat_inputs)))

        def make_params(self, flat_inputs):
            return {"by": flat_inputs[0].shape[-1]}

        def transform(self, inpt, params):
            return inpt + params["by"]

    image = rl.zeros(3, 2, 5)
    assert rl.equal(Shifted()(image), rl.full((3, 2, 5), 5.0))
    assert rl.equal(Shifted()((image, "label"))[0], rl.full((3, 2, 5), 5.0))
    assert seen == [("checked", 1), ("checked", 2)]


def test_an_image_alone_stays_where_a_transform_takes_other_types():
    class OfVideos(v2.Transform):
        _transformed_types = (tv_tensors.Video,)

        def transform(self, inpt, params):
            return inpt + 1

    class OfNothing(v2.Transform):
        def _needs_transform_list(self, flat_inputs):
            return [False] * len(flat_inputs)

        def transform(self, inpt, params):
            return inpt + 1

    image = rl.zeros(3, 2, 5)
    assert OfVideos()(image) is image and OfNothing()(image) is image
