"""Images in files as tensors, and grids of them."""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest
from pictures import picture, pixels, planes
from PIL import Image

import rushlight as rl
import rushlight_vision
from rushlight_vision import io, utils
from rushlight_vision.io import ImageReadMode


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA"])
def test_reading(tmp_path, mode):
    path = tmp_path / "image.png"
    picture(mode=mode).save(path)
    expected = np.asarray(picture(mode=mode)).reshape(23, 31, -1).transpose(2, 0, 1)
    for tensor in (
        io.read_image(path),
        io.read_image(str(path)),
        io.decode_image(io.read_file(path)),
    ):
        assert tensor.dtype is rl.uint8
        np.testing.assert_array_equal(tensor.numpy(), expected)
    for wanted, pillows in (
        (ImageReadMode.GRAY, "L"),
        ("rgb", "RGB"),
        ("RGB_ALPHA", "RGBA"),
        (ImageReadMode.GRAY_ALPHA, "LA"),
    ):
        converted = np.asarray(picture(mode=mode).convert(pillows)).reshape(23, 31, -1)
        np.testing.assert_array_equal(
            io.read_image(path, wanted).numpy(), converted.transpose(2, 0, 1)
        )


def test_palettes_and_turned_images(tmp_path):
    palette = picture().convert("P", palette=Image.Palette.ADAPTIVE)
    palette.save(tmp_path / "p.png")
    np.testing.assert_array_equal(
        io.read_image(tmp_path / "p.png").numpy(),
        np.asarray(palette.convert("RGB")).transpose(2, 0, 1),
    )
    picture(mode="1").save(tmp_path / "1.png")
    assert io.read_image(tmp_path / "1.png").unique().tolist() == [0, 255]
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 270 degrees
    picture().save(tmp_path / "turned.png", exif=exif)
    plain = io.read_image(tmp_path / "turned.png")
    upright = io.read_image(tmp_path / "turned.png", apply_exif_orientation=True)
    np.testing.assert_array_equal(upright.numpy(), np.rot90(plain.numpy(), -1, (1, 2)))


@pytest.mark.parametrize("channels", [1, 3])
def test_writing(tmp_path, channels):
    image = planes(channels=channels)
    io.write_png(image, tmp_path / "a.png", compression_level=1)
    assert rl.equal(io.read_image(tmp_path / "a.png"), image)
    assert rl.equal(io.decode_image(io.encode_png(image)), image)
    smooth = rl.arange(31, dtype=rl.uint8).mul(8).expand(channels, 23, 31)
    io.write_jpeg(smooth, tmp_path / "a.jpg", quality=95)
    back = io.read_image(str(tmp_path / "a.jpg"))
    difference = (back.to(rl.int32) - smooth.to(rl.int32)).abs()
    assert back.shape == smooth.shape and int(difference.max()) <= 3
    assert len(io.encode_jpeg(image, 10)) < len(io.encode_jpeg(image, 95))


def test_bytes_of_files(tmp_path):
    io.write_file(tmp_path / "x", rl.tensor([1, 2, 255], dtype=rl.uint8))
    assert (tmp_path / "x").read_bytes() == b"\x01\x02\xff"
    assert io.read_file(tmp_path / "x").tolist() == [1, 2, 255]
    (tmp_path / "x").write_bytes(b"")
    assert io.read_file(tmp_path / "x").shape == (0,)


def test_bad_files_are_named(tmp_path):
    text = tmp_path / "text.png"
    text.write_text("no image")
    with pytest.raises(RuntimeError, match=r"text\.png is not an image that Pillow can read"):
        io.read_image(text)
    cut = tmp_path / "cut.png"
    picture().save(cut)
    cut.write_bytes(cut.read_bytes()[:-300])
    with pytest.raises(RuntimeError, match=r"cut\.png is a damaged image"):
        io.read_image(cut)
    with pytest.raises(FileNotFoundError, match=r"none\.png"):
        io.read_image(tmp_path / "none.png")
    with pytest.raises(RuntimeError, match="the tensor of 3 bytes is not an image"):
        io.decode_image(rl.zeros(3, dtype=rl.uint8))


def test_unfit_arguments_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"one dimension; got rushlight.float32 of shape \(2, 2\)"):
        io.decode_image(rl.zeros(2, 2))
    with pytest.raises(TypeError, match="encode_png: expected a uint8 tensor .* rushlight.float32"):
        io.write_png(rl.zeros(3, 2, 2), tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"\(1, H, W\) or \(3, H, W\); got \(2, 4, 4\)"):
        io.encode_jpeg(rl.zeros(2, 4, 4, dtype=rl.uint8))
    with pytest.raises(ValueError, match=r"quality 0; expected 1 ... 100"):
        io.encode_jpeg(planes(), quality=0)
    with pytest.raises(ValueError, match="compression_level 10"):
        io.encode_png(planes(), 10)
    with pytest.raises(ValueError, match="mode 'colour'; expected"):
        io.decode_image(io.encode_png(planes()), "colour")


