"""Files of packaged networks: matrices are bytes with a scale a row, and come back."""

from functools import partial

import pytest

import rushlight as rl
from rushlight.serialization import safetensors
from rushlight_text.models.pretrained import build_model
from rushlight_text.zoo import files

CAUSAL = partial(build_model, head="causal-lm")


def test_matrices_become_bytes():
    state = {"m": rl.tensor([[0.0, -127.0, 63.4], [0.5, 0.25, 0.0], [0.0, 0.0, 0.0]])}
    state["v"] = rl.tensor([1.0, 2.0])
    found = files.as_bytes(state)
    assert found["m"].tolist() == [[0, -127, 63], [127, 64, 0], [0, 0, 0]]
    assert found["m"].dtype == rl.int8 and found["v"].dtype == rl.float16
    assert found["m.scale"][:2].tolist() == pytest.approx([1.0, 0.5 / 127])
    again = files.as_floats(found)
    assert set(again) == set(state) and again["v"].tolist() == [1.0, 2.0]
    assert again["m"][2].tolist() == [0.0, 0.0, 0.0]


def test_weights_of_convolutions_are_rows_too():
    weight = rl.randn(4, 3, 5)
    found = files.as_bytes({"w": weight})
    rows = files.as_bytes({"w": weight.flatten(1)})
    assert found["w"].shape == (4, 3, 5) and rl.equal(found["w"].flatten(1), rows["w"])
    assert rl.allclose(files.as_floats(found)["w"], weight, atol=0.02)


def test_no_value_is_off_by_more_than_half_a_step():
    rl.manual_seed(0)
    matrix = rl.randn(40, 30) * rl.logspace(-6, 3, 40)[:, None]
    apart = (files.as_floats(files.as_bytes({"m": matrix}))["m"] - matrix).abs().amax(1)
    step = matrix.abs().amax(1) / 127
    assert bool((apart <= 0.5001 * step).all()) and bool((apart > 0.3 * step).any())


def test_a_network_comes_back(tmp_path):
    rl.manual_seed(0)
    sizes = {"vocab_size": 9, "n_layer": 1, "n_head": 2, "n_embd": 16, "n_positions": 8}
    model = build_model("gpt2", "causal-lm", **sizes).eval()
    files.write_network(tmp_path / "a.safetensors", model, letters=["ü", '"'])
    again, notes = files.read_network(tmp_path / "a.safetensors", CAUSAL)
    assert notes["letters"] == ["ü", '"'] and notes["config"]["n_embd"] == 16
    written = safetensors.load_file(tmp_path / "a.safetensors")
    assert "lm_head.weight" not in written  # tied to the table of tokens
    assert again.lm_head.weight is again.transformer.wte.weight and not again.training
    ids = rl.tensor([[1, 2, 8]])
    wanted = model(ids).logits
    assert float((again(ids).logits - wanted).norm() / wanted.norm()) < 0.02


def test_files_in_halves_are_read(tmp_path):
    rl.manual_seed(0)
    sizes = {"vocab_size": 9, "n_layer": 1, "n_head": 2, "n_embd": 16, "n_positions": 8}
    model = build_model("gpt2", "causal-lm", **sizes).eval()
    state = {k: v.half() for k, v in model.state_dict().items() if k != "lm_head.weight"}
    files.write_network(tmp_path / "a.safetensors", model)
    notes = files.notes_of(tmp_path / "a.safetensors", "config")
    safetensors.save_file(state, tmp_path / "b.safetensors", metadata=notes)
    again, _ = files.read_network(tmp_path / "b.safetensors", CAUSAL)
    ids = rl.tensor([[1, 2, 8]])
    assert rl.allclose(again(ids).logits, model(ids).logits, atol=2e-3)
