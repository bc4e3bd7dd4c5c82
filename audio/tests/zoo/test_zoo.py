"""Packaged networks: files, errors, and what they say about sounds they did not learn from."""

import hashlib
import json
import math
import socket
from pathlib import Path

import pytest

import rushlight as rl
import rushlight_audio
from rushlight.serialization import safetensors
from rushlight_audio import zoo
from rushlight_audio.zoo import files, sounds

PROMPTS = Path(__file__).with_name("prompts")
RATE = 22050


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a packaged network asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def noise(count, seed=0):
    return rl.randn(count, generator=rl.Generator().manual_seed(seed))


def prompt(name):
    waveform, rate = rushlight_audio.load(PROMPTS / f"{name}.wav")
    assert rate == 8000
    return waveform[0]


def overlap(found, start, end):
    """Seconds of the segments inside of an interval, and outside of it."""
    inside = sum(max(0.0, min(s["end"], end) - max(s["start"], start)) for s in found)
    return inside, sum(s["end"] - s["start"] for s in found) - inside


@pytest.mark.parametrize("name", ["italian", "russian"])
@pytest.mark.parametrize("rate", [8000, 16000])
def test_speech_is_found_among_silence_and_noise(name, rate):
    spoken, silence = prompt(name), rl.zeros(8000)
    scene = rl.cat([silence, spoken, silence])
    scene = scene + 0.002 * noise(len(scene))
    if rate != 8000:
        scene = rushlight_audio.functional.resample(scene, 8000, rate)
    found = rushlight_audio.pipeline("vad")(scene, sample_rate=rate)
    length = len(spoken) / 8000
    inside, outside = overlap(found, 1.0, 1.0 + length)
    assert inside > 0.9 * length and outside < 0.3
    assert all(0 <= s["start"] < s["end"] <= 2.1 + length for s in found)


def test_silence_and_noise_are_no_speech():
    vad = rushlight_audio.pipeline("vad")
    assert vad(rl.zeros(16000), sample_rate=16000) == []
    assert vad(0.1 * noise(32000), sample_rate=8000) == []


@pytest.mark.parametrize(
    ("name", "speaker", "language"),
    [("italian", "Carlo", "Italian"), ("russian", "IvrvoiceRU", "Russian")],
)
def test_who_speaks_in_which_language(name, speaker, language):
    path = PROMPTS / f"{name}.wav"
    for task, label in (("speaker", speaker), ("language", language)):
        found = rushlight_audio.pipeline(task)(path)
        assert found["label"] == label and 0.8 < found["score"] <= 1
        stereo = prompt(name).repeat(2, 1)
        again = rushlight_audio.pipeline(task)(stereo, sample_rate=8000)
        assert again["label"] == label and again["score"] == pytest.approx(found["score"], abs=1e-4)


def struck():
    """Drums made of sines and noise."""
    t, hiss = rl.arange(RATE) / RATE, noise(RATE)
    bright = hiss - rl.nn.functional.avg_pool1d(hiss[None], 9, 1, 4)[0]
    falling = 50 * t + 4 * (1 - (-t / 0.05).exp())
    return {
        "kick": (2 * math.pi * falling).sin() * (-8 * t).exp(),
        "hihat": bright * (-60 * t).exp(),
        "snare": (0.7 * hiss + (2 * math.pi * 190 * t).sin()) * (-18 * t).exp(),
        "cymbal": bright * (-2 * t).exp(),
    }


@pytest.mark.parametrize("name", ["kick", "hihat", "snare", "cymbal"])
def test_drums(name):
    found = rushlight_audio.pipeline("drums")(0.5 * struck()[name], sample_rate=RATE)
    assert found["label"] == name


def ratio(found, clean):
    target = (found * clean).sum() / clean.square().sum() * clean
    return float(10 * rl.log10(target.square().sum() / (found - target).square().sum()))


@pytest.mark.parametrize("name", ["italian", "russian"])
def test_noise_is_taken_away(name):
    clean = prompt(name)
    hiss = noise(len(clean)) * clean.square().mean().sqrt() * 10 ** (-5 / 20)
    found = rushlight_audio.pipeline("denoise")(clean + hiss, sample_rate=8000)
    assert found.shape == (1, len(clean)) and not found.requires_grad
    assert ratio(clean + hiss, clean) < 5.5 and ratio(found[0], clean) > 8.5
    with pytest.raises(ValueError, match="a sound needs 256 samples at 8000 Hz, this has 100"):
        rushlight_audio.pipeline("denoise")(clean[:100], sample_rate=8000)


