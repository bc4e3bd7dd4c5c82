"""Brightness, contrast, saturation, hue, gamma, grey: Pillow, formulas, and each other."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest
from pictures import picture, planes
from PIL import Image, ImageEnhance, ImageOps

import rushlight as rl
from rushlight_vision import transforms as T
from rushlight_vision.transforms import functional as F

FACTORS = [0.0, 0.4, 1.0, 1.7]


def array(image):
    """Pixels (H, W, C) of a PIL image, or those of a tensor (C, H, W), as integers."""
    if isinstance(image, Image.Image):
        return np.asarray(image).astype(int)
    return image.numpy().transpose(1, 2, 0).astype(int)


ENHANCERS = [
    (F.adjust_brightness, ImageEnhance.Brightness),
    (F.adjust_contrast, ImageEnhance.Contrast),
    (F.adjust_saturation, ImageEnhance.Color),
]


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize(("adjust", "enhancer"), ENHANCERS)
def test_pil_and_tensors_agree(adjust, enhancer, factor):
    expected = enhancer(picture()).enhance(factor)
    assert adjust(picture(), factor).tobytes() == expected.tobytes()
    result = array(adjust(planes(), factor))
    assert np.abs(result - array(expected)).max() <= 2  # Pillow's grey has 16 bits less
    floats = adjust(planes(dtype=rl.float32), factor)
    assert np.abs(array(floats * 255) - array(expected)).max() <= 2
    assert float(floats.min()) >= 0 and float(floats.max()) <= 1


@pytest.mark.parametrize("factor", FACTORS)
def test_formulas(factor):
    image = planes(dtype=rl.float64).numpy()
    grey = 0.2989 * image[0] + 0.587 * image[1] + 0.114 * image[2]
    for adjust, other in (
        (F.adjust_brightness, 0.0),
        (F.adjust_contrast, grey.mean()),
        (F.adjust_saturation, grey),
    ):
        expected = np.clip(factor * image + (1 - factor) * other, 0, 1)
        result = adjust(planes(dtype=rl.float64), factor)
        np.testing.assert_allclose(result.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("turn", [-0.5, -0.2, 0.0, 0.1, 0.5])
def test_hue(turn):
    image = planes(6, 7, dtype=rl.float64)
    result = F.adjust_hue(image, turn).permute(1, 2, 0).reshape(-1, 3).tolist()
    for before, after in zip(image.permute(1, 2, 0).reshape(-1, 3).tolist(), result, strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*before)
        assert after == pytest.approx(colorsys.hsv_to_rgb((hue + turn) % 1.0, saturation, value))
    bytes_turned = array(F.adjust_hue(planes(), turn))
    pillows = array(F.adjust_hue(picture(), turn))
    assert np.abs(bytes_turned - pillows).mean() < 6  # Pillow's hue has 8 bits


def test_hue_of_pil_images():
    hue, saturation, value = (np.asarray(band) for band in picture().convert("HSV").split())
    for turn in (0.25, -0.25):
        shifted = ((hue.astype(int) + int(turn * 255)) % 256).astype(np.uint8)
        bands = [Image.fromarray(band) for band in (shifted, saturation, value)]
        expected = Image.merge("HSV", bands).convert("RGB")
        assert F.adjust_hue(picture(), turn).tobytes() == expected.tobytes()
    grey = picture(mode="L")
    assert F.adjust_hue(grey, 0.3) is grey


def test_grey_tensors_have_no_colour():
    grey = planes(channels=1)
    assert rl.equal(F.adjust_hue(grey, 0.3), grey)
    assert rl.equal(F.adjust_saturation(grey, 0.3), grey)
    assert rl.equal(F.rgb_to_grayscale(grey), grey)


def test_gamma():
    assert (
        np.abs(array(F.adjust_gamma(picture(), 0.7)) - array(F.adjust_gamma(planes(), 0.7))).max()
        <= 1
    )
    image = planes(dtype=rl.float64)
    np.testing.assert_allclose(
        F.adjust_gamma(image, 2.2, 1.5).numpy(), np.clip(1.5 * image.numpy() ** 2.2, 0, 1)
    )
    bright = F.adjust_gamma(picture(mode="L"), 1.0, gain=3)
    assert np.asarray(bright).max() == 255


def test_grey():
    expected = array(picture().convert("L"))
    assert T.Grayscale()(picture()).mode == "L"
    np.testing.assert_array_equal(array(T.Grayscale()(picture())), expected)
    result = T.Grayscale()(planes())
    assert result.shape == (1, 23, 31) and result.dtype is rl.uint8
    assert np.abs(array(result)[..., 0] - expected).max() <= 1
    three = T.Grayscale(3)(planes())
    assert three.shape == (3, 23, 31) and rl.equal(three[0], three[2])
    assert T.Grayscale(3)(picture()).mode == "RGB"
    assert F.to_grayscale(picture(), 3).getpixel((4, 5)) == (expected[5, 4],) * 3


def test_negatives():
    assert F.invert(picture()).tobytes() == ImageOps.invert(picture()).tobytes()
    np.testing.assert_array_equal(array(F.invert(planes())), 255 - array(planes()))
    assert rl.equal(F.invert(planes(dtype=rl.float32)), 1 - planes(dtype=rl.float32))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.adjust_brightness(picture(), -1), ValueError, r"factor \(-1\)"),
        (lambda: F.adjust_hue(picture(), 0.6), ValueError, r"hue_factor \(0.6\)"),
        (lambda: F.adjust_gamma(picture(), -1), ValueError, r"gamma \(-1\)"),
        (lambda: F.adjust_contrast("x", 1), TypeError, "got builtins.str"),
        (
            lambda: F.adjust_contrast(rl.zeros(2, 4, 4), 1),
            TypeError,
            r"adjust_contrast: 2 channels in a tensor of shape \(2, 4, 4\); expected 1 or 3",
        ),
        (lambda: F.rgb_to_grayscale(planes(), 2), ValueError, "expected 1 or 3"),
        (lambda: F.to_grayscale(planes()), TypeError, "use rgb_to_grayscale"),
        (lambda: T.ColorJitter(brightness=-1), ValueError, "must not be negative"),
        (lambda: T.ColorJitter(hue=0.7), ValueError, "hue from -0.7 to 0.7"),
        (lambda: T.ColorJitter(contrast=(2, 1)), ValueError, "contrast from 2.0 to 1.0"),
        (lambda: T.ColorJitter(contrast="x"), TypeError, "one number or two"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
