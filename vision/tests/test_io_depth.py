"""16 bits a channel, several frames, four inks: what a file holds is what a tensor gets."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from pictures import picture, pixels
from PIL import Image
from png16 import png16

import rushlight as rl
from rushlight_vision import io, utils
from rushlight_vision.io import ImageReadMode as Mode
from rushlight_vision.transforms import functional as F


def wide(channels, height=23, width=31):
    """Random uint16 pixels (H, W, C), the largest and the smallest among them."""
    values = np.random.default_rng(channels).integers(0, 65536, (height, width, channels))
    values[0, :2] = [[0] * channels, [65535] * channels]
    return values.astype(np.uint16)


def expected_channels(values, mode):
    """The channels (C, H, W) that a 16-bit image has in a mode."""
    planes = values.transpose(2, 0, 1).astype(np.int64)
    if mode is Mode.UNCHANGED:
        return planes
    alpha = planes[-1:] if len(planes) in (2, 4) else np.full_like(planes[:1], 65535)
    colours = planes[: 3 if len(planes) > 2 else 1]
    if mode in (Mode.GRAY, Mode.GRAY_ALPHA) and len(colours) == 3:
        colours = np.round(np.tensordot([0.2989, 0.587, 0.1141], colours, 1))[None]
    if mode in (Mode.RGB, Mode.RGB_ALPHA):
        colours = np.broadcast_to(colours, (3, *planes.shape[1:]))
    with_alpha = mode in (Mode.GRAY_ALPHA, Mode.RGB_ALPHA)
    return np.concatenate([colours, alpha]) if with_alpha else colours


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("mode", list(Mode))
def test_16_bit_png(tmp_path, mode, channels, interlaced):
    values = wide(channels)
    path = tmp_path / "wide.png"
    path.write_bytes(png16(values, interlaced))
    expected = expected_channels(values, mode)
    mixed = channels > 2 and mode in (Mode.GRAY, Mode.GRAY_ALPHA)
    for image in (io.read_image(path, mode), io.decode_image(io.read_file(path), mode)):
        assert image.dtype is rl.uint16 and tuple(image.shape) == expected.shape
        difference = np.abs(image.numpy().astype(np.int64) - expected)
        # libpng mixes grey with whole weights of 1 / 32768
        assert difference.max() <= (3 if mixed else 0)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_16_bit_png_upright(tmp_path, channels):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 270 degrees
    values = wide(channels)
    path = tmp_path / "turned.png"
    path.write_bytes(png16(values, exif=exif.tobytes().removeprefix(b"Exif\0\0")))
    image = io.read_image(path, apply_exif_orientation=True)
    np.testing.assert_array_equal(image.numpy(), np.rot90(values.transpose(2, 0, 1), -1, (1, 2)))


def test_a_16_bit_png_that_breaks_off():
    data = png16(wide(3))
    with pytest.raises(RuntimeError, match="is a damaged image"):
        io.decode_image(rl.tensor(list(data[:-900]), dtype=rl.uint8))


@pytest.mark.parametrize("mode", ["I;16", "I;16B"])
def test_16_bit_tiff(tmp_path, mode):
    values = wide(1)
    image = Image.frombytes(
        mode, (31, 23), values.astype(">u2" if "B" in mode else "<u2").tobytes()
    )
    image.save(tmp_path / "wide.tiff")
    for wanted in Mode:
        tensor = io.read_image(tmp_path / "wide.tiff", wanted)
        assert tensor.dtype is rl.uint16
        np.testing.assert_array_equal(tensor.numpy(), expected_channels(values, wanted))


def test_16_bit_pil_images():
    values = wide(1)[..., 0]
    image = Image.fromarray(values)
    assert image.mode == "I;16"
    for convert in (F.to_tensor, F.pil_to_tensor):
        tensor = convert(image)
        assert tensor.dtype is rl.uint16
        np.testing.assert_array_equal(tensor[0].numpy(), values)
    assert F.to_pil_image(tensor).tobytes() == image.tobytes()
    floats = F.convert_image_dtype(tensor, rl.float32)
    np.testing.assert_array_equal(floats[0].numpy(), values.astype(np.float32) / 65535)
    levels = rl.arange(256).to(rl.uint8)
    assert F.convert_image_dtype(levels, rl.uint16).tolist() == [256 * k for k in range(256)]


def gif(tmp_path, number):
    frames = [picture(seed=seed).quantize(64) for seed in range(number)]
    path = tmp_path / f"{number}.gif"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=50, optimize=False)
    return path, np.stack([np.asarray(frame.convert("RGB")) for frame in frames])


@pytest.mark.parametrize("number", [1, 3])
def test_all_frames_of_a_gif(tmp_path, number):
    path, frames = gif(tmp_path, number)
    for mode, pillows in ((Mode.UNCHANGED, "RGB"), (Mode.RGB, "RGB"), (Mode.GRAY, "L")):
        expected = np.stack([np.asarray(Image.fromarray(each).convert(pillows)) for each in frames])
        expected = expected.reshape(number, 23, 31, -1).transpose(0, 3, 1, 2)
        image = io.read_image(path, mode)
        assert image.dtype is rl.uint8
        np.testing.assert_array_equal(image.numpy(), expected[0] if number == 1 else expected)
    assert io.read_image(path, Mode.RGB_ALPHA).shape[-3] == 4


def test_four_inks(tmp_path):
    inks = Image.fromarray(pixels(channels=4), "CMYK")
    inks.save(tmp_path / "inks.jpg", quality=95)
    with Image.open(tmp_path / "inks.jpg") as opened:
        decoded = np.asarray(opened)
    image = io.read_image(tmp_path / "inks.jpg")
    # libjpeg gives a file's numbers, which Pillow inverts
    np.testing.assert_array_equal(image.numpy(), 255 - decoded.transpose(2, 0, 1))
    assert io.read_image(tmp_path / "inks.jpg", Mode.RGB).shape == (3, 23, 31)
    inks.save(tmp_path / "inks.tiff")
    np.testing.assert_array_equal(
        io.read_image(tmp_path / "inks.tiff").numpy(), np.asarray(inks).transpose(2, 0, 1)
    )


def test_saved_integers(tmp_path):
    values = pixels()
    path = tmp_path / "a.png"
    utils.save_image(rl.tensor(np.ascontiguousarray(values.transpose(2, 0, 1))), path)
    with Image.open(path) as saved:
        np.testing.assert_array_equal(np.asarray(saved), values)
    utils.save_image(rl.tensor(values[..., 0]), path, pad_value=9)
    with Image.open(path) as saved:
        np.testing.assert_array_equal(np.asarray(saved)[..., 1], values[..., 0])
    mask = rl.tensor(values[..., 0] > 127)
    utils.save_image(mask, path)
    with Image.open(path) as saved:
        np.testing.assert_array_equal(np.asarray(saved)[..., 0], (values[..., 0] > 127) * 255)
    buffer = BytesIO()
    for dtype in (rl.int8, rl.int16, rl.int32, rl.int64, rl.uint16):
        with pytest.raises(RuntimeError, match=f"images of {dtype}; expected floats in 0 ... 1"):
            utils.save_image(rl.ones(3, 2, 2).to(dtype), buffer, format="png")
