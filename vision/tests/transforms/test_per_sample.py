"""`per_sample=True`: a batch gives what its samples give one after the other, from one seed."""

from __future__ import annotations

import inspect

import inputs
import pytest
from PIL import Image

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import v2
from rushlight_vision.transforms.v2._transform import RandomApplyTransform

KINDS = inputs.inputs(inputs.library("rushlight_vision"))
BILINEAR = v2.InterpolationMode.BILINEAR
COUNT = 6
CASES = [
    ("RandomHorizontalFlip", {}), ("RandomVerticalFlip", {"p": 0.3}), ("RandomInvert", {}),
    ("RandomEqualize", {}), ("RandomAutocontrast", {}), ("RandomPosterize", {"bits": 3}),
    ("RandomSolarize", {"threshold": 0.5}), ("RandomAdjustSharpness", {"sharpness_factor": 2.0}),
    ("RandomGrayscale", {"p": 0.5}), ("RandomChannelPermutation", {}),
    ("RandomCrop", {"size": (9, 11)}),
    ("RandomCrop", {"size": 20, "padding": 3, "padding_mode": "edge", "pad_if_needed": True}),
    ("RandomResizedCrop", {"size": (9, 8)}), ("RandomRotation", {"degrees": 40, "fill": 3}),
    ("RandomRotation", {"degrees": (10, 80), "center": [3, 4], "interpolation": BILINEAR}),
    ("RandomAffine", {"degrees": 30, "translate": (0.1, 0.2), "scale": (0.7, 1.2), "shear": 10}),
    ("RandomAffine", {"degrees": 5, "interpolation": BILINEAR, "center": [2, 9], "fill": 0.5}),
    ("RandomPerspective", {}), ("RandomPerspective", {"p": 1.0, "fill": {"others": 1}}),
    ("ColorJitter", {"brightness": 0.3, "contrast": 0.4, "saturation": 0.3, "hue": 0.2}),
    ("ColorJitter", {"contrast": (0.5, 0.9)}), ("RandomErasing", {"p": 0.7}),
    ("RandomErasing", {"p": 0.7, "value": "random"}), ("GaussianBlur", {"kernel_size": 3}),
    ("GaussianBlur", {"kernel_size": (9, 7), "sigma": (0.5, 3.0)}),
]  # fmt: skip
IDS = [f"{name} {number}" for number, (name, _) in enumerate(CASES)]
# Positions that fall between two pixels may be rounded to either, by the processor.
RESAMPLED = ("RandomRotation", "RandomAffine", "RandomPerspective")


def batches() -> dict[str, rl.Tensor]:
    """A batch of every kind."""
    generator = rl.Generator().manual_seed(0)
    levels = rl.randint(0, 256, (COUNT, 2, 3, 17, 23), dtype=rl.uint8, generator=generator)
    classes = rl.randint(0, 5, (COUNT, 17, 23), dtype=rl.uint8, generator=generator)
    return {
        "uint8": levels[:, 0],
        "float": rl.rand(COUNT, 3, 17, 23, generator=generator),
        "grey": levels[:, 0, :1],
        "Image": tv_tensors.Image(levels[:, 1]),
        "Video": tv_tensors.Video(levels),
        "Mask": tv_tensors.Mask(classes),
        "Masks": tv_tensors.Mask(levels[:, 0] > 99),
    }


def apart(first: rl.Tensor, second: rl.Tensor) -> float:
    """The share of values that differ by more than rounding."""
    assert type(first) is type(second) and first.dtype is second.dtype
    assert first.shape == second.shape
    limit = 1e-5 if first.is_floating_point() else 1 if first.dtype is rl.uint8 else 0
    one, two = (each.as_subclass(rl.Tensor).double() for each in (first, second))
    distance = (one - two).abs()
    return float((distance > limit).double().mean())


def one_by_one(transform, batch):
    """The stacked results for the samples."""
    samples = [tv_tensors.wrap(each, like=batch) for each in batch.as_subclass(rl.Tensor)]
    return tv_tensors.wrap(rl.stack([transform(each) for each in samples]), like=batch)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_as_samples_one_by_one(name, options):
    make, differ = getattr(v2, name), False
    for kind, batch in batches().items():
        if kind.startswith("Mask") and make._pixels_only:
            continue
        for seed in range(3):
            rl.manual_seed(seed)
            expected, following = one_by_one(make(**options), batch.clone()), rl.rand(1)
            rl.manual_seed(seed)
            found = make(**options, per_sample=True)(batch.clone())
            assert rl.equal(rl.rand(1), following), kind
            assert apart(found, expected) <= (0.005 if name in RESAMPLED else 0.0), (kind, seed)
            rl.manual_seed(seed)
            together = make(**options)(batch.clone())
            differ = differ or together.shape != found.shape or not rl.equal(together, found)
    assert differ, "the samples of a batch have got the same parameters"


