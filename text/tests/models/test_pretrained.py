"""Tiny models saved by transformers give its outputs (recorded): every kind, every head."""

import json

import pytest
import tiny_folders

import rushlight as rl
from rushlight.serialization import safetensors
from rushlight_text.models import pretrained
from rushlight_text.models.pretrained import build_model, config, load_model, save_model

NAMES = (
    "bert bert_masked bert_labels bert_tokens bert_spans roberta_masked roberta_labels xlmr "
    "electra electra_masked electra_labels distilbert distilbert_masked distilbert_labels gpt2 "
    "llama llama3 mistral window qwen2 t5 flan bart marian"
).split()
ENCODERS = ("bert", "roberta", "xlmr", "electra", "distilbert")


@pytest.fixture(scope="module")
def tiny(recorded_folder):
    return tiny_folders.parts(recorded_folder)


@pytest.fixture
def case(tiny, tmp_path):
    """A function from a name to the folder, the inputs, the outputs."""

    def load(name):
        configs, parts = tiny
        folder = tiny_folders.write(tmp_path / name, configs[name], parts[name]["weights"])
        inputs = {k[3:]: v for k, v in parts[name].items() if k.startswith("in.")}
        outputs = {k: v for k, v in parts[name].items() if k != "weights" and k[:3] != "in."}
        return folder, inputs, outputs

    return load


def close(ours, theirs, atol=1e-5):
    assert ours.shape == theirs.shape
    error = (ours - theirs).abs().max().item()
    assert error <= atol * max(1.0, theirs.abs().max().item()), error


@pytest.mark.parametrize("name", NAMES)
def test_transformers_outputs(case, name):
    folder, inputs, expected = case(name)
    found = load_model(folder)(**inputs)
    seen = inputs["attention_mask"].bool()
    assert expected
    for key, theirs in expected.items():
        ours = found[key]
        if key in ("last_hidden_state", "logits") and theirs.shape[:2] == seen.shape:
            ours, theirs = ours[seen], theirs[seen]  # what stands at padding has no meaning
        close(ours, theirs)


@pytest.mark.parametrize("name", NAMES)
def test_saved_models_are_the_same(case, name, tmp_path):
    folder, inputs, _ = case(name)
    model = load_model(folder)
    save_model(model, tmp_path / "again")
    again = load_model(tmp_path / "again")
    for key, value in model(**inputs).items():
        if isinstance(value, rl.Tensor):
            assert rl.equal(again(**inputs)[key], value), key
    written = safetensors.load_file(tmp_path / "again/model.safetensors")
    theirs = safetensors.load_file(folder / "model.safetensors")
    assert set(theirs) <= set(model.state_dict()) | {k for k in theirs if "position_ids" in k}
    assert len(written) <= len(model.state_dict())
    entries = json.loads((tmp_path / "again/config.json").read_text())
    assert (
        entries["architectures"]
        == json.loads((folder / "config.json").read_text())["architectures"]
    )


def test_another_head_is_written_as_itself(case, tmp_path):
    folder, inputs, _ = case("distilbert")
    with pytest.warns(UserWarning, match="these are new"):
        model = load_model(folder, "sequence-classification", num_labels=2)
    save_model(model, tmp_path / "tuned")
    again = load_model(tmp_path / "tuned")
    assert rl.equal(again(**inputs).logits, model(**inputs).logits)


@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral", "window", "qwen2"])
@pytest.mark.parametrize("left", [False, True])
def test_caches_give_the_same_logits(case, name, left):
    folder, inputs, _ = case(name)
    model = load_model(folder)
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    if left:
        ids, mask = ids.flip(1), mask.flip(1)
    whole = model(ids, mask if left else None).logits
    cache = model.make_cache(2, 7)
    parts = [model(ids[:, :3], mask[:, :3] if left else None, cache=cache).logits]
    for end in range(4, 8):
        seen = mask[:, :end] if left else None
        parts.append(model(ids[:, end - 1 : end], seen, cache=cache).logits)
    together = rl.cat(parts, 1)
    real = mask.bool() if left else rl.ones(mask.shape, dtype=rl.bool)
    close(together[real], whole[real])
    assert rl.isfinite(together).all()
    with pytest.raises(ValueError, match="the cache holds 7 positions, not 8"):
        model(ids[:, :1], cache=cache)


