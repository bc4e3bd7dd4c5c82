"""Videos as tensors: whole, between two times, frame by frame; clips and their samplers."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl
from rushlight_vision import io
from rushlight_vision.datasets.samplers import (
    DistributedSampler,
    RandomClipSampler,
    UniformClipSampler,
)
from rushlight_vision.datasets.video_utils import VideoClips, pts_convert, unfold

pytest.importorskip("av")
LOSSLESS = {
    "video_codec": "libx264rgb",
    "options": {"crf": "0", "g": "8", "sc_threshold": "0"},
}  # key frames 8 apart


def frames(count, height=32, width=48, seed=0):
    """Random frames of blocks, uint8 (T, H, W, 3)."""
    blocks = np.random.default_rng(seed).integers(0, 256, (count, height // 8, width // 8, 3))
    return np.kron(blocks, np.ones((1, 8, 8, 1))).astype(np.uint8)


@pytest.fixture
def film(tmp_path):
    """A lossless film of 30 frames, 10 a second, whose frames stand out of order in the file."""
    values = frames(30)
    path = str(tmp_path / "film.mkv")
    io.write_video(path, rl.from_numpy(values), 10, **LOSSLESS)
    return path, values


@pytest.fixture
def loud(tmp_path):
    """A film of three seconds with two channels of sound that are not changed by the codec."""
    values, wave = frames(60), np.arange(3 * 8000, dtype=np.int16)
    sound = rl.from_numpy(np.stack([wave, -wave]))
    path = str(tmp_path / "loud.mov")
    options = {"audio_fps": 8000, "audio_codec": "pcm_s16le"}
    io.write_video(path, rl.from_numpy(values), 20, audio_array=sound, **options)
    return path, wave


def test_a_whole_film(film):
    path, values = film
    found, sound, about = io.read_video(path, pts_unit="sec")
    assert found.dtype is rl.uint8 and sound.shape == (1, 0) and about == {"video_fps": 10.0}
    np.testing.assert_array_equal(found.numpy(), values)
    turned, _, _ = io.read_video(path, output_format="tchw")
    np.testing.assert_array_equal(turned.numpy(), values.transpose(0, 3, 1, 2))


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 0.5, range(6)),
        (1.7, 1.7, [17]),  # in the middle between key frames
        (1.65, 1.95, range(16, 20)),  # frame 16 is shown at 1.65
        (Fraction(29, 10), None, [29]),
        (2.95, None, [29]),
        (0.85, 0.86, [8]),
    ],
)
def test_part_of_a_film(film, start, end, expected):
    path, values = film
    found, _, _ = io.read_video(path, start, end, "sec")
    # A time that is no whole number of the clock's units takes the unit before or after it.
    np.testing.assert_array_equal(found.numpy(), values[list(expected)])


def test_parts_by_the_clock_of_the_film(film):
    path, values = film
    times, rate = io.read_video_timestamps(path)
    assert rate == 10.0 and len(times) == 30 and times == sorted(times)
    seconds, _ = io.read_video_timestamps(path, "sec")
    assert seconds[:3] == [0, Fraction(1, 10), Fraction(1, 5)]
    found, _, _ = io.read_video(path, times[12], times[14])
    np.testing.assert_array_equal(found.numpy(), values[12:15])


def test_sound_is_cut_at_the_sample(loud):
    path, wave = loud
    found, sound, about = io.read_video(path, 1.05, 2.0, "sec")
    assert len(found) == 20 and about == {"video_fps": 20.0, "audio_fps": 8000}
    assert sound.dtype is rl.int16
    np.testing.assert_array_equal(sound[0].numpy(), wave[8400:16001])
    np.testing.assert_array_equal(sound[1].numpy(), -wave[8400:16001])
    times, _ = io.read_video_timestamps(path)
    _, sound, _ = io.read_video(path, times[21], times[40])
    np.testing.assert_array_equal(sound[0].numpy(), wave[8400:16001])


def test_films_in_memory(film):
    path, values = film
    for source in (Path(path).read_bytes(), io.read_file(path)):
        np.testing.assert_array_equal(io.read_video(source, 0, 0.1, "sec")[0].numpy(), values[:2])
        assert next(io.VideoReader(source))["data"].shape == (3, 32, 48)


def test_frame_by_frame(film):
    path, values = film
    reader = io.VideoReader(path)
    shown = list(reader)
    assert [round(frame["pts"], 3) for frame in shown] == [n / 10 for n in range(30)]
    np.testing.assert_array_equal(shown[7]["data"].numpy(), values[7].transpose(2, 0, 1))
    late = list(itertools.islice(reader.seek(1.71), 2))
    assert [round(frame["pts"], 3) for frame in late] == [1.8, 1.9]
    assert next(reader.seek(1.71, keyframes_only=True))["pts"] == pytest.approx(1.6)
    np.testing.assert_array_equal(
        next(reader.seek(0))["data"].numpy(), values[0].transpose(2, 0, 1)
    )
    with pytest.raises(StopIteration):
        next(reader.seek(99))
    about = reader.get_metadata()
    assert about["video"]["fps"] == [10.0] and list(about) == ["video"]


def test_sound_frame_by_frame(loud):
    path, wave = loud
    reader = io.VideoReader(path, "audio:0")
    parts = list(reader)
    assert parts[0]["pts"] == 0.0
    whole = np.concatenate([part["data"].numpy().reshape(-1, 2) for part in parts])
    np.testing.assert_array_equal(whole[:, 0], wave)
    assert reader.get_metadata()["audio"]["framerate"] == [8000.0]
    assert reader.set_current_stream("video") and next(reader)["data"].shape[0] == 3


def test_rates_stay_what_they_are(tmp_path):
    path = str(tmp_path / "a.mkv")
    io.write_video(path, rl.from_numpy(frames(4)), 29.97, **LOSSLESS)
    assert io.read_video_timestamps(path)[1] == pytest.approx(29.97)


def test_what_is_no_video(tmp_path):
    path = tmp_path / "notes.bin"
    path.write_text("no video " * 99)
    for call in (io.read_video, io.read_video_timestamps, io.VideoReader):
        with pytest.raises(RuntimeError, match=r"notes\.bin is no video"):
            call(str(path))
        with pytest.raises(FileNotFoundError, match=r"none\.mp4 does not exist"):
            call(str(tmp_path / "none.mp4"))


def test_arguments_that_are_wrong(film, tmp_path):
    path, _ = film
    for arguments, message in (
        ({"pts_unit": "ms"}, 'pts_unit must be "pts" or "sec", got \'ms\''),
        ({"output_format": "CTHW"}, "output_format must be"),
        ({"start_pts": 2, "end_pts": 1}, r"end_pts must not be before start_pts \(2\), got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            io.read_video(path, **arguments)
    with pytest.raises(ValueError, match=r"video_array must be uint8 of shape \(T, H, W, 3\)"):
        io.write_video(str(tmp_path / "a.mp4"), rl.zeros(2, 3, 8, 8), 5)
    with pytest.raises(ValueError, match="audio_fps and audio_codec must be given"):
        values = rl.zeros(2, 8, 8, 3, dtype=rl.uint8)
        io.write_video(str(tmp_path / "a.mp4"), values, 5, audio_array=rl.zeros(1, 8))
    for stream, message in (("text", "stream must be"), ("audio", "has 0 of audio")):
        with pytest.raises(ValueError, match=message):
            io.VideoReader(path, stream)
    with pytest.raises(ValueError, match="time_s must be a number of seconds from 0, got -1"):
        io.VideoReader(path).seek(-1)
    with pytest.raises(TypeError, match="expected a uint8 tensor of one dimension"):
        io.VideoReader(rl.zeros(3, 3))


def test_windows_of_values():
    values = rl.arange(7)
    assert unfold(values, 3, 2).tolist() == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    assert unfold(values, 3, 3, dilation=2).tolist() == [[0, 2, 4]]
    assert unfold(values, 8, 1).shape == (0, 8)
    with pytest.raises(ValueError, match="tensor must have one dimension, got 2"):
        unfold(rl.zeros(2, 2), 1, 1)
    assert pts_convert(7, Fraction(1, 10), Fraction(1, 4)) == 2


@pytest.fixture
def clips(tmp_path):
    """Clips of three frames of films of 7, 2 and 5 frames."""
    paths = []
    for number, count in enumerate((7, 2, 5)):
        paths.append(str(tmp_path / f"{number}.mkv"))
        io.write_video(paths[-1], rl.from_numpy(frames(count, seed=number)), 10, **LOSSLESS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return VideoClips(paths, 3, 2)


def test_clips_of_films(clips):
    assert clips.num_videos() == 3 and len(clips) == clips.num_clips() == 5
    assert clips.cumulative_sizes == [3, 3, 5]
    assert [clips.get_clip_location(n) for n in range(5)] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (2, 0),
        (2, 1),
    ]
    found, _, about, number = clips.get_clip(4)
    np.testing.assert_array_equal(found.numpy(), frames(5, seed=2)[2:5])
    assert number == 2 and about["video_fps"] == 10.0
    for index in (5, -1):
        with pytest.raises(IndexError, match="of 5 clips"):
            clips.get_clip(index)
    part = clips.subset([2])
    np.testing.assert_array_equal(part.get_clip(0)[0].numpy(), frames(5, seed=2)[:3])


def test_clips_of_another_rate(clips):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        clips.compute_clips(3, 3, frame_rate=7)
    found, _, about, number = clips.get_clip(0)
    # Of 10 a second frames 0, 1 and 2 are the nearest before 0, 1/7 and 2/7 of a second.
    np.testing.assert_array_equal(found.numpy(), frames(7)[[0, 1, 2]])
    assert about["video_fps"] == 7 and number == 0


def test_clips_of_known_films(clips):
    again = VideoClips(clips.video_paths, 2, 2, _precomputed_metadata=clips.metadata)
    assert len(again) == 3 + 1 + 2
    with pytest.raises(ValueError, match="one entry for each video"):
        VideoClips([], _precomputed_metadata={**clips.metadata, "video_fps": [1.0]})
    with pytest.raises(ValueError, match="_video_height must be 0: resize"):
        VideoClips([], _video_height=3)
    with pytest.warns(UserWarning, match="has fewer frames than a clip"):
        clips.compute_clips(6, 1)


def test_samplers_of_clips(clips):
    uniform = UniformClipSampler(clips, 3)
    assert list(uniform) == [0, 1, 2, 3, 3, 4] and len(uniform) == 6
    rl.manual_seed(3)
    sampler = RandomClipSampler(clips, 2)
    drawn = list(sampler)
    assert len(drawn) == len(sampler) == 4 == len(set(drawn))
    assert len([n for n in drawn if n < 3]) == 2
    rl.manual_seed(3)
    assert list(RandomClipSampler(clips, 2)) == drawn
    with pytest.raises(TypeError, match="video_clips must be VideoClips, got list"):
        RandomClipSampler([], 2)


def test_parts_of_processes(clips):
    uniform = UniformClipSampler(clips, 3)
    parts = [list(DistributedSampler(uniform, 2, rank, group_size=3)) for rank in range(2)]
    assert parts == [[0, 1, 2], [3, 3, 4]]
    three = [list(DistributedSampler(range(10), 3, rank)) for rank in range(3)]
    assert three == [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]
    shuffled = DistributedSampler(range(10), 2, 0, shuffle=True)
    first = list(shuffled)
    generator = rl.Generator()
    generator.manual_seed(0)
    assert first == rl.randperm(10, generator=generator)[::2].tolist() and len(shuffled) == 5
    shuffled.set_epoch(1)
    assert list(shuffled) != first
    with pytest.raises(ValueError, match=r"group_size must divide .* \(10\), got 3"):
        DistributedSampler(range(10), 2, 0, group_size=3)
