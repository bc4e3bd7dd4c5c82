"""RoBERTa and T5 give torchtext 0.18's numbers with its state dicts (recorded)."""

import pytest

import rushlight as rl
from rushlight.serialization import safetensors
from rushlight_text import models
from rushlight_text.models.roberta.model import RobertaEncoder
from rushlight_text.models.t5.bundler import GenerationUtilsForT5


def close(ours, theirs, atol=2e-5):
    assert ours.shape == theirs.shape
    assert rl.allclose(ours, theirs, atol=atol, rtol=1e-5), (ours - theirs).abs().max()


@pytest.fixture
def case(recorded_folder):
    """A function from a name to the state dict, the inputs and the outputs."""

    def load(name):
        tensors = safetensors.load_file(recorded_folder / f"torchtext_{name}.safetensors")
        parts = {"state": {}, "in": {}, "out": {}}
        for key, value in tensors.items():
            part, _, rest = key.partition(".")
            parts[part][rest] = value
        return parts["state"], parts["in"], parts["out"]

    return load


def roberta(first):
    conf = models.RobertaEncoderConf(11, 8, 16, 1, 12, 2, 2, normalize_before=first)
    return models.RobertaModel(conf, models.RobertaClassificationHead(3, 8))


@pytest.mark.parametrize("first", [False, True])
def test_roberta(case, first):
    state, inputs, expected = case(f"roberta_{'pre' if first else 'post'}norm")
    model = roberta(first).eval()
    assert set(model.state_dict()) == set(state)
    model.load_state_dict(state)
    tokens = inputs["tokens"]
    close(model(tokens), expected["logits"])
    real = tokens != 1  # PyTorch's own fast path leaves other numbers at padding
    close(model.encoder(tokens)[real], expected["features"][real])
    close(model.encoder(tokens, tokens == 6), expected["masked"])


def test_former_names_of_robertas_parameters(case):
    state, inputs, expected = case("roberta_postnorm")
    former = {}
    names = {
        "self_attn.in_proj": "attention.input_projection",
        "self_attn.out_proj": "attention.output_projection",
        "linear1": "residual_mlp.mlp.0",
        "linear2": "residual_mlp.mlp.3",
        "norm1": "attention_layer_norm",
        "norm2": "final_layer_norm",
    }
    for key, value in state.items():
        for new, old in names.items():
            if f".{new}" in key and ".layers.layers." in key:
                key = key.replace(new + "_", old + ".").replace(new, old)
                key = key.replace(".layers.layers.", ".layers.")
        former[key] = value
    assert "encoder.transformer.layers.0.attention.input_projection.weight" in former
    model = roberta(False).eval()
    model.load_state_dict(former)
    close(model(inputs["tokens"]), expected["logits"])


def test_bundles_keep_or_take_the_head(case):
    state, inputs, expected = case("roberta_postnorm")
    conf = roberta(False).encoder and models.RobertaEncoderConf(11, 8, 16, 1, 12, 2, 2)
    build = models.RobertaBundle.build_model
    head = models.RobertaClassificationHead(3, 8)
    taken = build(conf, head=head, checkpoint=state).eval()
    close(taken(inputs["tokens"]), expected["logits"])
    head = models.RobertaClassificationHead(3, 8)
    weight = head.dense.weight.detach().clone()
    kept = build(conf, head=head, checkpoint=state, override_checkpoint_head=True)
    assert rl.equal(kept.head.dense.weight, weight)
    encoder = {key: value for key, value in state.items() if key.startswith("encoder.")}
    assert rl.equal(
        build(conf, head=head, checkpoint=encoder).encoder.transformer.token_embedding.weight,
        state["encoder.transformer.token_embedding.weight"],
    )
    frozen = build(conf, head=head, freeze_encoder=True)
    assert not any(p.requires_grad for p in frozen.encoder.parameters())
    assert all(p.requires_grad for p in frozen.head.parameters())
    with pytest.raises(TypeError, match="checkpoint must be of type `str`"):
        build(conf, checkpoint=3)


def test_published_bundles(tmp_path, monkeypatch, case):
    assert models.XLMR_BASE_ENCODER.encoderConf.vocab_size == 250002
    assert models.ROBERTA_LARGE_ENCODER.encoderConf.num_encoder_layers == 24
    assert models.ROBERTA_DISTILLED_ENCODER._path.endswith("/roberta.distilled.encoder.pt")
    state, inputs, expected = case("roberta_postnorm")
    conf = models.RobertaEncoderConf(11, 8, 16, 1, 12, 2, 2)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RUSHLIGHT_MIRRORS", str(tmp_path))
    rl.save(state, tmp_path / "tiny.pt")
    head = models.RobertaClassificationHead(3, 8)
    bundle = models.RobertaBundle(conf, "https://unreachable.invalid/tiny.pt")
    model = bundle.get_model(head=head).eval()
    close(model.encoder(inputs["tokens"], inputs["tokens"] == 6), expected["masked"])
    with pytest.raises(AssertionError, match="load_weights cannot be True"):
        models.RobertaBundle(conf).get_model()
    with pytest.warns(UserWarning, match="frozen"):
        models.RobertaBundle(conf).get_model(load_weights=False, freeze_encoder=True)
    with pytest.raises(AssertionError, match="must be a RobertaEncoderConf, not dict"):
        models.RobertaModel({})