@pytest.mark.parametrize("name", ["gpt2", "llama3"])
def test_padding_on_the_left_changes_nothing(case, name):
    folder, inputs, _ = case(name)
    model = load_model(folder)
    row = inputs["input_ids"][1:, :4]
    alone = model(row).logits[:, -1]
    padded = rl.cat([rl.zeros(1, 3, dtype=rl.long), row], 1)
    mask = rl.tensor([[0, 0, 0, 1, 1, 1, 1]])
    close(model(padded, mask).logits[:, -1], alone)


@pytest.mark.parametrize("name", ["t5", "flan", "bart", "marian"])
def test_decoders_of_two_stacks_with_caches(case, name):
    folder, inputs, expected = case(name)
    model = load_model(folder)
    mask, labels = inputs["attention_mask"], inputs["labels"]
    memory = model.encode(inputs["input_ids"], mask)
    from rushlight_text.models.pretrained.t5 import shifted

    target = shifted(labels, model.config)
    cache = model.make_cache(2, 4)
    steps = [
        model(
            attention_mask=mask,
            decoder_input_ids=target[:, place : place + 1],
            encoder_output=memory,
            cache=cache,
        ).logits
        for place in range(4)
    ]
    close(rl.cat(steps, 1), expected["logits"])
    cache.reorder(rl.tensor([1, 0]))
    assert cache.keys[0].shape[0] == 2 and cache.cross[0][0].shape[0] == 2


def test_heads_on_other_checkpoints(case, tmp_path):
    folder, inputs, expected = case("bert")
    with pytest.warns(UserWarning, match="has no .*classifier.weight"):
        labelled = load_model(folder, "sequence-classification", num_labels=5)
    ids = inputs["input_ids"]
    assert labelled(ids).logits.shape == (2, 5)
    masked, _, _ = case("bert_masked")
    with pytest.warns(UserWarning, match="pooler"):
        base = load_model(masked, "base")
    assert rl.equal(
        base.embeddings.word_embeddings.weight,
        load_model(masked).base.embeddings.word_embeddings.weight,
    )
    with pytest.raises(NotImplementedError, match="gpt2 has no head 'masked-lm'"):
        load_model(case("gpt2")[0], "masked-lm")
    encoder = load_model(case("t5")[0], "encoder")
    t5, t5_inputs, _ = case("flan")
    assert encoder(ids).last_hidden_state.shape == (2, 7, 8)


def test_parts_and_former_files(case, tmp_path):
    folder, inputs, expected = case("bert_labels")
    weights = safetensors.load_file(folder / "model.safetensors")
    names = sorted(weights)
    (folder / "model.safetensors").unlink()
    where = {}
    for number, part in enumerate((names[:9], names[9:])):
        file = f"model-{number}.safetensors"
        safetensors.save_file({name: weights[name] for name in part}, folder / file)
        where |= dict.fromkeys(part, file)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": where}))
    close(load_model(folder)(**inputs).logits, expected["logits"])
    index.write_text(json.dumps({"weight_map": where | {"extra": "model-1.safetensors"}}))
    with pytest.raises(ValueError, match=r"do not hold \['extra'\]"):
        load_model(folder)
    (folder / "model-1.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"model-1\.safetensors: a part that .* is missing"):
        load_model(folder)
    index.write_text("{}")
    with pytest.raises(ValueError, match="no map from names to files"):
        load_model(folder)
    index.unlink()
    with pytest.raises(FileNotFoundError, match="no weights: none of model.safetensors"):
        load_model(folder)
    former = {
        key.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): v
        for key, v in weights.items()
    }
    former["bert.embeddings.position_ids"] = rl.arange(16)[None]
    rl.save(former, folder / "pytorch_model.bin")
    close(load_model(folder)(**inputs).logits, expected["logits"])


