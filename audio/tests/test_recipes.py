"""The recipes run and learn."""

import json
import math
import random
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as rl
import rushlight_audio
from rushlight_audio.metrics import cer

pytest.importorskip("lightning_lite")
RECIPES = Path(__file__).parents[1] / "recipes"
if not RECIPES.is_dir():
    pytest.skip("the recipes are in the repository alone", allow_module_level=True)

WORDS = ("bad", "cab", "dad", "fed")


def run(folder, name, *arguments):
    command = [sys.executable, str(RECIPES / f"{name}.py"), *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def tones(text):
    """A tone for each letter, a pause for a space."""
    time = rl.arange(1600) / 16000
    parts = []
    for letter in text:
        tone = rl.sin(2 * math.pi * 300 * (ord(letter) - 95) * time) * rl.hann_window(1600)
        parts += [rl.zeros(1600) if letter == " " else 0.5 * tone, rl.zeros(320)]
    wave = rl.cat(parts)
    return wave + 0.003 * rl.randn(len(wave))


def recordings(folder, name, count, pick):
    lines = []
    for number in range(count):
        text = " ".join(pick.choices(WORDS, k=pick.randint(1, 2)))
        path = folder / f"{name}{number}.wav"
        rushlight_audio.save(str(path), tones(text).unsqueeze(0), 16000)
        lines.append(f"{path.name}\t{text}\n")
    (folder / f"{name}.tsv").write_text("".join(lines))


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_recognition(tmp_path, search):
    rl.manual_seed(0)
    pick = random.Random(0)
    recordings(tmp_path, "train", 40, pick)
    recordings(tmp_path, "valid", 10, pick)
    (tmp_path / "words.txt").write_text("".join(f"{w} {' '.join(w)}\n" for w in WORDS))
    sizes = ["--width", 32, "--layers", 1, "--epochs", 16, "--lr", 0.01, "--out", "out"]
    sizes += ["--lexicon", "words.txt"] if search == "beam" else []
    said = run(tmp_path, "recognise_speech", "train.tsv", "valid.tsv", *sizes)
    found = json.loads(said.splitlines()[-1].replace("'", '"'))
    assert found["cer"] < 0.1, found
    assert found["wer"] < 0.2, found
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["characters"] == ["-", "|", *"abcdef"]
    assert "head.weight" in rl.load(tmp_path / "out" / "model.pt")


def test_streams(tmp_path):
    rl.manual_seed(0)
    pick = random.Random(0)
    recordings(tmp_path, "train", 48, pick)
    recordings(tmp_path, "valid", 6, pick)
    sizes = ["--width", 32, "--layers", 1, "--epochs", 30, "--lr", 0.01, "--out", "out"]
    said = run(tmp_path, "recognise_streams", "train.tsv", "valid.tsv", *sizes)
    found = json.loads(said.splitlines()[-1])
    assert found["wer"] < 0.3, found
    assert "joiner.linear.weight" in rl.load(tmp_path / "out" / "model.pt")


def voice(number):
    """Half a second of a voice: overtones of any pitch, loud near its own two frequencies."""
    time = rl.arange(8000) / 16000
    tones = (120 + 60 * rl.rand(1)) * rl.arange(1, 31)
    loud = sum(
        (-(((tones - peak) / 150) ** 2)).exp() for peak in (400 + 300 * number, 2500 - 200 * number)
    )
    waves = rl.sin(2 * math.pi * tones.unsqueeze(1) * time + 6 * rl.rand(30, 1))
    return 0.2 * (loud.unsqueeze(1) * waves).sum(0) + 0.003 * rl.randn(8000)


def test_speakers(tmp_path):
    rl.manual_seed(0)
    for part, count in (("train", 12), ("valid", 4)):
        lines = []
        for number in range(5):
            for take in range(count):
                path = tmp_path / f"{part}{number}_{take}.wav"
                rushlight_audio.save(str(path), voice(number).unsqueeze(0), 16000)
                lines.append(f"{path.name}\tVoice {number}\n")
        (tmp_path / f"{part}.tsv").write_text("".join(lines))
    sizes = ["--width", 32, "--size", 16, "--epochs", 16, "--milliseconds", 400, "--out", "out"]
    said = run(tmp_path, "verify_speakers", "train.tsv", "valid.tsv", *sizes)
    found = json.loads(said.splitlines()[-1])
    assert found["equal_error_rate"] < 0.15, found
    assert "body.fc.conv.weight" in rl.load(tmp_path / "out" / "model.pt")


def test_denoising(tmp_path):
    rl.manual_seed(0)
    for part, count in (("train", 24), ("valid", 5)):
        names = [f"{part}{number}.wav" for number in range(count)]
        for number, name in enumerate(names):
            sound = voice(number % 5).unsqueeze(0)
            rushlight_audio.save(str(tmp_path / name), sound, 16000)
        (tmp_path / f"{part}.tsv").write_text("\n".join(names) + "\n")
    sizes = ["--features", 32, "--blocks", 3, "--epochs", 60, "--milliseconds", 300]
    sizes += ["--batch", 4, "--lr", 0.005]
    said = run(tmp_path, "denoise", "train.tsv", "valid.tsv", *sizes, "--out", "out")
    found = json.loads(said.splitlines()[-1])
    assert found["behind"] > found["before"] + 2, found
    short = ["--noises", "valid.tsv", *sizes[:4], "--epochs", 1]
    again = run(tmp_path, "denoise", "train.tsv", "valid.tsv", *short)
    assert set(json.loads(again.splitlines()[-1])) == {"before", "behind"}


def test_key_words(tmp_path):
    rl.manual_seed(0)
    for part, count in (("train", 10), ("valid", 3)):
        lines = []
        for word in WORDS:
            for take in range(count):
                path = tmp_path / f"{part}_{word}{take}.wav"
                rushlight_audio.save(str(path), tones(word).unsqueeze(0), 16000)
                lines.append(f"{path.name}\t{word}\n")
        (tmp_path / f"{part}.tsv").write_text("".join(lines))
    sizes = ["--width", 16, "--epochs", 12, "--milliseconds", 500, "--out", "out"]
    said = run(tmp_path, "key_words", "train.tsv", "valid.tsv", *sizes)
    assert json.loads(said.splitlines()[-1])["accuracy"] > 0.9
    assert json.loads((tmp_path / "out" / "config.json").read_text())["labels"] == sorted(WORDS)


def test_ten_clips_are_learnt_by_heart(tmp_path):
    rl.manual_seed(0)
    recordings(tmp_path, "clips", 10, random.Random(1))
    sizes = ["--width", 32, "--layers", 1, "--epochs", 60, "--lr", 0.01, "--batch", 5]
    said = run(tmp_path, "recognise_speech", "clips.tsv", "clips.tsv", *sizes, "--out", "out")
    found = json.loads(said.splitlines()[-1].replace("'", '"'))
    assert found["wer"] == 0 and found["cer"] == 0


def instruments(names, seconds):
    """Notes of some instruments at random times: each has a pitch and overtones of its own."""
    time, wave = rl.arange(3200) / 16000, rl.zeros(int(seconds * 16000))
    for name in names:
        pitch, overtones = {"bass": (80, 2), "flute": (880, 1), "organ": (330, 6)}[name]
        note = sum(rl.sin(2 * math.pi * pitch * k * time) / k for k in range(1, overtones + 1))
        for _ in range(3):
            start = int(rl.randint(0, len(wave) - 3200, (1,)))
            wave[start : start + 3200] += 0.3 * note * rl.hann_window(3200)
    return wave + 0.01 * rl.randn(len(wave))


def test_tags(tmp_path):
    rl.manual_seed(0)
    names = ["bass", "flute", "organ"]
    for part, count in (("train", 48), ("valid", 16)):
        lines = []
        for number in range(count):
            some = [name for i, name in enumerate(names) if (number % 8) >> i & 1]
            path = tmp_path / f"{part}{number}.wav"
            rushlight_audio.save(str(path), instruments(some, 1.2).unsqueeze(0), 16000)
            lines.append(f"{path.name}\t{', '.join(some)}\n")
        (tmp_path / f"{part}.tsv").write_text("".join(lines))
    sizes = ["--width", 16, "--epochs", 16, "--milliseconds", 1000, "--out", "out"]
    found = json.loads(
        run(tmp_path, "tag_music", "train.tsv", "valid.tsv", *sizes).splitlines()[-1]
    )
    assert found["of_chance"] == 0.5
    assert found["mean_average_precision"] > 0.9, found
    assert json.loads((tmp_path / "out" / "config.json").read_text())["tags"] == names


def test_synthesis_is_heard(tmp_path):
    rl.manual_seed(0)
    pick = random.Random(0)
    recordings(tmp_path, "train", 40, pick)
    recordings(tmp_path, "valid", 4, pick)
    sizes = ["--width", 32, "--layers", 1]
    learn = ["--epochs", 24, "--lr", 0.01, "--out", "recogniser"]
    run(tmp_path, "recognise_speech", "train.tsv", "valid.tsv", *sizes, *learn)
    learn = ["--epochs", 90, "--lr", 0.005, "--out", "voice", "--recogniser", "recogniser"]
    text = "bad cab dad fed"
    said = run(tmp_path, "synthesise", "train.tsv", "--text", text, *sizes, *learn)
    found = json.loads(said.splitlines()[-1])
    assert found["said"] == text
    assert cer(found["heard"], text) < 0.3, found
    wave, rate = rushlight_audio.load(str(tmp_path / "voice" / "said.wav"))
    assert rate == 16000
    assert 0.5 < wave.shape[1] / rate < 4
