"""The Audio Spectrogram Transformer computes what the one of transformers computes."""

import json
from pathlib import Path

import foreign_weights
import numpy as np
import pytest

import rushlight as rl
from rushlight.serialization import safetensors
from rushlight_audio.models import AudioSpectrogramTransformer, ast_features

CASE = json.loads((Path(__file__).parents[1] / "recorded" / "ast.json").read_text())


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ast")
    (folder / "config.json").write_text(json.dumps(CASE["config"]))
    state = {
        key: rl.tensor(foreign_weights.values(key, tuple(shape)))
        for key, shape in CASE["shapes"].items()
    }
    safetensors.save_file(state, str(folder / "model.safetensors"))
    return AudioSpectrogramTransformer.from_folder(folder)


def test_logits(model):
    with rl.no_grad():
        found = model(rl.tensor(foreign_weights.wave(400)).view(2, 25, 16))
    expected = np.array(CASE["logits"], np.float32)
    np.testing.assert_allclose(found.numpy().reshape(-1), expected, rtol=0, atol=1e-5)
    assert model.labels == [f"LABEL_{number}" for number in range(5)]


def test_published_names(model, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CASE["config"]))
    assert "audio_spectrogram_transformer.encoder.layer.1.output.dense.bias" in model.state_dict()
    rl.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    again = AudioSpectrogramTransformer.from_folder(tmp_path)
    features = rl.randn(1, 25, 16)
    assert rl.equal(again(features), model(features))


def test_what_is_heard():
    sound = rl.tensor(0.1 * foreign_weights.wave(16000)[:1])
    found = ast_features(sound, 16000, 32, 120)
    assert found.shape == (1, 120, 32)
    expected = np.array(CASE["heard"], np.float32)
    np.testing.assert_allclose(found[0, ::17].numpy().reshape(-1), expected, rtol=0, atol=1e-4)


def test_tags(model):
    waves = rl.tensor(foreign_weights.wave(6000))
    found = model.tags(waves, count=3)
    scores = model(ast_features(waves, 16000, 16, 25)).sigmoid()
    for row, tags in zip(scores.detach(), found, strict=True):
        best = row.argsort(descending=True)[:3].tolist()
        assert [name for name, _ in tags] == [f"LABEL_{number}" for number in best]
        assert [score for _, score in tags] == pytest.approx(row[best].tolist())


def test_learns_to_tell_two_sounds():
    rl.manual_seed(0)
    sizes = {**foreign_weights.AST, "num_hidden_layers": 1}
    model = AudioSpectrogramTransformer(2, sizes)
    features = 0.3 * rl.randn(16, 25, 16)
    labels = rl.arange(16) % 2
    features[labels == 1, :, :5] += 1.0
    optimizer = rl.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(40):
        optimizer.zero_grad()
        rl.nn.functional.cross_entropy(model(features), labels).backward()
        optimizer.step()
    assert (model(features).argmax(1) == labels).all()


def test_bad_input(model, tmp_path):
    with pytest.raises(ValueError, match=r"shape \[batch, 25, 16\], got \[1, 24, 16\]"):
        model(rl.zeros(1, 24, 16))
    with pytest.raises(ValueError, match="16000 samples a second, got 8000"):
        model.tags(rl.zeros(1, 9000), 8000)
    (tmp_path / "config.json").write_text('{"model_type": "vit"}')
    with pytest.raises(ValueError, match="model_type is 'vit'"):
        AudioSpectrogramTransformer.from_folder(tmp_path)
