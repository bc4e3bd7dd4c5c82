"""Sound files: every type comes back, parts are read, faults name the file."""

import io
import os
import stat
import subprocess
import sys

import numpy as np
import pytest
import soundfile

import rushlight as rl
import rushlight_audio as ra
from rushlight_audio.io.formats import _CONTAINERS, most_channels

RATE = 16000


def noise(channels=2, frames=800):
    return rl.from_numpy(
        np.random.default_rng(0).uniform(-0.9, 0.9, (channels, frames)).astype(np.float32)
    )


@pytest.fixture
def stereo(tmp_path):
    path = tmp_path / "stereo.wav"
    ra.save(path, noise(), RATE)
    return path


def test_float_wav_comes_back_exactly(stereo):
    waveform, rate = ra.load(stereo)
    assert (rate, waveform.dtype, waveform.shape) == (RATE, rl.float32, (2, 800))
    assert rl.equal(waveform, noise())
    assert ra.info(stereo) == ra.AudioMetaData(RATE, 800, 2, 32, "PCM_F")
    assert [p.name for p in stereo.parent.iterdir()] == ["stereo.wav"]


def test_layout(stereo, tmp_path):
    assert rl.equal(ra.load(str(stereo), channels_first=False)[0], noise().T)
    ra.save(tmp_path / "t.wav", noise().T, RATE, channels_first=False)
    assert rl.equal(ra.load(tmp_path / "t.wav")[0], noise())


def test_parts(stereo):
    part, _ = ra.load(stereo, frame_offset=100, num_frames=50)
    assert rl.equal(part, noise()[:, 100:150])
    assert ra.load(stereo, frame_offset=790, num_frames=50)[0].shape == (2, 10)
    assert rl.equal(ra.load(stereo, frame_offset=790)[0], noise()[:, 790:])


COMPRESSED = [("ogg", "VORBIS"), ("opus", "OPUS"), ("mp3", "MP3")]


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize(("format", "encoding"), [*COMPRESSED, ("flac", "FLAC"), ("wav", "PCM_F")])
def test_parts_are_slices_of_the_whole(tmp_path, format, encoding, channels):
    path = tmp_path / f"a.{format}"
    # Noise of this length ends in a page that a seek in Vorbis misses by many samples.
    ra.save(path, noise(channels, 100000) * 0.3, 8000)
    assert ra.info(path).encoding == encoding
    whole, _ = ra.load(path)
    assert whole.shape == (channels, 100000)
    by_soundfile = soundfile.read(path, dtype="float32", always_2d=True)[0]
    np.testing.assert_allclose(whole.T.numpy(), by_soundfile, atol=1e-5)
    for offset in (0, 1, 1151, 65535, 65536, 96545, 96723, 99999):
        for frames in (-1, 1, 700, 50000):
            part, _ = ra.load(path, frame_offset=offset, num_frames=frames)
            stop = None if frames == -1 else offset + frames
            assert rl.equal(part, whole[:, offset:stop])


def test_a_compressed_file_that_breaks_off(tmp_path):
    path = tmp_path / "cut.ogg"
    ra.save(path, noise(frames=100000), RATE)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    frames = ra.info(path).num_frames
    assert frames < 100000
    assert ra.load(path)[0].shape == (2, frames)


LOUD = [-np.inf, -3.0, -1.5, -1.0001, -1.0, -0.5, 0.0, 0.5, 1.0, 1.0001, 1.5, 2.0, np.inf]


@pytest.mark.parametrize("dtype", [rl.float32, rl.float64])
@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("wav", {"encoding": "ULAW"}),
        ("wav", {"encoding": "ALAW"}),
        ("wav", {"bits_per_sample": 8}),
        ("wav", {"bits_per_sample": 16}),
        ("wav", {"bits_per_sample": 24}),
        ("wav", {"encoding": "PCM_S", "bits_per_sample": 32}),
        ("flac", {}),
        ("flac", {"bits_per_sample": 8}),
        ("flac", {"bits_per_sample": 24}),
    ],
)
def test_loud_samples_are_cut_off(tmp_path, format, options, dtype):
    path = tmp_path / f"loud.{format}"
    loud = rl.tensor([LOUD], dtype=dtype)
    ra.save(path, loud, RATE, **options)
    coarse = options.get("encoding") in ("ULAW", "ALAW")
    found = ra.load(path)[0].double()
    np.testing.assert_allclose(found, loud.double().clamp(-1, 1), atol=0.03 if coarse else 2**-7)
    ra.save(path, loud.clamp(-1, 1), RATE, **options)
    assert rl.equal(ra.load(path)[0].double(), found)