def test_all_layers():
    encoder = RobertaEncoder(11, 8, 16, 1, 12, 2, 3).eval()
    encoder.transformer.return_all_layers = True
    tokens = rl.tensor([[0, 5, 2]])
    states = encoder.transformer(tokens)
    assert len(states) == 4 and states[0].shape == (3, 1, 8)
    encoder.transformer.return_all_layers = False
    assert rl.equal(encoder.transformer(tokens), states[-1])
    assert encoder.transformer.positional_embedding.max_positions() == 10


def t5(gated, **options):
    sizes = {"vocab_size": 11, "linear_head": True} | options
    conf = models.T5Conf(
        embedding_dim=8,
        qkv_dim=3,
        num_attention_heads=2,
        num_encoder_layers=2,
        num_decoder_layers=2,
        ffn_dimension=16,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=6,
        feed_forward_proj="gated-gelu" if gated else None,
        **sizes,
    )
    return models.T5Model(conf)


def flat(outputs, prefix=""):
    if isinstance(outputs, rl.Tensor):
        return {prefix[1:]: outputs}
    pairs = outputs.items() if isinstance(outputs, dict) else enumerate(outputs or ())
    return {k: v for key, value in pairs for k, v in flat(value, f"{prefix}.{key}").items()}


@pytest.mark.parametrize("gated", [False, True])
def test_t5(case, gated):
    state, inputs, expected = case(f"t5_{'gated' if gated else 'plain'}")
    model = t5(gated)
    assert set(model.state_dict()) == set(state)
    model.load_state_dict(state)
    found = flat(
        {
            "whole": model(inputs["source"], inputs["target"]),
            "start": model(inputs["source"], return_past_key_values=True),
            "encoded": model.encoder(src=inputs["source"]),
        }
    )
    generated = expected.pop("generated")
    assert set(found) == set(expected)
    for name, theirs in expected.items():
        close(found[name], theirs)
    ours = GenerationUtilsForT5(model).generate(inputs["source"], max_length=9)
    assert ours.tolist() == generated.tolist()


def test_t5_goes_on_from_the_past(case):
    state, inputs, _ = case("t5_plain")
    model = t5(False)
    model.load_state_dict(state)
    source, target = inputs["source"][:1], inputs["target"][:1]
    whole = model(source, target)["decoder_output"]
    encoded, past = model.encoder(source), None
    for step in range(target.shape[1]):
        prepared = model.prepare_inputs_for_generation(target[:, : step + 1], encoded, past=past)
        out = model(**prepared)
        past = out["past_key_values"]
        close(out["decoder_output"][:, -1], whole[:, step])


def test_t5_configurations():
    assert models.T5Conf(feed_forward_proj="gated-gelu").activation == "gelu_new"
    relu = models.T5Conf(feed_forward_proj="relu")
    assert relu.activation == "relu" and not relu.is_gated_act
    with pytest.raises(ValueError, match="`feed_forward_proj`: a-b is not of the form"):
        models.T5Conf(feed_forward_proj="a-b")
    with pytest.raises(RuntimeError, match="activation should be relu/gelu"):
        t5(False, activation="swish")
    with pytest.warns(UserWarning, match="Decoder is not set"):
        assert t5(False, encoder_only=True).get_decoder() is None
    assert t5(False).get_encoder().norm.weight.shape == (8,)
    trained = t5(False, training=True, dropout=0.5)
    assert trained.training and not t5(False).training


def test_t5_bundles():
    assert models.T5_3B.config.qkv_dim == 128 and models.T5_3B.config.ffn_dimension == 16384
    assert models.FLAN_T5_XXL_ENCODER.config.encoder_only
    assert models.FLAN_T5_BASE_GENERATION.config.is_gated_act
    assert models.T5_SMALL_GENERATION._path.endswith("/models/text/t5.small.generation.v2.pt")
    small = models.T5Bundle(t5(False).config)
    with pytest.raises(AssertionError, match="load_weights cannot be True"):
        small.get_model()
    wrapped = small.get_model(load_weights=False, with_generation_utils=True)
    assert wrapped.generate(rl.tensor([[5, 6, 1]]), max_length=4).shape[0] == 1
    with pytest.warns(UserWarning, match="frozen"):
        frozen = small.get_model(load_weights=False, freeze_model=True)
    assert not any(p.requires_grad for p in frozen.parameters())


def test_t5_transform(recorded, tmp_path):
    import base64

    entry = recorded("sentencepiece")["unigram"]
    (tmp_path / "m.model").write_bytes(base64.b64decode(entry["model"]))
    transform = models.T5Transform(tmp_path / "m.model", max_seq_len=5, eos_idx=1, padding_idx=0)
    answers = entry["answers"][:2]
    texts = [answer["text"] for answer in answers]
    batch = transform([texts[0], ""])
    assert batch.tolist() == [[*answers[0]["ids"][:4], 1], [1, 0, 0, 0, 0]]
    assert transform(texts[1]).tolist() == [*answers[1]["ids"][:4], 1]
    assert transform.decode(answers[0]["ids"]) == answers[0]["decoded"]
    assert transform.decode([answer["ids"] for answer in answers]) == [
        answer["decoded"] for answer in answers
    ]
