"""Resize, crop, pad, flip, rotate: PIL images and tensors agree with Pillow, NumPy, formulas."""

from __future__ import annotations

import numpy as np
import pytest
from pictures import picture, planes
from PIL import Image, ImageOps

import rushlight as rl
from rushlight_vision import transforms as T
from rushlight_vision.transforms import InterpolationMode as Mode
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms import v2


def array(image):
    """Pixels (H, W, C) of a PIL image, or those of a tensor (C, H, W)."""
    if isinstance(image, Image.Image):
        return np.asarray(image)
    return image.numpy().transpose(1, 2, 0)


@pytest.mark.parametrize("mode", list(Mode))
def test_pil_images_are_resized_by_pillow(mode):
    expected = picture().resize((17, 11), Image.Resampling(mode.pillow_code))
    assert T.Resize((11, 17), mode)(picture()).tobytes() == expected.tobytes()


@pytest.mark.parametrize("mode", [Mode.BILINEAR, Mode.BICUBIC])
@pytest.mark.parametrize("size", [(11, 17), (40, 12), (50, 64), (1, 1)])
def test_tensors_are_smoothed_as_pillow_does(mode, size):
    result = array(T.Resize(size, mode)(planes())).astype(int)
    expected = array(T.Resize(size, mode)(picture())).astype(int)
    difference = np.abs(result - expected)
    assert difference.max() <= 2 and difference.mean() < 0.3  # Pillow counts in 8-bit steps
    floats = T.Resize(size, mode)(planes(dtype=rl.float32))
    # Pillow's mode "F" counts in float64
    wanted = np.asarray(
        Image.fromarray(planes(dtype=rl.float32)[0].numpy()).resize(
            size[::-1], Image.Resampling(mode.pillow_code)
        )
    )
    np.testing.assert_allclose(floats[0].numpy(), wanted, atol=2e-6)