def test_grids():
    images = rl.arange(5 * 3 * 2 * 4).reshape(5, 3, 2, 4).to(rl.float32)
    grid = utils.make_grid(images, nrow=3, padding=1, pad_value=-1)
    assert grid.shape == (3, 2 * 3 + 1, 3 * 5 + 1)
    expected = np.full((3, 7, 16), -1, np.float32)
    for number in range(5):
        top, left = number // 3 * 3 + 1, number % 3 * 5 + 1
        expected[:, top : top + 2, left : left + 4] = images[number].numpy()
    np.testing.assert_array_equal(grid.numpy(), expected)
    assert rl.equal(utils.make_grid(list(images.unbind(0)), 3, 1, pad_value=-1), grid)
    assert utils.make_grid(images[:2]).shape == (3, 2 + 4, 2 * 6 + 2)
    assert utils.make_grid(images, padding=0, nrow=5).shape == (3, 2, 20)


def test_single_and_grey_images():
    grey = rl.rand(4, 5)
    for image in (grey, grey.unsqueeze(0), grey.reshape(1, 1, 4, 5)):
        assert rl.equal(utils.make_grid(image), rl.stack([grey] * 3))
    assert utils.make_grid(rl.rand(2, 1, 4, 5)).shape == (3, 8, 16)


def test_normalised_grids():
    images = rl.stack([rl.full((3, 2, 2), value) for value in (1.0, 2.0, 5.0)])
    images[:, :, 0, 0] = 0.0
    before = images.clone()
    together = utils.make_grid(images, padding=0, normalize=True)
    assert rl.equal(together, utils.make_grid(images / 5, padding=0))
    each = utils.make_grid(images, padding=0, normalize=True, scale_each=True)
    assert rl.equal(each, utils.make_grid((images > 0).to(rl.float32), padding=0))
    fixed = utils.make_grid(images, padding=0, normalize=True, value_range=(1, 2))
    assert rl.equal(fixed, utils.make_grid(images.clamp(1, 2) - 1, padding=0))
    assert rl.equal(images, before)
    assert float(utils.make_grid(rl.ones(2, 3, 2, 2), normalize=True).max()) == 0


def test_unfit_grids_are_refused():
    with pytest.raises(TypeError, match="tensor or list of tensors expected, got str"):
        utils.make_grid("image")
    with pytest.raises(TypeError, match="tensor or list of tensors expected, got list"):
        utils.make_grid([1, 2])
    with pytest.raises(ValueError, match=r"different shapes: \[\(3, 2, 2\), \(3, 2, 3\)\]"):
        utils.make_grid([rl.zeros(3, 2, 2), rl.zeros(3, 2, 3)])
    with pytest.raises(ValueError, match=r"got shape \(5,\)"):
        utils.make_grid(rl.zeros(5))
    with pytest.raises(TypeError, match="value_range 3; expected a tuple"):
        utils.make_grid(rl.zeros(2, 3, 2, 2), normalize=True, value_range=3)


def test_saved_images(tmp_path):
    image = planes(dtype=rl.float32)
    utils.save_image(image, tmp_path / "one.png")
    with Image.open(tmp_path / "one.png") as saved:
        np.testing.assert_array_equal(np.asarray(saved), pixels())
    utils.save_image([image, image], str(tmp_path / "two.png"), nrow=1, padding=3)
    assert io.read_image(tmp_path / "two.png").shape == (3, 2 * 26 + 3, 31 + 6)
    buffer = BytesIO()
    utils.save_image(rl.tensor([[-1.0, 0.5, 2.0]]), buffer, format="png")
    assert list(Image.open(buffer).convert("L").tobytes()) == [0, 128, 255]
    with pytest.raises(FileNotFoundError, match="nowhere"):
        utils.save_image(image, tmp_path / "nowhere" / "one.png")


def test_the_package_is_light():
    program = (
        "import sys, rushlight_vision as v; loaded = set(sys.modules); "
        "assert not {'PIL', 'rushlight'} & loaded, 'heavy'; "
        "assert v.transforms.ToTensor and v.models.lenet and v.datasets.MNIST; "
        "assert v.io.read_image and v.utils.make_grid; "
        "assert {'datasets', 'io'} <= set(dir(v))"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rushlight_vision.nothing()