def test_loud_floats_stay(tmp_path):
    path = tmp_path / "loud.wav"
    values = rl.tensor([[*LOUD, np.nan]])
    ra.save(path, values, RATE)
    np.testing.assert_array_equal(ra.load(path)[0].numpy(), values.numpy())


@pytest.mark.parametrize(
    ("name", "options", "subtype"),
    [
        ("a.wav", {"encoding": "ULAW"}, "ULAW"),
        ("a.wav", {"bits_per_sample": 8}, "PCM_U8"),
        ("a.wav", {"bits_per_sample": 16}, "PCM_16"),
        ("a.wav", {"bits_per_sample": 32}, "PCM_32"),
        ("a.flac", {}, "PCM_16"),
        ("a.ogg", {}, "VORBIS"),
        ("a.opus", {}, "OPUS"),
        ("a.mp3", {}, "MPEG_LAYER_III"),
    ],
)
def test_nan_is_refused_where_it_has_no_value(tmp_path, name, options, subtype):
    waveform = noise()
    waveform[1, 3:5] = np.nan
    with pytest.raises(ValueError, match=f"2 of 1600 samples are NaN.*which {subtype} cannot hold"):
        ra.save(tmp_path / name, waveform, RATE, **options)
    if subtype in ("VORBIS", "OPUS", "MPEG_LAYER_III"):
        waveform[1, 3:5] = np.inf
        with pytest.raises(ValueError, match="2 of 1600 samples are NaN or infinite"):
            ra.save(tmp_path / name, waveform, RATE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("dtype", "bits", "encoding"),
    [
        (rl.uint8, 8, "PCM_U"),
        (rl.int16, 16, "PCM_S"),
        (rl.int32, 32, "PCM_S"),
        (rl.float32, 32, "PCM_F"),
        (rl.float64, 64, "PCM_F"),
    ],
)
def test_wav_keeps_the_type_of_the_tensor(tmp_path, dtype, bits, encoding):
    path = tmp_path / "typed.wav"
    if dtype.is_floating_point:
        waveform = noise().to(dtype) / 3
    else:
        limits = rl.iinfo(dtype)
        waveform = rl.tensor(
            [[limits.min, limits.max, 0, 1, 100, 127, 128 % limits.max]], dtype=dtype
        )
    ra.save(path, waveform, RATE)
    found = ra.info(path)
    assert (found.bits_per_sample, found.encoding) == (bits, encoding)
    stored, _ = ra.load(path, normalize=False)
    assert stored.dtype == dtype
    assert rl.equal(stored, waveform)


def test_integers_are_normalized_by_their_range(tmp_path):
    path = tmp_path / "integers.wav"
    ra.save(path, rl.tensor([[-32768, 0, 16384]], dtype=rl.int16), RATE)
    assert ra.load(path)[0].tolist() == [[-1.0, 0.0, 0.5]]


@pytest.mark.parametrize(
    ("name", "options", "bits", "encoding", "error"),
    [
        ("a.wav", {"bits_per_sample": 24}, 24, "PCM_S", 2**-22),
        ("a.wav", {"encoding": "PCM_S", "bits_per_sample": 16}, 16, "PCM_S", 2**-14),
        ("a.wav", {"encoding": "ULAW"}, 8, "ULAW", 0.04),
        ("a.flac", {}, 16, "FLAC", 2**-14),
        ("a.flac", {"bits_per_sample": 24}, 24, "FLAC", 2**-22),
        ("a.bin", {"format": "flac"}, 16, "FLAC", 2**-14),
    ],
)
def test_encodings(tmp_path, name, options, bits, encoding, error):
    path = tmp_path / name
    ra.save(path, noise(), RATE, **options)
    found = ra.info(path)
    assert (found.bits_per_sample, found.encoding, found.num_frames) == (bits, encoding, 800)
    assert (ra.load(path)[0] - noise()).abs().max().item() <= error


