"""Sounds are read, cut, changed and told apart; exported Learners say the same."""

from __future__ import annotations

import math
import struct
import sys
import wave

import pytest

import rushlight as rl
from lightning_lite import easy
from lightning_lite.easy.audio import FixedLength, ReadSound

QUIET = {"enable_progress_bar": False}
RATE = 4000


def write(file, frequency, seconds=0.4, rate=RATE, channels=1):
    """A tone as a WAVE file of 16 bits."""
    file.parent.mkdir(parents=True, exist_ok=True)
    turns = [frequency * n / rate for n in range(int(seconds * rate))]
    values = [int(12000 * math.sin(2 * math.pi * each)) for each in turns]
    data = b"".join(struct.pack("<h", value) * channels for value in values)
    with wave.open(str(file), "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(data)


@pytest.fixture
def folder(tmp_path):
    pytest.importorskip("rushlight_audio")
    for number in range(40):
        kind = ("low", "high")[number % 2]
        part = "valid" if number % 5 == 4 else "train"
        pitch = (300, 1100)[number % 2] + 11 * number
        write(tmp_path / part / kind / f"{number}.wav", pitch, 0.3 + 0.01 * (number % 20))
    return tmp_path


def loaders(folder, **options):
    return easy.AudioDataLoaders.from_folder(folder, sample_rate=RATE, seconds=0.4, bs=8, **options)


def test_sounds_are_told_apart(folder):
    rl.manual_seed(0)
    dls = loaders(folder, batch_tfms=[easy.RandomGain(6), easy.AddNoise(0.1)])
    assert dls.vocab == ["high", "low"] and dls.one_batch()[0].shape == (8, 1600)
    config = {"n_fft": 128, "n_mels": 16, "channels": (8, 8)}
    learn = easy.audio_learner(dls, config=config, metrics=easy.accuracy, path=folder, **QUIET)
    learn.fit_one_cycle(6, 0.02)
    assert learn.validate()[1] == 1.0, "the stated quality of the short program"
    file = folder / "valid" / "low" / "4.wav"
    name, _, shares = learn.predict(file)
    assert name == "low" and float(shares[1]) > 0.8
    again = easy.load_learner(learn.export(), **QUIET)
    assert rl.equal(again.predict(file)[2], shares)
    x = ReadSound(RATE)(file)
    assert rl.equal(again.predict(x)[2], shares), "a waveform instead of a file"


def test_files_become_waveforms(tmp_path):
    pytest.importorskip("rushlight_audio")
    write(tmp_path / "a.wav", 200, 0.5, 8000, channels=2)
    found = ReadSound(RATE)(tmp_path / "a.wav")
    assert found.shape == (2000,) and found.dtype == rl.float32
    middle = found[200:-200].tolist()
    expected = [12000 / 32768 * math.sin(2 * math.pi * 200 * n / RATE) for n in range(200, 1800)]
    assert middle == pytest.approx(expected, abs=0.01)
    assert easy.get_audio_files(tmp_path) == [tmp_path / "a.wav"]
    assert ReadSound(RATE)(rl.tensor([[1.0, 2], [3, 4]])).tolist() == [2.0, 3.0]


def test_lengths():
    x = rl.arange(10.0)
    (cut,), (filled,) = (FixedLength(size)((x,), ("audio",), 1) for size in (4, 14))
    assert cut.tolist() == [3, 4, 5, 6] and filled.tolist() == [0, 0, *range(10), 0, 0]
    starts = {float(FixedLength(4)((x,), ("audio",), 0)[0][0]) for _ in range(60)}
    assert starts == set(map(float, range(7)))
    assert FixedLength(14)((x,), ("audio",), 0)[0].shape == (14,)


def test_changes_of_training():
    x = rl.randn(4, 1000)
    ratios = [float((easy.RandomGain(6)((x,), ("audio",), 0)[0] / x).mean()) for _ in range(40)]
    assert 0.5 <= min(ratios) < 0.7 and 1.5 < max(ratios) < 2.0
    (noisy,) = easy.AddNoise(0.5)((x,), ("audio",), 0)
    assert 0 < float((noisy - x).std()) < 0.51
    assert easy.AddNoise(0.5)((x,), ("audio",), 1)[0] is x


def test_labels_by_function(folder):
    files = easy.get_audio_files(folder)
    dls = easy.AudioDataLoaders.from_path_func(
        folder, files, lambda file: int(file.stem) % 2, seed=1, sample_rate=RATE, bs=4
    )
    assert dls.vocab == [0, 1] and dls.one_batch()[0].shape == (4, RATE)


def test_misuse_is_named(folder, monkeypatch):
    with pytest.raises(ValueError, match="seconds=0"):
        easy.AudioBlock(seconds=0)
    with pytest.raises(TypeError, match="audio_learner needs DataLoaders"):
        easy.audio_learner(([], []))
    monkeypatch.setitem(sys.modules, "rushlight_audio", None)
    with pytest.raises(ModuleNotFoundError, match="AudioBlock needs rushlight-audio"):
        loaders(folder).one_batch()
    with pytest.raises(ModuleNotFoundError, match="audio_learner needs rushlight-audio"):
        easy.audio_learner(loaders(folder))
