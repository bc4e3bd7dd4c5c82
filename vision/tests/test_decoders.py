"""Decoders of one format each, and several images at once."""

from __future__ import annotations

import io as memory
import sys

import numpy as np
import pytest
from PIL import Image, features

import rushlight as rl
from rushlight_vision import io

PIXELS = np.random.default_rng(0).integers(0, 256, (9, 11, 3)).astype(np.uint8)


def encoded(format, image=None, **options):
    """An image as the bytes of a file, in a tensor."""
    buffer = memory.BytesIO()
    (image or Image.fromarray(PIXELS)).save(buffer, format, **options)
    return rl.frombuffer(bytearray(buffer.getvalue()), dtype=rl.uint8)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "AVIF", "GIF"])
def test_decoders_take_their_format_only(format):
    if format == "AVIF" and not features.check("avif"):
        pytest.skip("this Pillow has no AVIF")
    data = encoded(format)
    decode = getattr(io, f"decode_{format.lower()}")
    found = decode(data)
    assert found.dtype is rl.uint8 and found.shape == (3, 9, 11)
    np.testing.assert_array_equal(found.numpy(), io.decode_image(data).numpy())
    if format == "PNG":
        np.testing.assert_array_equal(found.numpy(), PIXELS.transpose(2, 0, 1))
    if format != "GIF":
        assert decode(data, io.ImageReadMode.GRAY).shape == (1, 9, 11)
    other = encoded("BMP")
    with pytest.raises(RuntimeError, match=f"decode_{format.lower()}: .* of the format BMP"):
        decode(other)
    with pytest.raises(RuntimeError, match="is not an image that Pillow can read"):
        decode(rl.zeros(40, dtype=rl.uint8))
    with pytest.raises(TypeError, match=f"decode_{format.lower()}: expected a uint8 tensor"):
        decode(rl.zeros(4))


def test_frames_of_a_gif():
    pictures = [Image.fromarray(np.full((4, 5, 3), n, np.uint8)) for n in (0, 120, 240)]
    data = encoded("GIF", pictures[0], save_all=True, append_images=pictures[1:])
    found = io.decode_gif(data)
    assert found.shape == (3, 3, 4, 5) and found[:, 0, 0, 0].tolist() == [0, 120, 240]


def test_orientation_is_applied_where_it_is_asked():
    about = Image.Exif()
    about[0x0112] = 6  # lies on its side
    data = encoded("JPEG", exif=about)
    assert io.decode_jpeg(data).shape == (3, 9, 11)
    assert io.decode_jpeg(data, apply_exif_orientation=True).shape == (3, 11, 9)


def test_lists_of_images_keep_their_order():
    values = [rl.full((3, 8, 8), 10 * n, dtype=rl.uint8) for n in range(12)]
    files = io.encode_jpeg(values, quality=90)
    assert isinstance(files, list) and all(one.dtype is rl.uint8 for one in files)
    found = io.decode_jpeg(files, "RGB", device="cpu")
    assert [one.shape for one in found] == [(3, 8, 8)] * 12
    assert [round(one.float().mean().item() / 10) for one in found] == list(range(12))
    assert io.decode_jpeg([]) == []
    with pytest.raises(RuntimeError, match="not an image"):
        io.decode_jpeg([files[0], rl.zeros(9, dtype=rl.uint8)])


def test_heic():
    pytest.importorskip("pillow_heif").register_heif_opener()
    data = encoded("HEIF", quality=-1, chroma=444)
    found = io.decode_heic(data)
    assert found.dtype == rl.uint8 and found.shape == (3, 9, 11)
    expected = rl.from_numpy(PIXELS).permute(2, 0, 1)
    assert (found.int() - expected.int()).abs().max() <= 2  # colours are rounded to YCbCr
    assert io.decode_heic(data, io.ImageReadMode.GRAY).shape == (1, 9, 11)
    with pytest.raises(RuntimeError, match="decode_heic: .* is a file of the format PNG"):
        io.decode_heic(encoded("PNG"))
    with pytest.raises(TypeError, match="decode_heic: expected a uint8 tensor"):
        io.decode_heic(data.float())


def test_heic_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(ImportError, match=r"pip install 'rushlight-vision\[heic\]'"):
        io.decode_heic(rl.zeros(9, dtype=rl.uint8))


def test_video_says_what_it_needs(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "av", None)
    (tmp_path / "a.mp4").write_bytes(b"")
    with pytest.raises(ImportError, match=r"pip install 'rushlight-vision\[video\]'"):
        io.read_video(str(tmp_path / "a.mp4"))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        io.nothing  # noqa: B018


def test_facts_of_videos():
    facts = io.VideoMetaData()
    assert not facts.has_video and not facts.has_audio
    assert (facts.video_duration, facts.video_fps) == (0.0, 0.0)
    assert (facts.audio_duration, facts.audio_sample_rate) == (0.0, 0.0)
    assert (facts.video_timebase.numerator, facts.video_timebase.denominator) == (0, 1)
    facts.audio_timebase = io.Timebase(1, 8000)
    assert facts.audio_timebase.denominator == 8000
    assert io.VideoMetaData().audio_timebase.denominator == 1
    with pytest.raises(AttributeError):
        facts.frames = 3