def test_24_bits_lie_in_the_upper_ones(tmp_path):
    path = tmp_path / "a.wav"
    ra.save(path, rl.tensor([[1 << 8, -(1 << 31)]], dtype=rl.int32), RATE, bits_per_sample=24)
    assert ra.load(path, normalize=False)[0].tolist() == [[1 << 8, -(1 << 31)]]


def test_lossy_formats(tmp_path):
    time = rl.arange(RATE) / RATE
    tone = 0.5 * rl.sin(2 * rl.pi * 440 * time).unsqueeze(0)
    ra.save(tmp_path / "a.ogg", tone, RATE)
    assert ra.info(tmp_path / "a.ogg").encoding == "VORBIS"
    assert (ra.load(tmp_path / "a.ogg")[0] - tone).abs().mean().item() < 0.02


def test_file_objects():
    buffer = io.BytesIO()
    ra.save(buffer, noise(), RATE, format="wav")
    buffer.seek(0)
    assert ra.info(buffer).num_channels == 2
    buffer.seek(0)
    assert rl.equal(ra.load(buffer)[0], noise())
    with pytest.raises(ValueError, match="'format' is needed"):
        ra.save(io.BytesIO(), noise(), RATE)
    with pytest.raises(RuntimeError, match="<BytesIO>: not a sound file"):
        ra.load(io.BytesIO(b"no sound"))


@pytest.mark.parametrize("read", [ra.load, ra.info])
def test_faulty_files_are_named(tmp_path, read):
    with pytest.raises(FileNotFoundError, match="no such file.*gone.wav"):
        read(tmp_path / "gone.wav")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read(tmp_path)
    (tmp_path / "zero.wav").touch()
    with pytest.raises(RuntimeError, match="zero.wav: the file is empty .0 bytes."):
        read(tmp_path / "zero.wav")
    (tmp_path / "text.wav").write_text("This is no sound at all, only words. " * 9)
    with pytest.raises(RuntimeError, match="text.wav: not a sound file: Format not recogni"):
        read(str(tmp_path / "text.wav"))


def test_a_wav_without_samples(tmp_path):
    path = tmp_path / "header.wav"
    soundfile.write(path, np.zeros((0, 1), dtype=np.float32), RATE)
    assert ra.info(path).num_frames == 0
    with pytest.raises(RuntimeError, match="header.wav: the file holds no samples"):
        ra.load(path)


def test_a_flac_that_breaks_off(tmp_path):
    path = tmp_path / "cut.flac"
    ra.save(path, noise(frames=40000), RATE)
    path.write_bytes(path.read_bytes()[:60000])
    with pytest.raises(RuntimeError, match="cut.flac: (cannot be read|the file breaks off)"):
        ra.load(path)


def test_load_arguments(stereo):
    with pytest.raises(ValueError, match="num_frames must be -1 or greater than 0, got 0"):
        ra.load(stereo, num_frames=0)
    with pytest.raises(
        ValueError, match=r"stereo.wav: frame_offset must be in \[0, 800\).*got 800"
    ):
        ra.load(stereo, frame_offset=800)
    with pytest.raises(ValueError, match="frame_offset"):
        ra.load(stereo, frame_offset=-1)
    with pytest.raises(ValueError, match="one of .'soundfile', 'ffmpeg'., got 'sax'"):
        ra.load(stereo, backend="sax")


