"""torchaudio's helpers: published files, what FFmpeg can do."""

import hashlib

import pytest

from rushlight.utils.download import DownloadError
from rushlight_audio import utils


def test_an_asset_that_is_there(tmp_path):
    path = tmp_path / "a.wav"
    path.write_bytes(b"sound")
    digest = hashlib.sha256(b"sound").hexdigest()
    assert utils.download_asset("x/a.wav", digest, path) == str(path)
    assert utils.download_asset("x/a.wav", path=path) == str(path)
    with pytest.raises(ValueError, match=f"a.wav has the SHA-256 sum {digest}, not 0000"):
        utils.download_asset("x/a.wav", "0000", path)


def test_an_asset_of_a_mirror(tmp_path, monkeypatch):
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "whistle.wav").write_bytes(b"sound")
    monkeypatch.setattr("rushlight_audio.utils.download._ADDRESS", "http://127.0.0.1:9/")
    monkeypatch.setattr("rushlight.utils.download._chosen", [str(tmp_path)])
    with pytest.raises(DownloadError, match=r"whistle.wav.*http://127.0.0.1:9/assets/whistle.wav"):
        utils.download_asset("assets/whistle.wav")
    monkeypatch.setattr(
        "rushlight_audio.utils.download._ADDRESS", (tmp_path / "mirror").as_uri() + "/"
    )
    path = utils.download_asset("whistle.wav")
    assert path == str(tmp_path / "torchaudio" / "whistle.wav")


def test_what_ffmpeg_can_do():
    pytest.importorskip("av")
    ffmpeg = utils.ffmpeg_utils
    assert {"libavcodec", "libavformat"} <= set(ffmpeg.get_versions())
    assert "wav" in ffmpeg.get_demuxers()
    assert "mp4" in ffmpeg.get_muxers()
    assert "pcm_s16le" in ffmpeg.get_audio_decoders()
    assert "flac" in ffmpeg.get_audio_encoders()
    assert "h264" in ffmpeg.get_video_decoders()
    assert "flac" not in ffmpeg.get_video_encoders()
    before = ffmpeg.get_log_level()
    ffmpeg.set_log_level(16)
    assert ffmpeg.get_log_level() == 16
    ffmpeg.set_log_level(before)
    assert ffmpeg.get_log_level() == before
    for name in ("build_config", "input_devices", "output_devices", "input_protocols"):
        with pytest.raises(NotImplementedError, match=rf"get_{name}\(\) is not there.*use"):
            getattr(ffmpeg, f"get_{name}")()
