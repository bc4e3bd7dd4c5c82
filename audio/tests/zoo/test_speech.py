"""The packaged recogniser on sentences that it did not learn, and what it refuses."""

import socket
from pathlib import Path

import pytest

import rushlight as rl
import rushlight_audio
from rushlight_audio import zoo
from rushlight_audio.functional import resample
from rushlight_audio.metrics import cer
from rushlight_audio.models.decoder import ctc_decoder

PROMPTS = Path(__file__).with_name("prompts")
# Held out: `parted_by_words` of audio/zoo/speech.py.
SPOKEN = {
    "conf-locked": "this conference is locked",
    "vm-tocallnum": "press one to call this number",
    "vm-torerecord": "press three to rerecord your message",
}


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a packaged network asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize("name", SPOKEN)
def test_sentences_are_read(name):
    path = PROMPTS / f"{name}.wav"
    found = rushlight_audio.pipeline("recognise")(path)
    assert found["text"] == SPOKEN[name]
    assert " ".join(word["word"] for word in found["words"]) == found["text"]
    edges = [edge for word in found["words"] for edge in (word["start"], word["end"])]
    assert edges == sorted(edges) and edges[0] > 0
    assert edges[-1] <= rushlight_audio.info(path).num_frames / 8000
    assert all(0.4 < word["score"] <= 1 for word in found["words"])


def test_rate_channels_and_level_do_not_count():
    name = next(iter(SPOKEN))
    waveform, _ = rushlight_audio.load(PROMPTS / f"{name}.wav")
    stereo = 0.1 * resample(waveform, 8000, 16000).repeat(2, 1)
    found = rushlight_audio.pipeline("recognise")(stereo, sample_rate=16000)
    assert cer(found["text"], SPOKEN[name]) < 0.1


def test_words_begin_when_they_are_said():
    name = next(iter(SPOKEN))
    waveform, _ = rushlight_audio.load(PROMPTS / f"{name}.wav")
    recognise = rushlight_audio.pipeline("recognise")
    plain = recognise(waveform, sample_rate=8000)["words"]
    later = recognise(rl.nn.functional.pad(waveform, (8000, 0)), sample_rate=8000)["words"]
    assert [word["word"] for word in later] == [word["word"] for word in plain]
    for one, other in zip(plain, later, strict=True):
        assert other["start"] - one["start"] == pytest.approx(1.0, abs=0.08)


def test_emissions_are_log_probabilities_that_beams_search(tmp_path):
    name = next(iter(SPOKEN))
    network = zoo.load_network("recognise")
    outputs = network.emissions(PROMPTS / f"{name}.wav")
    assert outputs.shape[1] == len(network.labels) and not outputs.requires_grad
    assert rl.allclose(outputs.exp().sum(-1), rl.ones(len(outputs)), atol=1e-4)
    words = sorted({*" ".join(SPOKEN.values()).split(), "sees", "conferences", "mail"})
    (tmp_path / "lexicon").write_text("".join(f"{w} {' '.join(w)} |\n" for w in words))
    tokens = ["|" if each == " " else each for each in network.labels]
    decoder = ctc_decoder(str(tmp_path / "lexicon"), tokens)
    assert " ".join(decoder(outputs[None])[0][0].words) == SPOKEN[name]


def test_silence_has_no_words():
    found = rushlight_audio.pipeline("recognise")(rl.zeros(16000), sample_rate=16000)
    assert found == {"text": "", "words": []}


def test_words_of_characters():
    network = zoo.Recogniser("-ab ", width=8, hidden=4)
    path = [0, 1, 1, 2, 0, 2, 3, 0, 3, 1, 0]
    network.emissions = lambda waveform, rate: rl.eye(4)[path].clamp(min=1e-9).log()
    found = network.predict(rl.ones(100), 8000)
    assert found["text"] == "abb a"
    assert found["words"] == [
        {"word": "abb", "start": 0.025, "end": pytest.approx(0.15), "score": 1.0},
        {"word": "a", "start": pytest.approx(0.225), "end": 0.25, "score": 1.0},
    ]
