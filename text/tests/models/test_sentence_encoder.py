"""Vectors of sentences: pooling, batches by length, folders of sentence-transformers."""

import json

import pytest

import rushlight as rl
from rushlight_text.models.pretrained import SentenceEncoder, build_model, save_model
from rushlight_text.tokenizers import train

TEXTS = ["the cat sat", "the dog and the cat", "a mat", "", "the cat sat on the mat for the dog"]


@pytest.fixture
def folder(tmp_path):
    rl.manual_seed(0)
    tokenizer = train(TEXTS * 10, kind="wordpiece", vocab_size=60, max_length=16)
    tokenizer.save(tmp_path)
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = build_model("bert-base-uncased", vocab_size=len(tokenizer), **sizes)
    save_model(model, tmp_path)
    return tmp_path


def test_the_mean_of_the_tokens(folder):
    encoder = SentenceEncoder.from_folder(folder)
    vectors = encoder.encode(TEXTS, batch_size=2)
    assert vectors.shape == (5, 8)
    assert rl.allclose(vectors.norm(dim=1), rl.ones(5), atol=1e-5)
    for text, vector in zip(TEXTS, vectors, strict=True):
        ids = rl.tensor([encoder.tokenizer.encode(text)])
        mean = encoder.encoder(ids).last_hidden_state[0].mean(0)
        assert rl.allclose(vector, mean / mean.norm(), atol=1e-5)
        assert rl.allclose(encoder.encode(text), vector, atol=1e-5)


@pytest.mark.parametrize("kind", ["cls", "max"])
def test_other_poolings(folder, kind):
    (folder / "1_Pooling").mkdir()
    mode = {"cls": "pooling_mode_cls_token", "max": "pooling_mode_max_tokens"}[kind]
    (folder / "1_Pooling/config.json").write_text(json.dumps({mode: True}))
    (folder / "modules.json").write_text(json.dumps([{"type": "models.Transformer"}]))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 6}))
    encoder = SentenceEncoder.from_folder(folder)
    assert (encoder.pooling, encoder.normalize, encoder.max_length) == (kind, False, 6)
    states = encoder.encoder(rl.tensor([encoder._ids(TEXTS[4])])).last_hidden_state[0]
    assert len(states) == 6
    expected = states[0] if kind == "cls" else states.amax(0)
    assert rl.allclose(encoder.encode([TEXTS[4], TEXTS[0]])[0], expected, atol=1e-5)


def test_unknown_poolings(folder):
    encoder = SentenceEncoder.from_folder(folder)
    with pytest.raises(ValueError, match="pooling must be one of"):
        SentenceEncoder(encoder.encoder, encoder.tokenizer, pooling="sum")
