"""Streams in chunks: written, read, sought, filtered; what `AudioEffector` does."""

import io

import numpy as np
import pytest

import rushlight as rl
import rushlight_audio as ra
from rushlight_audio.io import AudioEffector, CodecConfig, StreamReader, StreamWriter
from rushlight_audio.io.filter_graph import parsed

pytest.importorskip("av")
RATE = 16000
FRAMES = 40000


def tone(channels=2):
    wave = 0.5 * rl.sin(2 * rl.pi * 440 * rl.arange(FRAMES) / RATE)
    return rl.stack([wave, -0.5 * wave][:channels], 1)


def pictures(count=20):
    values = np.random.default_rng(0).integers(0, 255, (count, 3, 48, 64))
    return rl.from_numpy(values.astype(np.uint8))


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """Sound and pictures without loss, written in chunks."""
    path = tmp_path_factory.mktemp("film") / "film.mkv"
    writer = StreamWriter(path)
    writer.add_audio_stream(RATE, 2, encoder="pcm_f32le")
    writer.add_video_stream(10, 64, 48, encoder="ffv1", encoder_format="bgr0")
    writer.set_metadata({"title": "Test"})
    with writer.open():
        for start in range(0, FRAMES, 7000):
            writer.write_audio_chunk(0, tone()[start : start + 7000])
        for start in range(0, 20, 6):
            writer.write_video_chunk(1, pictures()[start : start + 6])
    return path


def collected(reader):
    found = [[] for _ in range(reader.num_out_streams)]
    for chunks in reader.stream():
        for each, chunk in zip(found, chunks, strict=True):
            each.extend([] if chunk is None else [chunk])
    return found


def test_what_a_film_says(film):
    reader = StreamReader(film)
    assert (reader.num_src_streams, reader.num_out_streams) == (2, 0)
    assert (reader.default_audio_stream, reader.default_video_stream) == (0, 1)
    assert reader.get_metadata()["title"] == "Test"
    sound, video = reader.get_src_stream_info(0), reader.get_src_stream_info(1)
    assert (sound.media_type, sound.codec, sound.format) == ("audio", "pcm_f32le", "flt")
    assert (sound.sample_rate, sound.num_channels, sound.bits_per_sample) == (RATE, 2, 32)
    assert (video.media_type, video.codec, video.format) == ("video", "ffv1", "bgr0")
    assert (video.width, video.height, video.frame_rate) == (64, 48, 10.0)


def test_chunks_are_the_whole(film):
    reader = StreamReader(film)
    reader.add_basic_audio_stream(4000, -1)
    reader.add_basic_video_stream(6, -1)
    reader.add_basic_audio_stream(3000, -1, sample_rate=8000, num_channels=1, format="s16p")
    sound, video, low = collected(reader)
    assert rl.equal(rl.cat(sound), tone())
    assert {len(chunk) for chunk in sound} == {4000}
    assert rl.equal(rl.cat(video), pictures())
    assert [len(chunk) for chunk in video] == [6, 6, 6, 2]
    np.testing.assert_allclose([chunk.pts for chunk in video], [0, 0.6, 1.2, 1.8])
    # Matroska counts milliseconds.
    np.testing.assert_allclose([c.pts for c in sound], np.arange(10) / 4, atol=1e-3)
    assert (rl.cat(low).dtype, rl.cat(low).shape) == (rl.int16, (20000, 1))
    assert [reader.get_out_stream_info(i).media_type for i in range(3)] == [
        "audio",
        "video",
        "audio",
    ]
    last = reader.get_out_stream_info(2)
    assert (last.sample_rate, last.num_channels, last.format) == (8000.0, 1, "s16p")
    assert last.source_index == 0
    assert last.filter_description == "aresample=8000,aformat=sample_fmts=s16p:channel_layouts=1c"