def test_every_class_that_has_it_is_tested():
    base = v2.Transform.make_params
    having = set()
    for name in v2.__all__:
        make = getattr(v2, name)
        # Transforms without arguments have those of the base, which nothing follows from.
        sampling = inspect.isclass(make) and getattr(make, "make_params", base) is not base
        sampling = sampling or (inspect.isclass(make) and issubclass(make, RandomApplyTransform))
        if sampling and "per_sample" in inspect.signature(make).parameters:
            having.add(name)
    assert having == {name for name, _ in CASES}


@pytest.mark.parametrize("make", [v2.RandomAffine, v2.RandomRotation])
def test_images_and_their_masks_move_together(make):
    levels = batches()["Mask"]
    sample = {"image": tv_tensors.Image(levels.unsqueeze(1)), "mask": levels, "label": rl.arange(6)}
    transform = make(40, per_sample=True, generator=rl.Generator().manual_seed(2))
    result = transform(sample)
    assert type(result["mask"]) is tv_tensors.Mask and result["label"] is sample["label"]
    assert rl.equal(result["image"].squeeze(1), result["mask"])
    assert not rl.equal(result["mask"], levels)


def test_streams_of_their_own_and_printing():
    batch = batches()["float"]
    rl.manual_seed(5)
    expected = v2.RandomPerspective(per_sample=True)(batch)
    before = rl.get_rng_state()
    generator = rl.Generator().manual_seed(5)
    assert rl.equal(v2.RandomPerspective(per_sample=True, generator=generator)(batch), expected)
    assert rl.equal(rl.get_rng_state(), before)
    assert "per_sample" not in repr(v2.RandomPerspective())
    assert "per_sample=True" in repr(v2.RandomPerspective(per_sample=True))


def test_erasing_in_place_writes_into_the_batch():
    batch = batches()["float"]
    transform = v2.RandomErasing(p=0.5, inplace=True, per_sample=True)
    rl.manual_seed(0)
    expected = v2.RandomErasing(p=0.5, per_sample=True)(batch)
    rl.manual_seed(0)
    assert transform(batch) is batch and rl.equal(batch, expected)


def test_gradients_reach_every_sample():
    batch = batches()["float"].requires_grad_()
    rl.manual_seed(1)
    v2.RandomAffine(20, interpolation=BILINEAR, per_sample=True)(batch).sum().backward()
    found, batch.grad = batch.grad, None
    rl.manual_seed(1)
    transform = v2.RandomAffine(20, interpolation=BILINEAR)
    rl.stack([transform(each) for each in batch]).sum().backward()
    assert rl.allclose(found, batch.grad, atol=1e-5)


def test_own_transforms():
    class Scaled(v2.Transform):
        def make_params(self, flat_inputs):
            assert flat_inputs[0].shape == (3, 17, 23)
            return {"factor": float(rl.rand(1))}

        def transform(self, inpt, params):
            return inpt * params["factor"]

    batch = batches()["float"]
    rl.manual_seed(0)
    expected = one_by_one(Scaled(), batch)
    rl.manual_seed(0)
    assert rl.allclose(Scaled(per_sample=True)(batch), expected)


BOXES = tv_tensors.BoundingBoxes([[1, 1, 3, 3]], format="XYXY", canvas_size=(17, 23))
POINTS = tv_tensors.KeyPoints([[1, 1]], canvas_size=(17, 23))
flip = v2.RandomHorizontalFlip(per_sample=True)
jitter = v2.ColorJitter(0.5, per_sample=True)
ERRORS = [
    (lambda: flip(KINDS["batch"], BOXES), NotImplementedError, "no batches of BoundingBoxes"),
    (lambda: flip([KINDS["batch"], POINTS]), NotImplementedError, "no batches of KeyPoints"),
    (lambda: flip(Image.new("L", (3, 3))), TypeError, "takes batches as tensors, got Image"),
    (lambda: flip(KINDS["uint8"]), ValueError, r"takes batches.*shape \(3, 17, 23\)"),
    (lambda: flip(KINDS["Video"]), ValueError, r"a Video of shape \(2, 3, 17, 23\)"),
    (lambda: flip(KINDS["batch"][:0]), ValueError, "empty batch"),
    (lambda: flip("text"), ValueError, "no batch was found"),
    (
        lambda: flip(tv_tensors.Image(KINDS["batch"]), tv_tensors.Mask(rl.zeros(3, 17, 23))),
        ValueError,
        r"batches of sizes \[2, 3\]",
    ),
    (
        lambda: v2.RandomRotation(30, expand=True, per_sample=True),
        NotImplementedError,
        "use expand=False",
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), ERRORS)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_colours_leave_boxes_and_masks_alone():
    masks = tv_tensors.Mask(rl.zeros(5, 17, 23))
    image, *others = jitter(tv_tensors.Image(KINDS["batch"]), BOXES, masks, POINTS)
    assert all(one is two for one, two in zip(others, (BOXES, masks, POINTS), strict=True))
    assert not rl.equal(image, KINDS["batch"])
