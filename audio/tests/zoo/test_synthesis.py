"""The packaged synthesiser, whose speech the packaged recogniser reads back."""

import socket

import pytest

import rushlight as rl
import rushlight_audio
from rushlight_audio import zoo
from rushlight_audio.metrics import cer

SAID = ["please enter your password", "press two to leave a message"]


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a packaged network asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_speech_is_read_back():
    say, read = (rushlight_audio.pipeline(task) for task in ("synthesise", "recognise"))
    sounds = [say(text) for text in SAID]
    assert all(sound.shape[0] == 1 and not sound.requires_grad for sound in sounds)
    assert all(1.0 < sound.shape[1] / 8000 < 4.0 for sound in sounds)
    assert cer([read(sound, sample_rate=8000)["text"] for sound in sounds], SAID) < 0.2


def test_speed_and_punctuation():
    say = rushlight_audio.pipeline("synthesise")
    plain, fast = say(SAID[0]), say(SAID[0], speed=2.0)
    assert 0.4 < fast.shape[1] / plain.shape[1] < 0.6
    assert rl.equal(say("Please -- enter your PASSWORD!"), plain)


def test_what_cannot_be_said():
    say = rushlight_audio.pipeline("synthesise")
    with pytest.raises(ValueError, match=r"cannot say: \['\$', '2'\]; spell out numbers"):
        say("press 2 for $")
    for text in ("", " ?! "):
        with pytest.raises(ValueError, match="text has nothing to say"):
            say(text)
    with pytest.raises(ValueError, match=r"speed must be positive, got 0"):
        say("hello", speed=0)


def test_spectrograms_and_back():
    network = zoo.Synthesiser("-ab ")
    t = rl.arange(8000) / 8000
    wave = 0.3 * (6.2832 * 440 * t).sin()
    levels = network.levels(wave)
    assert levels.shape == (81, 64)
    again = network.sound(levels)
    spectrum = rl.fft.rfft(again[1000:-1000]).abs()
    assert abs(int(spectrum.argmax()) * 8000 / (len(again) - 2000) - 440) < 20
    assert float((network.levels(again)[10:70] - levels[10:70]).abs().mean()) < 0.3


def test_a_file_and_gradients(tmp_path):
    rl.manual_seed(0)
    made = zoo.Synthesiser("-ab ", width=8, layers=1)
    symbols, durations = rl.tensor([[3, 1, 2, 3]]), rl.tensor([[4, 2, 3, 1]])
    found = made(symbols, durations=durations)
    assert found.mel.shape == (1, 10, 64)
    (found.mel.square().mean() + found.log_durations.square().mean()).backward()
    assert made.network.duration_predictor.linear.weight.grad.abs().sum() > 0
    made.eval().save(tmp_path / "file.safetensors")
    again = zoo.Synthesiser.load(tmp_path / "file.safetensors")
    with rl.no_grad():
        one, other = (each(symbols, durations=durations).mel for each in (made, again))
    assert rl.allclose(one, other, atol=2e-2)  # float16 in between