def test_facts_are_those_of_the_files():
    facts = zoo.facts()
    assert sorted(facts) == sorted(zoo.NETWORKS)
    for name, fact in facts.items():
        network = zoo.load_network(name)
        assert type(network) is zoo.NETWORKS[name] and not network.training
        assert sum(each.numel() for each in network.parameters()) == fact["num_params"]
        assert fact["_metrics"] and fact["licence"] and fact["data"] and fact["recipe"]
    sizes = [path.stat().st_size for path in files.FOLDER.iterdir()]
    assert sum(sizes) < 6 << 20


SMALL = {
    "ClipClassifier": lambda: zoo.ClipClassifier(["a", "b"], 8000, mels=16, width=2),
    "Denoiser": lambda: zoo.Denoiser(n_fft=64, hop=16, width=4),
    "Recogniser": lambda: zoo.Recogniser("-ab ", mels=16, width=4, hidden=4),
    "VoiceActivity": lambda: zoo.VoiceActivity(mels=16, width=4),
}


@pytest.mark.parametrize("kind", SMALL)
def test_a_network_comes_back_from_its_file(kind, tmp_path):
    rl.manual_seed(0)
    made = SMALL[kind]().eval()
    made.save(tmp_path / "file.safetensors")
    again = getattr(zoo, kind).load(tmp_path / "file.safetensors")
    assert again.config == made.config
    x = 0.1 * noise(4000)[None]
    with rl.no_grad():
        assert rl.allclose(made(x), again(x), atol=2e-2)  # float16 in between
    other = next(name for name in SMALL if name != kind)
    with pytest.raises(ValueError, match=f"no packaged {other}"):
        getattr(zoo, other).load(tmp_path / "file.safetensors")


@pytest.mark.parametrize("kind", SMALL)
def test_networks_learn(kind):
    rl.manual_seed(0)
    network = SMALL[kind]().train()
    found = network(0.1 * noise(8000).reshape(2, 4000))
    shapes = {
        "ClipClassifier": (2, 2), "Denoiser": (2, 4000), "Recogniser": (2, 21, 4),
        "VoiceActivity": (2, 51),
    }  # fmt: skip
    assert found.shape == shapes[kind]
    found.square().mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in network.parameters())


def test_short_pauses_and_short_speech_do_not_count():
    network = SMALL["VoiceActivity"]()
    long, short = 20, 5
    flags = (
        [0] * long + [1] * long + [0] * short + [1] * long + [0] * long + [1] * short + [0] * long
    )
    network.probabilities = lambda sound, rate: rl.tensor(flags, dtype=rl.float32)
    assert network.predict(None) == [{"start": 0.2, "end": pytest.approx(0.65)}]


def test_wrong_sounds_and_names():
    vad = rushlight_audio.pipeline("vad")
    with pytest.raises(ValueError, match="a waveform needs its sample_rate, which was None"):
        vad(rl.zeros(100))
    for shape in ((1, 2, 100), (0,), (1, 0)):
        with pytest.raises(ValueError, match=r"expected a waveform \[C, T\] or \[T\], got shape"):
            vad(rl.zeros(shape), sample_rate=8000)
    with pytest.raises(ValueError, match="no packaged network is called 'wad'; there are"):
        rushlight_audio.pipeline("wad")
    with pytest.raises(ValueError, match="no packaged network is called 'wad'; there are"):
        zoo.files.packaged_file("wad")
    with pytest.raises((RuntimeError, OSError), match=r"nothing\.wav"):
        vad(PROMPTS / "nothing.wav")


def test_a_damaged_file_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "FOLDER", tmp_path)
    fact = zoo.facts()["vad"]
    (tmp_path / fact["file"]).write_bytes(b"damaged")
    with pytest.raises(RuntimeError, match="is damaged: install rushlight-audio again"):
        zoo.load_network("vad")


def test_the_level_of_a_recording_does_not_count():
    transform = zoo.load_network("vad").spectrogram
    x = noise(4000)
    a, b = (sounds.log_mels(transform, scale * x) for scale in (1.0, 0.01))
    assert rl.allclose(a, b, atol=1e-3) and float(a.amax()) == pytest.approx(1.0)


def test_files_say_what_they_are():
    for name, fact in zoo.facts().items():
        data = (files.FOLDER / fact["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == fact["sha256"]
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        assert header["__metadata__"]["kind"] == zoo.NETWORKS[name].__name__
        state = safetensors.load(data)
        assert {v.dtype for v in state.values()} <= {rl.float16, rl.int64}
