"""Marian's tokenizers give transformers' ids and texts (recorded)."""

import base64
import json

import pytest

from rushlight_text.models.pretrained import build_model, save_model
from rushlight_text.pipelines import pipeline
from rushlight_text.tokenizers import MarianTokenizer, Tokenizer


@pytest.fixture
def case(recorded, tmp_path):
    answers = recorded("marian")
    for name, content in answers["files"].items():
        (tmp_path / name).write_bytes(base64.b64decode(content))
    (tmp_path / "vocab.json").write_text(json.dumps(answers["vocab"]))
    return tmp_path, answers


def test_ids_and_texts(case):
    folder, answers = case
    tokenizer = Tokenizer.from_folder(folder)
    assert isinstance(tokenizer, MarianTokenizer) and len(tokenizer) == len(answers["vocab"])
    names = ("texts", "sources", "targets", "decoded", "whole")
    for text, source, target, decoded, whole in zip(*map(answers.get, names), strict=True):
        if "</s>" in text:
            continue  # a mark for transformers, text here
        assert tokenizer.encode(text) == source, text
        assert tokenizer.encode(text, target=True) == target, text
        assert tokenizer.decode(target, skip_special_tokens=True) == decoded, text
        assert tokenizer.decode(target) == whole, text
    assert tokenizer.tokenize(">>fra<< the cat")[0] == ">>fra<<"


def test_batches(case):
    folder, answers = case
    tokenizer = MarianTokenizer(folder)
    texts = answers["texts"][:3]
    batch = tokenizer(texts, return_tensors=True)
    assert batch["attention_mask"].sum(1).tolist() == [len(ids) for ids in answers["sources"][:3]]
    assert batch["input_ids"][0].tolist()[: len(answers["sources"][0])] == answers["sources"][0]
    cut = tokenizer(texts[0], truncation=True, max_length=4)["input_ids"]
    assert cut == [*answers["sources"][0][:3], tokenizer.eos_token_id]
    assert tokenizer(texts)["input_ids"] == answers["sources"][:3]
    with pytest.raises(IndexError, match="no token has id 9999"):
        tokenizer.decode([9999])


def test_translation(case):
    folder, _ = case
    tokenizer = MarianTokenizer(folder)
    pad = tokenizer.pad_token_id
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    special = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0}
    sizes |= heads | special | {"vocab_size": len(tokenizer), "d_model": 8}
    model = build_model("opus-mt-en-de", "seq2seq-lm", **sizes)
    save_model(model, folder)
    translate = pipeline("translation", folder)
    found = translate(["the cat sees", "a dog"], max_new_tokens=5, num_beams=2)
    assert len(found) == 2 and all(isinstance(text, str) for text in found)
    assert translate("the cat sees", max_new_tokens=5, num_beams=2) == found[0]


def test_missing_files(case):
    folder, answers = case
    (folder / "target.spm").unlink()
    with pytest.raises(FileNotFoundError, match=r"target\.spm"):
        MarianTokenizer(folder)
    (folder / "vocab.json").write_text('{"</s>": 0}')
    with pytest.raises(ValueError, match=r"vocab\.json lacks \['<unk>', '<pad>'\]"):
        MarianTokenizer(folder)
    (folder / "vocab.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"vocab\.json"):
        MarianTokenizer(folder)
