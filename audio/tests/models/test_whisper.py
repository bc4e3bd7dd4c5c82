"""Whisper computes what the one of transformers computes, from both kinds of files."""

import itertools
import json
from pathlib import Path

import foreign_weights
import numpy as np
import pytest

import rushlight as rl
from rushlight.serialization import safetensors
from rushlight_audio.models import whisper

CASE = json.loads((Path(__file__).parents[1] / "recorded" / "whisper.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """As Hugging Face writes it."""
    path = tmp_path_factory.mktemp("whisper")
    (path / "config.json").write_text(json.dumps(CASE["config"]))
    state = {
        key: rl.tensor(foreign_weights.values(key, tuple(shape)))
        for key, shape in CASE["shapes"].items()
    }
    safetensors.save_file(state, str(path / "model.safetensors"))
    return path


@pytest.fixture(scope="module")
def model(folder):
    return whisper.load_whisper(folder)


@pytest.fixture(scope="module")
def mel():
    return rl.tensor(foreign_weights.wave(600)).view(2, 20, 30)


def test_logits(model, mel):
    with rl.no_grad():
        found = model(mel, rl.tensor(CASE["tokens"]))
    expected = np.array(CASE["logits"], np.float32)
    np.testing.assert_allclose(found.numpy().reshape(-1), expected, rtol=0, atol=1e-5)
    assert not model.training
    assert not model.is_multilingual


def test_best_tokens(model, mel):
    found = whisper.generate(model, mel, [1, 7], end=2, max_tokens=10, suppress=[2, 4])
    assert [tokens for tokens, _ in found] == CASE["best"]


def test_files_of_openai(model, mel, tmp_path):
    half = {key: value.half() for key, value in model.state_dict().items()}
    rl.save({"dims": vars(model.dims), "model_state_dict": half}, tmp_path / "small.pt")
    found = whisper.load_whisper(tmp_path / "small.pt")
    assert found.dims == model.dims
    tokens = rl.tensor(CASE["tokens"])
    assert rl.allclose(found(mel, tokens), model(mel, tokens), atol=0.02)
    assert found.decoder.ln.weight.dtype == rl.float32


@pytest.mark.parametrize("bands", ["80", "128"])
def test_what_is_heard(bands):
    sound = whisper.pad_or_trim(rl.tensor(foreign_weights.wave(16000)[0]))
    found = whisper.log_mel_spectrogram(sound, int(bands))
    assert found.shape == (int(bands), 3000)
    expected = np.array(CASE["heard"][bands], np.float32)
    some = found[:, :120:17].numpy().reshape(-1)
    np.testing.assert_allclose(some, expected, rtol=0, atol=1e-4)


def test_pad_or_trim():
    assert whisper.pad_or_trim(rl.ones(2, 5), 3).shape == (2, 3)
    assert whisper.pad_or_trim(rl.ones(2), 4).tolist() == [1, 1, 0, 0]


def scores_of_all(model, mel, prompt, end, words, most):
    """Log probabilities of every text that ends within `most` tokens."""
    found = {}
    encoded = model.encoder(mel)
    for length in range(most):
        for text in itertools.product([w for w in words if w != end], repeat=length):
            tokens = rl.tensor([[*prompt, *text]])
            logits = model.logits(tokens, encoded)[0, len(prompt) - 1 :]
            hidden = rl.full_like(logits, -float("inf"))
            hidden[:, words] = 0.0
            steps = rl.log_softmax(logits + hidden, -1)
            wanted = [*text, end]
            found[text] = sum(float(steps[n, word]) for n, word in enumerate(wanted))
    return found


def test_beams_find_the_best_of_all(model, mel):
    words, end = [2, 5, 6, 7], 2
    hidden = [number for number in range(40) if number not in words]
    with rl.no_grad():
        every = scores_of_all(model, mel[:1], [1], end, words, 4)
    options = {"max_tokens": 4, "suppress": hidden, "beam_size": 300}
    text, mean = whisper.generate(model, mel[:1], [1], end, **options)[0]
    best = max(every, key=lambda each: every[each] / (len(each) + 1))
    assert tuple(text) == best
    assert mean == pytest.approx(every[best] / (len(best) + 1), abs=1e-5)
    text, _ = whisper.generate(model, mel[:1], [1], end, length_penalty=0, **options)[0]
    assert tuple(text) == max(every, key=every.get)


def test_drawn_tokens_follow_the_seed(model, mel):
    options = {"end": 2, "max_tokens": 12, "temperature": 1.0}
    drawn = []
    for seed in (0, 0, 1):
        rl.manual_seed(seed)
        drawn.append(whisper.generate(model, mel, [1], **options))
    assert drawn[0] == drawn[1] != drawn[2]


def test_first_token_and_length(model, mel):
    best = whisper.generate(model, mel[:1], [1, 7], end=2, max_tokens=1, suppress=[2])[0][0]
    options = {"end": 2, "max_tokens": 1, "suppress": [2], "begin_suppress": best}
    assert whisper.generate(model, mel[:1], [1, 7], **options)[0][0] != best
    found = whisper.generate(model, mel[:1], [1, 7], end=2, max_tokens=99, suppress=[2])
    assert len(found[0][0]) == 22  # the network holds 24 tokens


def test_languages(model, mel):
    found = whisper.detect_language(model, mel, 1, [10, 11, 12])
    assert found.shape == (2, 3)
    assert rl.allclose(found.sum(1), rl.ones(2))
    with rl.no_grad():
        logits = model(mel, rl.tensor([[1], [1]]))[:, 0, 10:13]
    assert found.argmax(1).tolist() == logits.argmax(1).tolist()


def test_bad_input(model, mel, tmp_path):
    with pytest.raises(ValueError, match="spectrograms of 30 frames, got 28"):
        model(mel[..., :28], rl.tensor([[1], [1]]))
    with pytest.raises(ValueError, match="at most 24 tokens, got 25"):
        model(mel, rl.zeros(2, 25, dtype=rl.int64))
    with pytest.raises(ValueError, match="temperature is for beam_size=1"):
        whisper.generate(model, mel, [1], 2, temperature=1.0, beam_size=2)
    with pytest.raises(FileNotFoundError, match="nothing.pt"):
        whisper.load_whisper(tmp_path / "nothing.pt")
    rl.save({"x": 1}, tmp_path / "other.pt")
    with pytest.raises(ValueError, match="lacks dims or model_state_dict"):
        whisper.load_whisper(tmp_path / "other.pt")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ValueError, match="model_type is 'bert'"):
        whisper.load_whisper(tmp_path)