def test_video_is_scaled(film):
    reader = StreamReader(film)
    reader.add_basic_video_stream(20, -1, frame_rate=5, width=32, height=24, format="gray")
    reader.add_video_stream(-1, -1, filter_desc="hflip,format=pix_fmts=rgb24")
    reader.process_all_packets()
    small, flipped = reader.pop_chunks()
    assert small.shape == (10, 1, 24, 32)
    assert rl.equal(flipped, pictures().flip(3))
    info = reader.get_out_stream_info(0)
    assert (info.width, info.height, info.frame_rate, info.format) == (32, 24, 5.0, "gray")
    reader.remove_stream(0)
    assert reader.num_out_streams == 1
    with pytest.raises(RuntimeError, match="output stream 1 is not there; there are 1"):
        reader.get_out_stream_info(1)


def test_a_small_buffer_keeps_the_newest(film):
    reader = StreamReader(film)
    reader.add_basic_audio_stream(1000, 2)
    assert not reader.is_buffer_ready()
    assert reader.pop_chunks() == (None,)
    reader.process_all_packets()
    assert reader.process_packet() == 1
    found = [reader.pop_chunks()[0] for _ in range(2)]
    assert rl.equal(rl.cat(found), tone()[-2000:])
    assert found[0].pts == pytest.approx(2.375, abs=1e-3)
    assert reader.pop_chunks() == (None,)


def test_seek(film):
    reader = StreamReader(film)
    reader.add_basic_audio_stream(100, -1)
    reader.add_basic_video_stream(1, -1)
    for _ in range(2):
        reader.seek(1.25)
        assert reader.fill_buffer() == 0
        sound, video = reader.pop_chunks()
        assert rl.equal(video, pictures()[13:14])
        assert rl.equal(sound, tone()[20000:20100])
    reader.seek(1.25, "key")
    reader.fill_buffer()
    assert rl.equal(reader.pop_chunks()[1], pictures()[12:13])
    with pytest.raises(ValueError, match="timestamp must be 0 or more, got -1"):
        reader.seek(-1)
    with pytest.raises(ValueError, match=r"mode must be one of .*got 'fast'"):
        reader.seek(1, "fast")


@pytest.mark.parametrize("format", ["mp3", "ogg", "flac", "m4a", "opus", "wav"])
def test_seek_in_compressed_sound_is_a_slice(tmp_path, format):
    path = tmp_path / f"a.{format}"
    ra.save(path, tone().T.repeat(1, 3), RATE)
    whole, part = StreamReader(path), StreamReader(path)
    for reader in (whole, part):
        reader.add_basic_audio_stream(-1, -1)
    part.seek(5.01)
    for reader in (whole, part):
        reader.process_all_packets()
    (all_of_it,), (rest,) = whole.pop_chunks(), part.pop_chunks()
    rate = whole.get_src_stream_info(0).sample_rate
    assert rest.pts == pytest.approx(5.01, abs=1 / rate)
    assert len(rest) == len(all_of_it) - round((5.01 - all_of_it.pts) * rate)
    np.testing.assert_allclose(rest, all_of_it[-len(rest) :], atol=1e-6)


def test_raw_samples_and_file_objects():
    raw = (tone() * 32767).to(rl.int16)
    option = {"sample_rate": str(RATE), "channels": "2"}
    source = io.BytesIO(raw.numpy().tobytes())
    reader = StreamReader(source, "s16le", option, buffer_size=500)
    reader.add_basic_audio_stream(FRAMES, format=None)
    ((chunk,),) = list(reader.stream())
    assert rl.equal(chunk, raw)


