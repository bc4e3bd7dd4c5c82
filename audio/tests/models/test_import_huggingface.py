"""Networks of transformers, as folders and as modules, compute here what they compute there."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import foreign_weights
import numpy as np
import pytest

import rushlight as rl
from rushlight.serialization import safetensors
from rushlight_audio.models.wav2vec2.utils import import_huggingface_model

PATH = Path(__file__).parents[1] / "recorded" / "transformers.json"
TABLE = json.loads(PATH.read_text())


def state_of(case):
    return {
        key: rl.tensor(foreign_weights.values(key, tuple(shape)))
        for key, shape in case["shapes"].items()
    }


def check(model, case):
    assert not model.training
    with rl.no_grad():
        found, lengths = model(rl.tensor(foreign_weights.wave(120)))
    assert lengths is None
    expected = np.array(case["output"], np.float32)
    np.testing.assert_allclose(found.numpy().reshape(-1), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", TABLE)
def test_folder(name, tmp_path):
    case = TABLE[name]
    (tmp_path / "config.json").write_text(json.dumps(case["config"]))
    safetensors.save_file(state_of(case), str(tmp_path / "model.safetensors"))
    check(import_huggingface_model(tmp_path), case)


def test_older_names_in_a_pickled_file(tmp_path):
    case = TABLE["wav2vec2-ctc"]
    older = {"parametrizations.weight.original0": "weight_g"}
    older["parametrizations.weight.original1"] = "weight_v"
    state = {}
    for key, value in state_of(case).items():
        for new, old in older.items():
            key = key.replace(new, old)
        state[key] = value
    assert any(key.endswith("weight_g") for key in state)
    (tmp_path / "config.json").write_text(json.dumps(case["config"]))
    rl.save(state, tmp_path / "pytorch_model.bin")
    check(import_huggingface_model(tmp_path), case)


def test_module_of_another_library():
    """What has `config` and `state_dict` and tensors that become arrays."""

    class Foreign:
        def __init__(self, value):
            self.value = value
            self.shape = value.shape

        def detach(self):
            return self

        cpu = detach

        def numpy(self):
            return self.value.numpy()

    case = TABLE["hubert-ctc"]
    module = SimpleNamespace(
        config=SimpleNamespace(to_dict=lambda: case["config"]),
        state_dict=lambda: {key: Foreign(value) for key, value in state_of(case).items()},
    )
    check(import_huggingface_model(module), case)


def test_bad_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match=re.escape("config.json")):
        import_huggingface_model(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(FileNotFoundError, match="model.safetensors, pytorch_model.bin"):
        import_huggingface_model(tmp_path)
    safetensors.save_file({"x": rl.zeros(1)}, str(tmp_path / "model.safetensors"))
    with pytest.raises(ValueError, match="model_type 'bert' is none of wav2vec2, hubert, wavlm"):
        import_huggingface_model(tmp_path)
