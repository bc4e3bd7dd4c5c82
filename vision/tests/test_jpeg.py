"""JPEG files decoded into a tensor's memory: Pillow's pixels, and Pillow's word on damaged ones."""

from __future__ import annotations

import io as memory
import struct

import numpy as np
import pytest
import simplejpeg
from pictures import picture
from PIL import Image, ImageFile, ImageOps

import rushlight as rl
from rushlight_vision import io
from rushlight_vision.io import ImageReadMode

WAYS = {
    "420": {"subsampling": 2},
    "422": {"subsampling": 1},
    "444": {"subsampling": 0},
    "rgb": {"keep_rgb": True},
    "progressive": {"progressive": True},
    "restarts": {"restart_marker_rows": 1},
}


def saved(image, **options):
    buffer = memory.BytesIO()
    image.save(buffer, "JPEG", **options)
    return buffer.getvalue()


def tensor(data):
    return rl.frombuffer(bytearray(data), dtype=rl.uint8)


def planes(image):
    return np.asarray(image).reshape(image.height, image.width, -1).transpose(2, 0, 1)


@pytest.fixture
def no_pillow(monkeypatch):
    """Pillow may open JPEG files, and may not decode them."""

    def refused(self):
        raise AssertionError("decoded by Pillow")

    monkeypatch.setattr(ImageFile.ImageFile, "load", refused)


@pytest.mark.parametrize("size", [(1, 1), (31, 23), (17, 40), (64, 48)])
@pytest.mark.parametrize("way", WAYS)
def test_pixels_are_pillows(way, size):
    data = saved(picture(*size), **WAYS[way])
    image = Image.open(memory.BytesIO(data))
    for mode in (ImageReadMode.UNCHANGED, ImageReadMode.RGB):
        np.testing.assert_array_equal(io.decode_image(tensor(data), mode).numpy(), planes(image))
    grey = Image.open(memory.BytesIO(data))
    grey.draft("L", None)  # the brightness that the file holds, as torchvision gives it
    found = io.decode_jpeg(tensor(data), ImageReadMode.GRAY)
    np.testing.assert_array_equal(found.numpy(), planes(grey))
    opaque = io.decode_jpeg(tensor(data), ImageReadMode.RGB_ALPHA)
    np.testing.assert_array_equal(opaque.numpy(), planes(image.convert("RGBA")))


def test_grey_files():
    data = saved(picture(mode="L"))
    image = Image.open(memory.BytesIO(data))
    for mode in (ImageReadMode.UNCHANGED, ImageReadMode.GRAY, ImageReadMode.RGB):
        wanted = image.convert("RGB") if mode is ImageReadMode.RGB else image
        np.testing.assert_array_equal(io.decode_image(tensor(data), mode).numpy(), planes(wanted))


def test_files_are_decoded_without_pillow(no_pillow):
    image = io.decode_jpeg(tensor(saved(picture(23, 31))))
    assert image.shape == (3, 23, 31) and image.stride() == (1, 93, 3)
    assert io.decode_jpeg(tensor(saved(picture(mode="L")))).shape == (1, 23, 31)
    with pytest.raises(AssertionError, match="decoded by Pillow"):
        io.decode_jpeg(tensor(saved(picture(mode="CMYK"))))


@pytest.mark.parametrize("orientation", range(10))
def test_every_orientation(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = saved(picture(31, 23), exif=exif)
    upright = ImageOps.exif_transpose(Image.open(memory.BytesIO(data)))
    found = io.decode_jpeg(tensor(data), apply_exif_orientation=True)
    np.testing.assert_array_equal(found.numpy(), planes(upright))


def test_files_that_end_too_soon_have_pillows_error(tmp_path):
    data = saved(picture(64, 48))
    path = tmp_path / "cut.jpg"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(RuntimeError, match=r"cut\.jpg is a damaged image: .*truncated"):
        io.read_image(path)


def test_what_pillow_forgives_is_decoded():
    """Data behind a scan: a warning of libjpeg's that Pillow passes over."""
    data = saved(picture(64, 48))
    odd = data[:-2] + bytes(9) + data[-2:]
    with pytest.raises(ValueError, match="extraneous"):
        simplejpeg.decode_jpeg(odd)
    expected = planes(Image.open(memory.BytesIO(data)))
    np.testing.assert_array_equal(io.decode_jpeg(tensor(odd)).numpy(), expected)


def test_damaged_colour_in_grey_is_the_files_own_brightness():
    data = saved(picture(64, 48))
    odd = data[:-2] + bytes(9) + data[-2:]
    whole, forgiven = (io.decode_jpeg(tensor(one), ImageReadMode.GRAY) for one in (data, odd))
    np.testing.assert_array_equal(forgiven.numpy(), whole.numpy())


def test_a_size_that_pillow_has_not_judged_is_not_decoded(monkeypatch):
    """Two headers of different sizes: the tensor is of the one that Pillow found last."""
    data = saved(picture(16, 16))
    at = data.index(b"\xff\xc0")
    length = struct.unpack(">H", data[at + 2 : at + 4])[0] + 2
    large = bytearray(data[at : at + length])
    large[5:9] = struct.pack(">HH", 9000, 9000)
    with pytest.raises(RuntimeError, match="is a damaged image"):
        io.decode_jpeg(tensor(data[:at] + bytes(large) + data[at:]))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(RuntimeError, match="too large an image: .*256 pixels"):
        io.decode_jpeg(tensor(data))


def test_several_files_on_several_threads():
    files = [tensor(saved(picture(40, 30, seed=seed))) for seed in range(5)]
    together = io.decode_jpeg(files)
    for image, file in zip(together, files, strict=True):
        np.testing.assert_array_equal(image.numpy(), io.decode_jpeg(file).numpy())