@pytest.mark.parametrize("format", ["mp3", "ogg", "flac", "wav"])
def test_pipes(format):
    """Objects that can only write, and only read, from front to back."""

    class Into(list):
        def write(self, data):
            self.append(bytes(data))
            return len(data)

    class From:
        def __init__(self, data):
            self._file = io.BytesIO(data)

        def read(self, size):
            return self._file.read(size)

    pipe = Into()
    writer = StreamWriter(pipe, format)
    writer.add_audio_stream(RATE, 1)
    with writer.open():
        writer.write_audio_chunk(0, tone(1))
    reader = StreamReader(From(b"".join(pipe)), format)
    reader.add_basic_audio_stream(-1, -1)
    reader.process_all_packets()
    (found,) = reader.pop_chunks()
    assert FRAMES <= len(found) < FRAMES + 3000
    if format != "mp3":
        assert (found[:FRAMES] - tone(1)).abs().max().item() < 1e-3


def test_faults_of_readers(film, tmp_path):
    with pytest.raises(FileNotFoundError, match="gone.wav"):
        StreamReader(tmp_path / "gone.wav")
    with pytest.raises(RuntimeError, match=r"StreamReader\(\): <BytesIO>: Invalid data"):
        StreamReader(b"no sound at all" * 50)
    with pytest.raises(TypeError, match="'src' must be a path.*not int"):
        StreamReader(3)
    reader = StreamReader(film)
    with pytest.raises(ValueError, match="frames_per_chunk must be positive or -1, got 0"):
        reader.add_basic_audio_stream(0)
    with pytest.raises(RuntimeError, match="stream 1 is video"):
        reader.add_basic_audio_stream(1, stream_index=1)
    with pytest.raises(RuntimeError, match="source stream 2 is not there; there are 2"):
        reader.get_src_stream_info(2)
    with pytest.raises(NotImplementedError, match="decoder='h264' is not there"):
        reader.add_basic_video_stream(1, decoder="h264")
    with pytest.raises(NotImplementedError, match="hw_accel is not there"):
        reader.add_basic_video_stream(1, hw_accel="cuda")
    with pytest.raises(RuntimeError, match="no output is there"):
        next(reader.stream())
    reader.add_audio_stream(10, filter_desc="nosuch=1")
    with pytest.raises(ValueError, match="filter description 'nosuch=1': 'nosuch'"):
        next(reader.stream())


def test_faults_of_writers(tmp_path):
    with pytest.raises(ValueError, match=r"a.nothing"):
        StreamWriter(tmp_path / "a.nothing")
    with pytest.raises(ValueError, match="'format' is needed"):
        StreamWriter(io.BytesIO())
    writer = StreamWriter(tmp_path / "a.wav")
    with pytest.raises(ValueError, match="FFmpeg has no codec 'nope'"):
        writer.add_audio_stream(RATE, 1, encoder="nope")
    with pytest.raises(ValueError, match=r"format must be one of .*got 's16p'"):
        writer.add_audio_stream(RATE, 1, "s16p")
    with pytest.raises(RuntimeError, match=r"write_audio_chunk\(\): the file is new"):
        writer.write_audio_chunk(0, tone(1))
    writer.add_audio_stream(RATE, 1)
    with writer.open():
        with pytest.raises(RuntimeError, match=r"expected rushlight.float32 of shape \[T, 1\]"):
            writer.write_audio_chunk(0, tone(2))
        with pytest.raises(RuntimeError, match="stream 0 of that kind is not there"):
            writer.write_video_chunk(0, pictures())
        writer.write_audio_chunk(0, tone(1))
    with pytest.raises(RuntimeError, match="the file is closed"):
        writer.write_audio_chunk(0, tone(1))


def test_encoders_rate_and_filters(tmp_path):
    path = tmp_path / "a.wav"
    writer = StreamWriter(path)
    writer.add_audio_stream(
        RATE, 2, encoder_sample_rate=8000, encoder_num_channels=1, filter_desc="volume=0.5"
    )
    with writer.open():
        writer.write_audio_chunk(0, tone())
    assert ra.info(path) == ra.AudioMetaData(8000, 20000, 1, 16, "PCM_S")
    expected = 0.5 * 0.5 * (tone()[::2, 0] + tone()[::2, 1])
    np.testing.assert_allclose(ra.load(path)[0][0, 50:-50], expected[50:-50], atol=2e-3)


