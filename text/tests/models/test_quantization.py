"""Models with weights of bytes: what they answer, what is written and read, what is lost."""

import pytest
import tiny_folders

import rushlight as rl
from rushlight.nn.int8 import Int8Linear
from rushlight_text.generation import generate
from rushlight_text.models.pretrained import build_model, load_model, quantize_int8, save_model
from rushlight_text.tokenizers import train

NAMES = ["gpt2", "llama", "t5", "bart"]


@pytest.fixture
def models(recorded_folder, tmp_path):
    configs, parts = tiny_folders.parts(recorded_folder)
    return {
        name: load_model(tiny_folders.write(tmp_path / name, configs[name], parts[name]["weights"]))
        for name in NAMES
    }


def logits(model):
    ids = rl.tensor([[5, 9, 7, 11, 3], [6, 4, 8, 6, 2]])
    with rl.no_grad():
        if model.is_encoder_decoder:
            return model(ids, decoder_input_ids=ids[:, :3]).logits
        return model(ids).logits


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_near_and_folders_come_back(models, name, tmp_path):
    model = models[name]
    before = logits(model)
    assert quantize_int8(model) is model
    after = logits(model)
    # A byte holds a weight to 1/254 of the largest of its row.
    assert 0 < (after - before).norm() < 0.05 * before.norm()
    layers = [layer for layer in model.modules() if isinstance(layer, Int8Linear)]
    assert layers and not any(type(layer) is rl.nn.Linear for layer in model.modules())
    save_model(model, tmp_path / "bytes")
    again = load_model(tmp_path / "bytes")
    assert logits(again).equal(after)
    assert (tmp_path / "bytes/model.safetensors").stat().st_size > 0
    prompt = rl.tensor([[5, 9, 7]])
    options = {"max_new_tokens": 5, "eos_token_id": 2, "pad_token_id": 0}
    options["decoder_start_token_id"] = 0
    expected = generate(model, prompt, **options)
    assert generate(again, prompt, **options).equal(expected)
    assert generate(again, prompt, num_beams=3, **options).shape[0] == 1


def test_a_model_that_has_learned_loses_little(tmp_path):
    rl.manual_seed(0)
    tokenizer = train(["the cat sat on the mat.", "a dog ran to the cat."] * 4, vocab_size=280)
    sizes = {"vocab_size": len(tokenizer), "n_embd": 64, "n_layer": 2, "n_head": 2}
    model = build_model("gpt2", "causal-lm", n_positions=32, **sizes)
    ids = rl.tensor([tokenizer.encode("the cat sat on the mat.")])
    optimizer = rl.optim.Adam(model.parameters(), lr=0.005)
    for _ in range(40):
        loss = model(ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    whole = model(ids, labels=ids).loss.item()
    save_model(model, tmp_path / "floats")
    quantize_int8(model)
    save_model(model, tmp_path / "bytes")
    assert abs(model(ids, labels=ids).loss.item() - whole) < 0.02
    floats, small = (
        (tmp_path / name / "model.safetensors").stat().st_size for name in ("floats", "bytes")
    )
    assert small < 0.7 * floats  # positions and the table stay in floats


def test_what_is_kept_and_what_is_wrong(models, tmp_path):
    model = quantize_int8(models["gpt2"], keep=["lm_head", "c_proj"])
    kinds = {name: type(layer).__name__ for name, layer in model.named_modules()}
    assert kinds["lm_head"] == "Linear" and kinds["transformer.h.0.mlp.c_fc"] == "Int8Linear"
    assert kinds["transformer.h.0.mlp.c_proj"] == "Conv1D"
    before = logits(model)
    save_model(model, tmp_path / "some")
    assert logits(load_model(tmp_path / "some")).equal(before)
    with pytest.raises(ValueError, match="was rounded to bytes by quantize_int8; load it with"):
        load_model(tmp_path / "some", "base")
    with pytest.raises(ValueError, match="no linear layer to round"):
        quantize_int8(models["llama"], keep=[""])


def test_dynamic_layers_are_saved_as_such(models, tmp_path):
    model = quantize_int8(models["gpt2"], keep=["c_proj", "lm_head"], dynamic=True)
    quantize_int8(model)
    dynamic = {n for n, layer in model.named_modules() if getattr(layer, "dynamic", False)}
    assert "transformer.h.0.mlp.c_fc" in dynamic and "lm_head" not in dynamic
    before = logits(model)
    save_model(model, tmp_path / "some")
    again = load_model(tmp_path / "some")
    assert dynamic == {n for n, layer in again.named_modules() if getattr(layer, "dynamic", False)}
    assert logits(again).equal(before)
    again.transformer.h[0].mlp.c_fc.dynamic = False
    assert 0 < (logits(again) - before).abs().max() < 0.1 * before.abs().max()
