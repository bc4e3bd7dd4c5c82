"""Transforms of clips under the paths of older programs: positions and values as torchvision's."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

import rushlight as rl
from rushlight_vision.transforms import _functional_video as F
from rushlight_vision.transforms import _transforms_video as T

# What torchvision 0.24.1 gives after seed 0.
FIRST_PIXELS = [75, 40, 288, 82]
MEANS = [1462.5, 1400.5, 1414.0]


def clip(dtype=rl.float32):
    """(2, 3, 20, 24), of which every pixel is another number."""
    return rl.arange(2 * 3 * 20 * 24).reshape(2, 3, 20, 24).to(dtype)


def test_random_parts_are_torchvisions():
    rl.manual_seed(0)
    found = [int(T.RandomCropVideo(8)(clip())[0, 0, 0, 0]) for _ in range(4)]
    assert found == FIRST_PIXELS
    part = T.RandomCropVideo((8, 9))(clip())
    start = int(part[0, 0, 0, 0])
    assert rl.equal(part, clip()[..., start // 24 :, start % 24 :][..., :8, :9])


def test_random_resized_parts_are_torchvisions():
    rl.manual_seed(0)
    resized = T.RandomResizedCropVideo((4, 6), scale=(0.3, 0.9))
    found = [resized(clip()) for _ in range(3)]
    assert all(each.shape == (2, 3, 4, 6) for each in found)
    means = rl.stack([each.mean() for each in found])
    rl.testing.assert_close(means, rl.tensor(MEANS))


def test_flips_ask_pythons_random():
    random.seed(0)
    flip = T.RandomHorizontalFlipVideo(0.5)
    for chance in (0.8444, 0.7579, 0.4205, 0.2589, 0.5112):
        expected = clip().flip(-1) if chance < 0.5 else clip()
        assert rl.equal(flip(clip()), expected)


def test_the_middle():
    assert rl.equal(T.CenterCropVideo((7, 9))(clip()), clip()[..., 6:13, 8:17])
    assert rl.equal(T.CenterCropVideo(8)(clip()), clip()[..., 6:14, 8:16])
    assert rl.equal(F.center_crop(clip(), (20, 24)), clip())


def test_bytes_and_statistics():
    frames = rl.randint(0, 256, (3, 4, 5, 2), dtype=rl.uint8)
    found = T.ToTensorVideo()(frames)
    rl.testing.assert_close(found, frames.permute(3, 0, 1, 2) / 255.0)
    mean, std = [0.1, 0.2], [0.4, 0.5]
    expected = rl.stack([(found[0] - 0.1) / 0.4, (found[1] - 0.2) / 0.5])
    kept = found.clone()
    rl.testing.assert_close(T.NormalizeVideo(mean, std)(found), expected)
    assert rl.equal(found, kept)
    assert T.NormalizeVideo(mean, std, True)(found) is found
    rl.testing.assert_close(found, expected)


def test_words():
    resized = T.RandomResizedCropVideo(10)
    assert repr(resized) == (
        "RandomResizedCropVideo(size=(10, 10), interpolation_mode=bilinear, scale=(0.08, 1.0), "
        "ratio=(0.75, 1.3333333333333333))"
    )
    assert repr(T.RandomCropVideo(8)) == "RandomCropVideo(size=(8, 8))"
    assert repr(T.CenterCropVideo(8)) == "CenterCropVideo(crop_size=(8, 8))"
    assert repr(T.NormalizeVideo([1], [2])) == "NormalizeVideo(mean=[1], std=[2], inplace=False)"
    assert repr(T.RandomHorizontalFlipVideo()) == "RandomHorizontalFlipVideo(p=0.5)"
    assert repr(T.ToTensorVideo()) == "ToTensorVideo"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: F.to_tensor(clip()), TypeError, "clip must be of uint8, got rushlight.float32"),
        (lambda: F.center_crop(clip(), (21, 3)), ValueError, r"\(21, 3\) is larger .* 20 x 24"),
        (lambda: F.crop(clip()[0], 0, 0, 1, 1), ValueError, r"4 dimensions.*\(3, 20, 24\)"),
        (lambda: F.resize(clip(), (3,), "bilinear"), ValueError, r"target_size .* got \(3,\)"),
        (lambda: F.hflip([1]), TypeError, "clip must be a tensor, got list"),
        (lambda: F.normalize(clip()[0], [0], [1]), ValueError, "normalize: clip must have 4"),
        (lambda: T.RandomResizedCropVideo((1, 2, 3)), ValueError, r"size must .* \(1, 2, 3\)"),
        (lambda: T.RandomCropVideo(50)(clip()), ValueError, r"\(50, 50\) is larger"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_programs_import_them_by_torchvisions_name():
    program = (
        "import rushlight.compat; rushlight.compat.install()\n"
        "from torchvision.transforms._transforms_video import NormalizeVideo\n"
        "from torchvision.transforms import _functional_video\n"
        "print(NormalizeVideo.__module__, _functional_video.hflip.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == [T.__name__, F.__name__], done.stderr
