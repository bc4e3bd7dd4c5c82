"""Which library reads and writes: chosen, found by itself, absent; addresses and odd sources."""

import http.server
import io
import socket
import sys
import threading

import numpy as np
import pytest

import rushlight as rl
import rushlight_audio as ra
from rushlight.utils.download import DownloadError

RATE = 16000


def noise(channels=2, frames=800):
    values = np.random.default_rng(0).uniform(-0.9, 0.9, (channels, frames))
    return rl.from_numpy(values.astype(np.float32))


@pytest.fixture(autouse=True)
def chosen():
    yield
    ra.set_audio_backend(None)


def test_the_choice(tmp_path):
    assert ra.list_audio_backends()[0] == "soundfile"
    assert ra.get_audio_backend() is None
    ra.set_audio_backend("sox_io")
    assert ra.get_audio_backend() == "soundfile"
    with pytest.raises(ValueError, match="set_audio_backend.*got 'flac'"):
        ra.set_audio_backend("flac")
    assert ra.io.list_audio_backends is ra.list_audio_backends
    ra.save(tmp_path / "a.wav", noise(), RATE, backend="sox")
    assert rl.equal(ra.load(tmp_path / "a.wav", backend="soundfile")[0], noise())


def test_without_pyav(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert ra.list_audio_backends() == ["soundfile"]
    (tmp_path / "a.m4a").write_bytes(b"none of libsndfile's formats" * 9)
    with pytest.raises(RuntimeError, match=r"a.m4a: not a sound file.*rushlight-audio\[av\]"):
        ra.load(tmp_path / "a.m4a")
    with pytest.raises(RuntimeError, match=r"'ffmpeg' needs PyAV: pip install rushlight-audio\[av"):
        ra.load(tmp_path / "a.m4a", backend="ffmpeg")
    with pytest.raises(ValueError, match=r"unknown format 'm4a'.*rushlight-audio\[av\]"):
        ra.save(tmp_path / "b.m4a", noise(), RATE)
    with pytest.raises(ImportError, match=r"StreamReader\(\) needs PyAV"):
        ra.io.StreamReader(tmp_path / "a.m4a")


@pytest.mark.parametrize("format", ["wav", "flac", "mp3", "ogg", "opus", "aiff", "au", "caf"])
def test_both_libraries_read_the_same(tmp_path, format):
    pytest.importorskip("av")
    path = tmp_path / f"a.{format}"
    rate = 48000 if format == "opus" else RATE
    ra.save(path, noise(frames=30000) * 0.3, rate)
    by_ffmpeg = ra.load(path, backend="ffmpeg")
    assert by_ffmpeg[1] == rate
    # FFmpeg's own decoder of Opus rounds otherwise than libopus.
    atol = 2e-3 if format == "opus" else 1e-5
    np.testing.assert_allclose(by_ffmpeg[0], ra.load(path)[0], atol=atol)
    theirs, ours = ra.info(path, backend="ffmpeg"), ra.info(path)
    assert theirs == ours


ENCODINGS = [
    *[("PCM_S", 16), ("PCM_S", 24), ("PCM_S", 32), ("PCM_U", 8)],
    *[("PCM_F", 32), ("PCM_F", 64), ("ULAW", 8), ("ALAW", 8)],
]


@pytest.mark.parametrize(("encoding", "bits"), ENCODINGS)
def test_wav_by_ffmpeg(tmp_path, encoding, bits):
    pytest.importorskip("av")
    path = tmp_path / "a.wav"
    ra.save(path, noise(), RATE, encoding=encoding, bits_per_sample=bits, backend="ffmpeg")
    assert ra.info(path) == ra.AudioMetaData(RATE, 800, 2, bits, encoding)
    found = ra.load(path)[0]
    assert rl.equal(ra.load(path, backend="ffmpeg")[0], found)
    step = 2**-4 if "LAW" in encoding else 2.0 ** (1 - min(bits, 24))
    assert (found - noise()).abs().max().item() <= step
    if "LAW" not in encoding and bits < 64:
        raw = ra.load(path, normalize=False, backend="ffmpeg")[0]
        assert rl.equal(raw, ra.load(path, normalize=False)[0])
        assert rl.equal(raw, ra.load_wav(path)[0])


def test_formats_that_only_ffmpeg_knows(tmp_path):
    pytest.importorskip("av")
    tone = 0.5 * rl.sin(2 * rl.pi * 440 * rl.arange(RATE) / RATE)
    for format, encoding in (("m4a", "AAC"), ("mp4", "AAC"), ("tta", "TTA"), ("wv", "WAVPACK")):
        path = tmp_path / f"a.{format}"
        ra.save(path, tone, RATE)
        assert ra.info(path) == ra.AudioMetaData(RATE, RATE, 1, 0, encoding)
        whole = ra.load(path)[0]
        assert (whole[0] - tone).abs().mean().item() < 4e-3
        assert rl.equal(ra.load(path, 1234, 4000)[0], whole[:, 1234:5234])
        assert rl.equal(ra.load(io.BytesIO(path.read_bytes()))[0], whole)
    with pytest.raises(ValueError, match=r"frame_offset must be in \[0, 16000\)"):
        ra.load(tmp_path / "a.m4a", frame_offset=RATE)
    with pytest.raises(ValueError, match="1 of 16000 samples are NaN or infinite"):
        ra.save(tmp_path / "b.m4a", tone.clone().index_fill(0, rl.tensor([3]), rl.nan), RATE)
    ra.save(tmp_path / "a.ogg", rl.stack([tone, tone]), RATE, backend="ffmpeg")
    assert ra.info(tmp_path / "a.ogg") == ra.AudioMetaData(RATE, RATE, 2, 0, "VORBIS")
    small, large = (tmp_path / f"{rate}.m4a" for rate in (24, 96))
    ra.save(small, noise(frames=RATE), RATE, compression=24)
    ra.save(large, noise(frames=RATE), RATE, compression=96000)
    assert small.stat().st_size < 0.5 * large.stat().st_size


@pytest.mark.parametrize("format", ["rf64", "w64", "aif", "snd", "caf", "sph", "nist"])
def test_plain_containers(tmp_path, format):
    path = tmp_path / f"a.{format}"
    ra.save(path, noise(), RATE, encoding="PCM_S", bits_per_sample=24)
    assert ra.info(path) == ra.AudioMetaData(RATE, 800, 2, 24, "PCM_S")
    whole = ra.load(path)[0]
    np.testing.assert_allclose(whole, noise(), atol=2**-22)
    assert rl.equal(ra.load(path, 100, 50)[0], whole[:, 100:150])


def test_htk(tmp_path):
    ra.save(tmp_path / "a.htk", noise(1), RATE)
    assert ra.info(tmp_path / "a.htk").bits_per_sample == 16
    with pytest.raises(ValueError, match="htk has no encoding='PCM_F'.*PCM_S with 16"):
        ra.save(tmp_path / "a.htk", noise(1), RATE, encoding="PCM_F")


def bits_per_second(frames, **options):
    file = io.BytesIO()
    ra.save(file, noise(1, frames) * 0.3, RATE, **options)
    return len(file.getvalue()) * 8 * RATE / frames


@pytest.mark.parametrize(
    ("format", "compression", "rate"),
    [
        ("mp3", 32, 32e3),
        ("mp3", 96000, 96e3),
        ("mp3", ra.io.CodecConfig(bit_rate=64000), 64e3),
        ("opus", 32, 32e3),
        ("opus", ra.io.CodecConfig(bit_rate=96000), 96e3),
    ],
)
def test_bit_rates(format, compression, rate):
    assert abs(bits_per_second(5 * RATE, format=format, compression=compression) / rate - 1) < 0.1


@pytest.mark.parametrize(
    ("format", "small", "large"),
    [
        ("ogg", 0, 9.5),
        ("vorbis", ra.io.CodecConfig(qscale=1), ra.io.CodecConfig(qscale=8)),
        ("mp3", -9, -0.0),
        ("mp3", ra.io.CodecConfig(qscale=9), ra.io.CodecConfig(qscale=1)),
        ("flac", ra.io.CodecConfig(compression_level=8), 0),
    ],
)
def test_levels(format, small, large):
    sizes = [bits_per_second(RATE, format=format, compression=level) for level in (small, large)]
    assert sizes[0] < sizes[1] * (1.001 if format == "flac" else 0.8)


def test_compression_that_does_not_fit():
    for format, value, message in (
        ("flac", 9, r"flac must be in \[0, 8\], got 9"),
        ("ogg", 11, r"vorbis must be in \[0, 10\], got 11"),
        ("mp3", 200, r"mp3 at 16000 Hz, kbit/s, must be in \[8, 160\], got 200"),
        ("wav", 3, "wav is not compressed"),
        ("flac", ra.io.CodecConfig(bit_rate=3), "flac takes compression_level alone"),
    ):
        with pytest.raises(ValueError, match=message):
            ra.save(io.BytesIO(), noise(), RATE, format=format, compression=value)
    with pytest.raises(TypeError, match="compression must be a number.*not str"):
        ra.save(io.BytesIO(), noise(), RATE, format="mp3", compression="128")


class OnlyRead:
    """What `urllib` or a pipe gives: no way back."""

    def __init__(self, data):
        self._file = io.BytesIO(data)

    def read(self, size=-1):
        return self._file.read(size)


def test_sources_without_a_way_back():
    file = io.BytesIO()
    ra.save(file, noise(), RATE, format="flac")
    assert ra.load(OnlyRead(file.getvalue()))[0].shape == (2, 800)
    assert ra.info(OnlyRead(file.getvalue())).num_frames == 800
    with pytest.raises(TypeError, match="'uri' must be a path.*not int"):
        ra.load(3)


def test_one_dimension_is_one_channel(tmp_path):
    ra.save_with_torchcodec(tmp_path / "a.wav", noise()[0], RATE)
    assert rl.equal(ra.load_with_torchcodec(tmp_path / "a.wav")[0], noise()[:1])


def test_addresses(tmp_path):
    ra.save(tmp_path / "a b.wav", noise(), RATE)
    (tmp_path / "text.html").write_text("no sound")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(tmp_path))

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        base = f"http://127.0.0.1:{server.server_port}"
        assert rl.equal(ra.load(f"{base}/a%20b.wav", 10, 20)[0], noise()[:, 10:30])
        assert ra.info(f"{base}/a%20b.wav").num_frames == 800
        with pytest.raises(DownloadError, match=r"info\(\): http.*gone.wav cannot be fetched.*404"):
            ra.info(f"{base}/gone.wav")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_address_without_a_network():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/a.wav"
    with pytest.raises(DownloadError, match=r"load\(\): http.*a.wav cannot be fetched; "):
        ra.load(address)