def test_nearest_pixels():
    image = rl.arange(10).reshape(1, 1, 10)
    assert F.resize(image, [1, 4], Mode.NEAREST).flatten().tolist() == [0, 2, 5, 7]
    assert F.resize(image, [1, 4], Mode.NEAREST_EXACT).flatten().tolist() == [1, 3, 6, 8]
    assert F.resize(image, [2, 20], 0)[0, 1].tolist() == [n // 2 for n in range(20)]


def test_resizing_is_linear_and_differentiable():
    ramp = rl.arange(8, dtype=rl.float64).reshape(1, 1, 8).requires_grad_()
    result = F.resize(ramp, [1, 4], antialias=False)
    assert result.flatten().tolist() == [0.5, 2.5, 4.5, 6.5]
    result.sum().backward()
    assert ramp.grad.flatten().tolist() == [0.5] * 8


@pytest.mark.parametrize(
    ("shape", "size", "max_size", "expected"),
    [
        ((23, 31), 10, None, (10, 13)),
        ((31, 23), 10, None, (13, 10)),
        ((31, 23), [10], None, (13, 10)),
        ((20, 60), 10, 15, (5, 15)),
        ((60, 20), 10, 15, (15, 5)),
        ((23, 31), (7, 9), None, (7, 9)),
        ((23, 31), 23, None, (23, 31)),
    ],
)
def test_sizes(shape, size, max_size, expected):
    resize = T.Resize(size, max_size=max_size)
    assert resize(picture(*shape)).size == expected[::-1]
    assert resize(planes(*shape)).shape == (3, *expected)
    assert resize(planes(*shape).unsqueeze(0)).shape == (1, 3, *expected)


def test_unfit_sizes_are_refused():
    with pytest.raises(ValueError, match="expected one number or"):
        T.Resize((1, 2, 3))
    with pytest.raises(TypeError, match="size should be int or sequence"):
        T.Resize(2.5)
    with pytest.raises(ValueError, match="max_size = 10 must be greater"):
        T.Resize(10, max_size=10)(picture())
    with pytest.raises(ValueError, match="max_size goes with one number"):
        F.resize(picture(), (4, 5), max_size=10)
    with pytest.raises(ValueError, match="at least 1"):
        F.resize(picture(), 0)
    with pytest.raises(ValueError, match="would be"):
        F.resize(picture(1, 300), 100, max_size=101)
    with pytest.raises(ValueError, match="'lanczos' works on PIL images only"):
        F.resize(planes(), 10, Mode.LANCZOS)
    with pytest.raises(TypeError, match="interpolation 'cubic'"):
        F.resize(planes(), 10, "cubic")
    with pytest.raises(TypeError, match="expected a PIL image or a tensor, got numpy.ndarray"):
        F.resize(np.zeros((4, 4)), 2)
    with pytest.warns(UserWarning, match="antialias is ignored"):
        F.resize(picture(), 10, antialias=False)


@pytest.mark.parametrize("size", [10, (7, 12), (40, 12), (10, 40), (50, 51), (23, 31)])
def test_center_crops_agree(size):
    height, width = (size, size) if isinstance(size, int) else size
    result = T.CenterCrop(size)(planes())
    assert result.shape == (3, height, width)
    np.testing.assert_array_equal(array(result), array(T.CenterCrop(size)(picture())))
    if height <= 23 and width <= 31:
        top, left = round((23 - height) / 2), round((31 - width) / 2)
        expected = planes()[:, top : top + height, left : left + width]
        assert rl.equal(result, expected)


@pytest.mark.parametrize("box", [(2, 3, 8, 9), (-2, -3, 8, 9), (20, 28, 9, 9), (40, 40, 5, 5)])
def test_crops_agree(box):
    np.testing.assert_array_equal(array(F.crop(planes(), *box)), array(F.crop(picture(), *box)))


NUMPY_MODES = {"edge": "edge", "reflect": "reflect", "symmetric": "symmetric"}


@pytest.mark.parametrize("padding", [3, [2], (1, 2), (1, 2, 3, 4)])
@pytest.mark.parametrize("padding_mode", ["constant", "edge", "reflect", "symmetric"])
def test_padding_is_numpys(padding, padding_mode):
    widths = {3: (3,) * 4, (1, 2): (1, 2, 1, 2), (1, 2, 3, 4): (1, 2, 3, 4)}.get(
        padding if not isinstance(padding, list) else 0, (2,) * 4
    )
    left, top, right, bottom = widths
    extra = {"constant_values": 7} if padding_mode == "constant" else {}
    expected = np.pad(
        np.asarray(picture()), ((top, bottom), (left, right), (0, 0)), padding_mode, **extra
    )
    transform = T.Pad(padding, 7, padding_mode)
    np.testing.assert_array_equal(array(transform(planes())), expected)
    np.testing.assert_array_equal(array(transform(picture())), expected)


def test_negative_padding_cuts():
    for mode in ("constant", "edge"):
        expected = np.asarray(F.pad(picture(), (0, 2, 0, 0), 0, mode))[:, 3:-1]
        for image in (picture(), planes()):
            result = F.pad(image, (-3, 2, -1, 0), 0, mode)
            np.testing.assert_array_equal(array(result), expected)


@pytest.mark.parametrize("mode", ["1", "L", "P", "I", "F", "RGBA", "CMYK"])
@pytest.mark.parametrize("padding_mode", ["constant", "edge", "reflect"])
def test_padding_keeps_the_mode(mode, padding_mode):
    image = picture(mode=mode)
    result = F.pad(image, 2, 0, padding_mode)
    assert result.mode == mode and result.size == (35, 27)
    inner = result.crop((2, 2, 33, 25))
    np.testing.assert_array_equal(
        np.asarray(inner.convert("RGB")), np.asarray(image.convert("RGB"))
    )


def test_fill_colours():
    red = F.pad(picture(), 1, (255, 0, 0))
    assert red.getpixel((0, 0)) == (255, 0, 0)
    assert F.pad(picture(mode="F"), 1, 0.5).getpixel((0, 0)) == 0.5
    with pytest.raises(ValueError, match="fill has 2 values; the image of mode 'RGB' has 3 bands"):
        F.pad(picture(), 1, (1, 2))
    with pytest.raises(ValueError, match="a tensor image takes one number"):
        F.pad(planes(), 1, (1, 2, 3))


def test_unfit_padding_is_refused():
    with pytest.raises(ValueError, match="one, two or four numbers; got 3"):
        T.Pad((1, 2, 3))
    with pytest.raises(ValueError, match="padding_mode 'mirror'; expected one of"):
        T.Pad(1, padding_mode="mirror")
    with pytest.raises(TypeError, match="padding 'a'"):
        F.pad(picture(), "a")
    with pytest.raises(ValueError, match="'reflect' padding of 23 pixels .* height of 23"):
        F.pad(planes(), (0, 23), padding_mode="reflect")


def test_flips():
    expected = np.asarray(ImageOps.mirror(picture()))
    for image in (picture(), planes()):
        np.testing.assert_array_equal(array(F.hflip(image)), expected)
        np.testing.assert_array_equal(array(F.vflip(image)), np.asarray(picture())[::-1])


@pytest.mark.parametrize("vertical", [False, True])
def test_five_and_ten_crops(vertical):
    ours = T.TenCrop((8, 9), vertical)(planes())
    pillows = T.TenCrop((8, 9), vertical)(picture())
    assert len(ours) == 10
    for first, second in zip(ours, pillows, strict=True):
        np.testing.assert_array_equal(array(first), array(second))
    assert rl.equal(T.FiveCrop(5)(planes())[3], planes()[:, -5:, -5:])
    with pytest.raises(ValueError, match="larger than the image"):
        T.FiveCrop(24)(picture())


@pytest.mark.parametrize("angle", [90, 180, 270, -90])
def test_quarter_turns_are_exact(angle):
    image = planes(20, 20)
    expected = np.rot90(array(image), angle // 90)
    np.testing.assert_array_equal(array(F.rotate(image, angle)), expected)
    np.testing.assert_array_equal(array(F.rotate(image, angle, Mode.BILINEAR)), expected)
    wide = F.rotate(planes(), angle, expand=True)
    np.testing.assert_array_equal(array(wide), np.rot90(array(planes()), angle // 90))


@pytest.mark.parametrize("arguments", [{}, {"expand": True}, {"center": (3, 4)}, {"fill": 99}])
@pytest.mark.parametrize("mode", [Mode.NEAREST, Mode.BILINEAR])
def test_turned_tensors_are_like_pillows(arguments, mode):
    result = F.rotate(planes(), 25.0, mode, **arguments)
    expected = F.rotate(picture(), 25.0, mode, **arguments)
    assert array(result).shape == array(expected).shape
    if mode is Mode.NEAREST:
        same = (array(result) == array(expected)).mean()
        assert same > 0.99  # ties between two pixels fall either way
    else:  # Pillow does not mix the edge with the outside
        near = np.abs(array(result).astype(int) - array(expected).astype(int)) <= 2
        assert near.mean() > 0.85


@pytest.mark.parametrize("center", [None, (0, 0), (3, 4), (30, 20), (7.3, 19.1), (-5, 40)])
def test_expanded_turns_have_pillows_size(center):
    for angle in range(-350, 361, 23):
        result = array(F.rotate(planes(), angle, expand=True, center=center))
        expected = array(F.rotate(picture(), angle, expand=True, center=center))
        assert result.shape == expected.shape
        assert (result == expected).mean() > 0.98  # ties between two pixels fall either way


@pytest.mark.parametrize("contrast", [False, True])
@pytest.mark.parametrize("mode", [Mode.BILINEAR, Mode.BICUBIC])
def test_smoothed_bytes_are_near_pillows(mode, contrast):
    """Every byte is PyTorch's (core's test_interpolation_of_bytes.py), whose weights have 15 bits
    where Pillow's have 22: of two passes, each rounded, some bytes fall to the other side."""
    generator = np.random.default_rng(1)
    for height, width in ((23, 31), (57, 40), (8, 90)):
        pixels = generator.integers(0, 256, (height, width, 3)).astype(np.uint8)
        pixels = np.where(pixels > 127, 255, 0).astype(np.uint8) if contrast else pixels
        image = rl.tensor(np.ascontiguousarray(pixels.transpose(2, 0, 1)))
        for size in ((11, 17), (40, 12), (50, 64), (23, 7), (1, 1), (3, 100), (57, 33), (70, 90)):
            result = array(F.resize(image, size, mode))
            resized = Image.fromarray(pixels).resize(size[::-1], Image.Resampling(mode.pillow_code))
            difference = np.abs(result.astype(int) - np.asarray(resized))
            if mode is Mode.BILINEAR:
                assert difference.max() <= 1
            else:
                assert difference.max() <= 2
                assert (difference > 0).mean() < 0.03


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("mode", [Mode.BILINEAR, Mode.BICUBIC])
def test_bytes_of_the_second_version_are_resized_by_core(mode, smooth):
    """Core's bytes are PyTorch's, which torchvision takes, too."""
    image = rl.tensor(np.random.default_rng(2).integers(0, 256, (2, 3, 37, 45)).astype(np.uint8))
    for size in ([20, 31], [50, 60]):
        found = v2.functional.resize(image, size, mode, antialias=smooth)
        expected = rl.nn.functional.interpolate(image, size, mode=mode.value, antialias=smooth)
        assert found.equal(expected) and found.dtype is rl.uint8


def test_rotations_of_pillow():
    expected = picture().rotate(30, Image.Resampling.BICUBIC, True, fillcolor=(1, 2, 3))
    result = F.rotate(picture(), 30, Mode.BICUBIC, True, fill=(1, 2, 3))
    assert result.tobytes() == expected.tobytes()
    with pytest.raises(ValueError, match="tensors take 'nearest' and 'bilinear'"):
        F.rotate(planes(), 30, Mode.BICUBIC)
    with pytest.raises(TypeError, match="center 3; expected two numbers"):
        F.rotate(planes(), 30, center=3)
    with pytest.raises(ValueError, match="fill has 2 values"):
        F.rotate(planes(), 30, fill=(1, 2))
    assert F.rotate(planes()[0], 30).shape == (23, 31)


@pytest.mark.parametrize("dtype", [rl.float16, rl.float64, rl.uint8])
def test_results_keep_their_dtype(dtype):
    image = planes(dtype=dtype)
    exact = planes(dtype=rl.float64)
    factor = 255 if dtype is rl.uint8 else 1
    slack = {rl.float16: 2e-3, rl.float64: 1e-5, rl.uint8: 0.501}[dtype]
    for change in (
        lambda tensor: F.resize(tensor, (9, 40)),
        lambda tensor: F.rotate(tensor, 20, Mode.BILINEAR, fill=0.0),
    ):
        result = change(image)
        assert result.dtype is dtype
        expected = change(exact).numpy() * factor
        np.testing.assert_allclose(result.to(rl.float64).numpy(), expected, atol=slack)