def test_save_arguments(tmp_path):
    path = tmp_path / "a.wav"
    with pytest.raises(TypeError, match="'src' must be a tensor, not list"):
        ra.save(path, [0.0], RATE)
    with pytest.raises(ValueError, match=r"2 dimensions.*got shape \[1, 2, 800\]"):
        ra.save(path, noise()[None], RATE)
    with pytest.raises(ValueError, match=r"holds no samples, its shape is \[2, 0\]"):
        ra.save(path, rl.zeros(2, 0), RATE)
    with pytest.raises(TypeError, match="must be uint8.*got rushlight.int64"):
        ra.save(path, rl.zeros(1, 4, dtype=rl.int64), RATE)
    with pytest.raises(ValueError, match="sample_rate must be a positive integer, got 0.5"):
        ra.save(path, noise(), 0.5)
    with pytest.raises(ValueError, match="got 4294967296; files hold less than 2"):
        ra.save(path, noise(), 2**32)
    with pytest.raises(ValueError, match="a.xyz: unknown format 'xyz'"):
        ra.save(tmp_path / "a.xyz", noise(), RATE)
    with pytest.raises(ValueError, match="wav has no encoding='PCM_U' with bits_per_sample=16"):
        ra.save(path, noise(), RATE, encoding="PCM_U", bits_per_sample=16)
    with pytest.raises(ValueError, match="flac takes no encoding"):
        ra.save(tmp_path / "a.flac", noise(), RATE, encoding="PCM_S")
    with pytest.raises(ValueError, match="flac has bits_per_sample 8, 16 or 24, got 32"):
        ra.save(tmp_path / "a.flac", noise(), RATE, bits_per_sample=32)
    with pytest.raises(ValueError, match="ogg takes no bits_per_sample"):
        ra.save(tmp_path / "a.ogg", noise(), RATE, bits_per_sample=16)
    with pytest.raises(ValueError, match="wav is not compressed; compression must be None"):
        ra.save(path, noise(), RATE, compression=5)
    with pytest.raises(FileNotFoundError, match="no such folder.*absent"):
        ra.save(tmp_path / "absent" / "a.wav", noise(), RATE)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_runs_full_keeps_the_old_file(tmp_path, stereo):
    # A limit on the size of files stands for the full disk; it is the process's, so another one's.
    before = stereo.read_bytes()
    code = (
        "import resource, sys, rushlight as rl, rushlight_audio as ra\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "try:\n"
        "    ra.save(sys.argv[1], rl.zeros(1, 200000), 16000)\n"
        "except OSError as error:\n"
        "    print(error)\n"
    )
    command = [sys.executable, "-B", "-c", code, str(stereo)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"save(): {stereo}: cannot be written" in shown.stdout
    assert stereo.read_bytes() == before
    assert list(tmp_path.iterdir()) == [stereo]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_named(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(OSError, match="locked/a.wav: cannot be written"):
        ra.save(folder / "a.wav", noise(), RATE)


def test_a_wav_of_a_compressed_type_is_normalized_only(tmp_path):
    path = tmp_path / "mu.wav"
    ra.save(path, noise(), RATE, encoding="ULAW")
    with pytest.raises(ValueError, match="mu.wav: a WAV of ULAW has no plain type"):
        ra.load(path, normalize=False)


@pytest.mark.parametrize("name", _CONTAINERS)
def test_more_channels_than_a_format_holds(tmp_path, name):
    most = most_channels(name)
    ra.save(tmp_path / f"most.{name}", rl.zeros(most, 50), RATE)
    assert ra.info(tmp_path / f"most.{name}").num_channels == most
    with pytest.raises(ValueError, match=rf"{name} holds up to {most} channels.*channels_first"):
        ra.save(tmp_path / f"more.{name}", rl.zeros(most + 1, 50), RATE)
    assert not (tmp_path / f"more.{name}").exists()


@pytest.mark.parametrize("rate", [np.int64(RATE), np.int16(RATE), rl.tensor(RATE)])
def test_rates_and_offsets_that_count_as_integers(tmp_path, rate):
    path = tmp_path / "a.wav"
    ra.save(path, noise(), rate)
    samples, found = ra.load(path, np.int64(10), np.int32(5))
    assert (found, samples.shape[-1]) == (RATE, 5)
    with pytest.raises(TypeError, match="frame_offset must be an integer, got 1.5"):
        ra.load(path, 1.5)
