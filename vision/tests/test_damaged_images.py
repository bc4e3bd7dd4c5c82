"""Damaged images: an error that names them, or an image that can be right."""

from __future__ import annotations

import io
import struct
import zlib

import damaged_images
import pytest
from PIL import Image

import rushlight as rl
from rushlight_vision.datasets.folder import open_image
from rushlight_vision.io import decode_gif, decode_image, decode_jpeg, decode_png, read_image

# Pillow warns of damaged metadata and of large images that it reads nevertheless.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("begin", range(0, 800, 100))
def test_mutated_files(begin, tmp_path):
    found = (damaged_images.case(number, tmp_path) for number in range(begin, begin + 100))
    assert [(name, kind, fault) for name, kind, _, fault in found if fault] == []


def tensor(data):
    return rl.frombuffer(bytearray(data), dtype=rl.uint8)


def huge_png(side):
    """The header of a square image, and a row or two of it."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(10 * side))
    file = b"\x89PNG\r\n\x1a\n"
    for name, data in ((b"IHDR", header), (b"IDAT", rows), (b"IEND", b"")):
        file += struct.pack(">I", len(data)) + name + data
        file += struct.pack(">I", zlib.crc32(name + data))
    return file


def test_huge_images_are_refused_by_name(tmp_path):
    path = tmp_path / "huge.png"
    path.write_bytes(huge_png(20_000))
    limit = "MAX_IMAGE_PIXELS sets the limit"
    with pytest.raises(RuntimeError, match=rf"huge\.png is too large .*400000000 pixels.*{limit}"):
        read_image(path)
    with pytest.raises(ValueError, match=rf"huge\.png is too large an image: .*{limit}"):
        open_image(path)
    with pytest.raises(RuntimeError, match=f"the tensor of .* bytes is too large .*{limit}"):
        decode_png(tensor(huge_png(20_000)))


def test_films_of_many_frames_are_refused_together(monkeypatch):
    frames = [Image.new("RGB", (40, 30), (20 * number, 0, 99)) for number in range(9)]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    film = tensor(file.getvalue())
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 9 * 40 * 30 // 2)
    assert decode_gif(film).shape == (9, 3, 30, 40)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 9 * 40 * 30 // 2 - 1)
    with pytest.raises(RuntimeError, match="too large an image: 9 frames of 40 x 30 pixels"):
        decode_gif(film)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert decode_gif(film).shape == (9, 3, 30, 40)


def test_numbers_that_are_none_name_the_file(tmp_path):
    path = tmp_path / "numbers.ppm"
    path.write_bytes(b"P6 3 2 2x5 " + bytes(18))
    with pytest.raises(RuntimeError, match=r"numbers\.ppm is a damaged image: .*2x5"):
        read_image(path)
    with pytest.raises(ValueError, match=r"numbers\.ppm is a damaged image: .*2x5"):
        open_image(path)


def test_other_kinds_of_files(tmp_path):
    for content in (b"", b"\x00" * 100, b"PK\x03\x04" + bytes(60), b"%PDF-1.7\n", b"<svg/>"):
        with pytest.raises(RuntimeError, match="not an image that Pillow can read"):
            decode_image(tensor(content) if content else rl.empty(0, dtype=rl.uint8))
    with pytest.raises(RuntimeError, match="decode_jpeg: .* is a file of the format PNG"):
        decode_jpeg(tensor(damaged_images.seeds()["png"]))