def test_wrong_weights_are_named(case):
    folder, _, _ = case("gpt2")
    weights = safetensors.load_file(folder / "model.safetensors")
    lacking = {k: v for k, v in weights.items() if "h.1.attn.c_proj" not in k}
    safetensors.save_file(lacking, folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"lacks \['transformer.h.1.attn.c_proj.bias'.*\(2 of"):
        load_model(folder)
    weights["transformer.wpe.weight"] = rl.zeros(3, 8)
    safetensors.save_file(weights, folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"wpe.weight has shape \[3, 8\], the configuration says"):
        load_model(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(ValueError, match="not JSON"):
        load_model(folder)
    (folder / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match="no configuration"):
        load_model(folder)


def test_dtypes(case, tmp_path):
    folder, inputs, _ = case("llama")
    half = load_model(folder).to(rl.bfloat16)
    save_model(half, tmp_path / "half")
    assert load_model(tmp_path / "half").lm_head.weight.dtype == rl.float32
    kept = load_model(tmp_path / "half", dtype=None)
    assert kept.lm_head.weight.dtype == rl.bfloat16
    assert kept(inputs["input_ids"]).logits.dtype == rl.bfloat16


def test_configurations():
    assert config("gpt2").n_embd == 768 and config("Llama-3.2-1B").head_dim == 64
    assert (
        config({"model_type": "bert", "id2label": {"0": "a", "1": "b", "2": "c"}}).num_labels == 3
    )
    with pytest.raises(ValueError, match="no sizes are called 'gpt9'"):
        config("gpt9")
    with pytest.raises(ValueError, match="'model_type' is missing"):
        config({})
    with pytest.raises(NotImplementedError, match="type 'mamba' are not there"):
        config({"model_type": "mamba"})
    with pytest.raises(AttributeError, match="no entry 'nothing'"):
        _ = config("gpt2").nothing
    with pytest.raises(ValueError, match="unknown activation 'selu'"):
        build_model("bert-base-uncased", num_hidden_layers=1, hidden_act="selu")
    with pytest.raises(NotImplementedError, match="rotary positions of type 'yarn'"):
        build_model(
            {"model_type": "llama", "rope_scaling": {"rope_type": "yarn"}},
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=2,
        )


SMALL = {
    "bert-base-uncased": {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2},
    "distilbert-base-uncased": {"dim": 8, "n_layers": 1, "n_heads": 2},
    "electra-small-discriminator": {"hidden_size": 8, "num_hidden_layers": 1, "embedding_size": 4},
    "roberta-base": {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2},
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("head", pretrained.loading._ENCODER_HEADS)
def test_every_head_learns(name, head):
    rl.manual_seed(0)
    model = build_model(name, head, vocab_size=20, **SMALL[name])
    ids = rl.randint(3, 20, (4, 6))
    labels = {
        "sequence-classification": {"labels": rl.tensor([0, 1, 0, 1])},
        "token-classification": {"labels": ids % 2},
        "question-answering": {
            "start_positions": rl.tensor([0, 1, 2, 3]),
            "end_positions": rl.tensor([2, 3, 4, 5]),
        },
        "masked-lm": {"labels": ids},
    }[head]
    optimizer = rl.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(25):
        loss = model(ids, **labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0], losses[::8]


def test_sequences_that_are_too_long():
    short = {"max_position_embeddings": 4}
    for name, options in (
        ("bert-base-uncased", SMALL["bert-base-uncased"] | short),
        ("roberta-base", SMALL["roberta-base"] | {"max_position_embeddings": 6}),
        (
            "distilbert-base-uncased",
            SMALL["distilbert-base-uncased"] | {"max_position_embeddings": 4},
        ),
        ("gpt2", {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 4}),
    ):
        model = build_model(name, vocab_size=20, **options)
        assert model(rl.zeros(1, 4, dtype=rl.long) + 5).last_hidden_state.shape == (1, 4, 8)
        with pytest.raises(ValueError, match="5 ids are more than the model's"):
            model(rl.zeros(1, 5, dtype=rl.long) + 5)
    with pytest.raises(NotImplementedError, match="windows of some layers alone are not there"):
        build_model({"model_type": "qwen2"}, use_sliding_window=True, **TINY_LLAMA)


TINY_LLAMA = {
    "vocab_size": 9,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
}


def test_outputs_and_losses(case):
    folder, inputs, _ = case("bert_labels")
    model = load_model(folder)
    out = model(inputs["input_ids"], labels=rl.tensor([0, 2]))
    assert list(out) == ["logits", "loss"] and out["loss"] is out.loss and out.nothing is None
    assert repr(out) == "ModelOutput(logits, loss)" and len(out) == 2
    with pytest.raises(KeyError):
        out["nothing"]
    t5 = load_model(case("t5")[0])
    with pytest.raises(ValueError, match="pass decoder_input_ids or labels"):
        t5(inputs["input_ids"])
    number = build_model(
        "bert-base-uncased", "sequence-classification", num_labels=1, **SMALL["bert-base-uncased"]
    )
    assert number(inputs["input_ids"], labels=rl.tensor([0.5, 1.0])).loss.dim() == 0