def test_effects():
    halved = AudioEffector(effect="volume=0.5")
    np.testing.assert_allclose(halved.apply(tone(), RATE), tone() * 0.5, atol=1e-7)
    chunks = list(halved.stream(tone(), RATE, 7000))
    assert [len(chunk) for chunk in chunks] == [7000] * 5 + [5000]
    np.testing.assert_allclose(rl.cat(chunks), tone() * 0.5, atol=1e-7)
    two_ways = "asplit=2[a][b];[a]volume=0.5[c];[b]volume=0.25[d];[c][d]amix=normalize=0"
    for description in (two_ways, f"[in]{two_ways}[out]"):
        np.testing.assert_allclose(
            AudioEffector(description).apply(tone(), RATE), tone() * 0.75, atol=1e-6
        )
    assert AudioEffector("atempo=2").apply(tone(), RATE).shape == (FRAMES, 2)
    assert 19000 < len(AudioEffector("atempo=2", pad_end=False).apply(tone(), RATE)) < 21000
    assert len(AudioEffector().apply(tone(), RATE, 8000)) == FRAMES  # filled up


def test_codecs():
    for format, error in (("wav", 4e-5), ("mulaw", 0.02), ("mp3", 0.05), ("webm", 0.05)):
        changed = AudioEffector(format=format).apply(tone(1), RATE)
        assert (changed.shape, changed.dtype) == ((FRAMES, 1), rl.float32)
        assert 0 < (changed - tone(1)).abs().max().item() < error
    hiss = 0.1 * rl.randn(FRAMES, 1, generator=rl.Generator().manual_seed(0))
    errors = [
        (AudioEffector(format="mp3", codec_config=CodecConfig(rate)).apply(hiss, RATE) - hiss)
        .abs()
        .mean()
        .item()
        for rate in (8000, 128000)
    ]
    assert errors[0] > 2 * errors[1]
    with pytest.raises(ValueError, match="encoder and codec_config need a format"):
        AudioEffector(encoder="mp3")


@pytest.mark.parametrize("dtype", [rl.uint8, rl.int16, rl.int32, rl.float32, rl.float64])
def test_dtypes_pass_through(dtype):
    waveform = rl.arange(40).reshape(20, 2).to(dtype)
    assert rl.equal(AudioEffector().apply(waveform, 8000), waveform)
    assert rl.equal(AudioEffector().apply(waveform[:0], 8000), waveform[:0])


def test_effector_arguments():
    with pytest.raises(ValueError, match="2 dimensions, time and channels, got 1"):
        AudioEffector().apply(tone()[:, 0], RATE)
    with pytest.raises(ValueError, match="waveform must be uint8.*got rushlight.int64"):
        AudioEffector().apply(rl.zeros(4, 1, dtype=rl.int64), RATE)
    with pytest.raises(RuntimeError, match="the device 'nosuch' does not play"):
        ra.io.play_audio(tone(), RATE, device="nosuch")
    with pytest.raises(ValueError, match="2 dimensions"):
        ra.io.play_audio(tone()[:, 0], RATE)


def test_filter_descriptions():
    chains = parsed(r"[in]a@x=1:2[b];[b]c='x,y;[z]',d=e\,f")
    assert [[(n.name, n.arguments, n.inputs, n.outputs) for n in chain] for chain in chains] == [
        [("a", "1:2", ["in"], ["b"])],
        [("c", "'x,y;[z]'", ["b"], []), ("d", r"e\,f", [], [])],
    ]
    for faulty, message in (
        ("volume='1", "is open"),
        ("[x]volume=1", r"nothing gives \[x\]"),
        ("volume=1;volume=2", r"\[out\] is given twice"),
        ("asplit[a][b]", "must end in one output"),
        ("=1", "a filter without a name"),
    ):
        with pytest.raises(ValueError, match=message):
            AudioEffector(faulty).apply(tone(), RATE)
