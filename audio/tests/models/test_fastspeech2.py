"""FastSpeech 2 computes what the one of transformers computes, and follows durations."""

import json
from pathlib import Path

import foreign_weights
import numpy as np
import pytest

import rushlight as rl
from rushlight.serialization import safetensors
from rushlight_audio.models import FastSpeech2

CASE = json.loads((Path(__file__).parents[1] / "recorded" / "fastspeech2.json").read_text())


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fastspeech2")
    (folder / "config.json").write_text(json.dumps(CASE["config"]))
    state = {}
    for key, shape in CASE["shapes"].items():
        numbers = foreign_weights.values(key, tuple(shape)) if shape else np.array(0)
        numbers = np.abs(numbers) + np.float32(0.5) if key.endswith("running_var") else numbers
        if key == "duration_predictor.linear.bias":
            numbers = numbers + np.float32(1.5)
        state[f"model.{key}"] = rl.tensor(numbers)
    safetensors.save_file(state, str(folder / "model.safetensors"))
    return FastSpeech2.from_folder(folder)


def close(found, expected):
    numbers = found.detach().numpy().reshape(-1)
    np.testing.assert_allclose(numbers, np.array(expected, np.float32), rtol=0, atol=1e-5)


def test_what_a_text_sounds_like(model):
    with rl.no_grad():
        found = model(rl.tensor([[3, 5, 1, 8, 2]]))
    assert found.durations.tolist() == CASE["durations"]
    close(found.mel, CASE["spectrogram"])
    close(found.pitch, CASE["pitch_outputs"])
    close(found.energy, CASE["energy_outputs"])


def given():
    draw = rl.tensor(foreign_weights.wave(14))
    return {
        "symbols": rl.tensor([[3, 5, 1, 8], [4, 2, 0, 0]]),
        "mask": rl.tensor([[0, 0, 0, 0], [0, 0, 1, 1]]).bool(),
        "durations": rl.tensor([[2, 1, 3, 1], [1, 2, 0, 0]]),
        "pitch": draw[:, :4, None],
        "energy": draw[:, 4:8, None],
    }


def test_given_durations_pitch_and_energy(model):
    found = model(**given())
    expected = np.array(CASE["given"], np.float32).reshape(2, 7, 4)
    close(found.mel[0], expected[0].reshape(-1))
    close(found.mel[1, :3], expected[1, :3].reshape(-1))
    close(found.log_durations[0], CASE["given log durations"][:4])


def test_gradients_reach_all_but_what_pitch_is_expected_of(model):
    found = model(**given())
    model.zero_grad()
    found.pitch.sum().backward(retain_graph=True)
    assert model.encoder.embed.weight.grad is None
    (found.mel.square().sum() + found.log_durations.sum() + found.energy.sum()).backward()
    without = [name for name, each in model.named_parameters() if each.grad is None]
    assert without == []
    model.zero_grad()


def test_speed(model):
    symbols = rl.tensor([[3, 5, 1, 8, 2]])
    with rl.no_grad():
        usual, slow = model(symbols), model(symbols, speed=0.5)
    assert slow.durations.tolist() == [[2 * each for each in usual.durations[0].tolist()]]
    assert slow.mel.shape[1] == 2 * usual.mel.shape[1]


def test_a_text_of_no_length_has_a_frame_for_each_symbol():
    rl.manual_seed(0)
    silent = FastSpeech2({**foreign_weights.FASTSPEECH2}).eval()
    rl.nn.init.constant_(silent.duration_predictor.linear.bias, -9.0)
    assert silent(rl.tensor([[1, 2, 3]])).durations.tolist() == [[1, 1, 1]]


def test_other_kinds_refuse():
    with pytest.raises(NotImplementedError, match="encoder_normalize_before=True; only networks"):
        FastSpeech2({"encoder_normalize_before": True})
    with pytest.raises(NotImplementedError, match="num_speakers=4"):
        FastSpeech2({"num_speakers": 4})
