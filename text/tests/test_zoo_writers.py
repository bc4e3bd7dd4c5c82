"""Packaged networks that write: windows of characters, pieces of long texts."""

import socket

import pytest

import rushlight as rl
from rushlight_text import zoo
from rushlight_text.models.pretrained import build_model
from rushlight_text.pipelines import pipeline
from rushlight_text.tokenizers import train
from rushlight_text.zoo.writers import bare


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a packaged network asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="module")
def writer():
    rl.manual_seed(0)
    sizes = {"vocab_size": 5, "n_layer": 1, "n_head": 2, "n_embd": 16, "n_positions": 8}
    model = build_model("gpt2", "causal-lm", **sizes, bos_token_id=None, eos_token_id=None)
    return zoo.CharacterWriter(model.eval(), list("\nabcd"))


def test_windows_of_half_a_length(writer):
    # What is written equals a walk that reads the last four characters before each four new ones.
    ids, wanted = writer.encode("abcdabcd\ndab"), []
    while len(wanted) < 11:
        seen = ids[-4:]
        for _ in range(4):
            logits = writer.model(rl.tensor([seen])).logits[0, -1]
            seen = [*seen, int(logits.argmax())]
        ids, wanted = ids + seen[-4:], wanted + seen[-4:]
    found = writer("abcdabcd\ndab", max_new_tokens=11, do_sample=False)
    assert [writer.ids[c] for c in found] == wanted[:11]
    pieces = list(writer.stream("abcdabcd\ndab", max_new_tokens=11, do_sample=False))
    assert [len(piece) for piece in pieces] == [4, 4, 3] and "".join(pieces) == found
    several = writer(["a", "abcdabcd\ndab"], max_new_tokens=11, do_sample=False)
    assert several[1] == found and len(several[0]) == 11


def test_drawing_and_refusals(writer):
    seeded = [
        writer("ab", max_new_tokens=40, generator=rl.Generator().manual_seed(s)) for s in (1, 1, 2)
    ]
    assert seeded[0] == seeded[1] != seeded[2] and len(seeded[0]) == 40
    assert len(writer("ab", max_new_tokens=9, num_beams=2)) == 9
    with pytest.raises(ValueError, match=r"characters \['x', 'é'\] that the model has not seen"):
        writer("éax")
    with pytest.raises(ValueError, match="at least one character, got ''"):
        writer("")
    with pytest.raises(ValueError, match="max_new_tokens must be positive: 0"):
        writer("a", max_new_tokens=0)
    with pytest.raises(NotImplementedError, match="pass a list of the same text"):
        writer("a", num_return_sequences=2)


def test_a_writer_comes_back(writer, tmp_path):
    writer.save(tmp_path / "w.safetensors")
    again = zoo.CharacterWriter.load(tmp_path / "w.safetensors")
    assert again.characters == writer.characters and not again.training
    ids = rl.tensor([[1, 2, 0, 4]])
    wanted = writer.model(ids).logits
    assert float((again.model(ids).logits - wanted).norm() / wanted.norm()) < 0.02


@pytest.fixture(scope="module")
def translator():
    lines = ["And he went forth.", "Thou art the man; behold, the city."] * 4
    special = ["[PAD]", "<|endoftext|>"]
    tokenizer = train(lines, vocab_size=290, special_tokens=special)
    sizes = {"vocab_size": len(tokenizer), "d_model": 16, "max_position_embeddings": 110}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 32}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    rl.manual_seed(0)
    model = build_model(
        {"model_type": "marian"}, "seq2seq-lm", **sizes, **ids, forced_eos_token_id=None
    )
    return zoo.PlainEnglish(model.eval(), tokenizer)


def test_long_texts_are_cut_at_marks(translator):
    assert bare(" darkness  [was] upon\nZion’s hill") == "darkness was upon Zion's hill"
    ids = translator.encode("[And] he  went forth.")
    assert ids == translator.encode("And he went forth.") and ids[-1] == 1 and 0 not in ids
    text = "Thou art the man; behold, the city. And he said, 'Who?' " * 12
    pieces = translator.pieces(text)
    assert "".join(pieces) == text and len(pieces) > 1
    assert all(len(translator.encode(piece)) <= translator.longest for piece in pieces)
    assert all(piece.rstrip()[-1] in ";.'" for piece in pieces)
    words = "behold " * 200  # no mark to cut at
    assert "".join(translator.pieces(words)) == words and len(translator.pieces(words)) > 1
    assert translator.pieces("Go; now") == ["Go; now"] and translator.pieces("") == []


def test_a_translator_answers_and_comes_back(translator, tmp_path):
    texts = ["And he went forth.", "Thou art the man; " * 20, ""]
    found = translator(texts, num_beams=1, max_new_tokens=6)
    assert len(found) == 3 and found[2] == "" and translator([]) == []
    assert translator(texts[0], num_beams=1, max_new_tokens=6) == found[0]
    translator.save(tmp_path / "t.safetensors")
    again = zoo.PlainEnglish.load(tmp_path / "t.safetensors")
    assert again.encode(texts[1]) == translator.encode(texts[1])
    ids, target = rl.tensor([again.encode(texts[0])]), rl.tensor([[0, 5]])
    wanted, there = (m.model(ids, decoder_input_ids=target).logits for m in (translator, again))
    assert float((there - wanted).norm() / wanted.norm()) < 0.03


def test_character_gpt():
    write = pipeline("character_gpt")
    drawn = write("KING HENRY.\n", max_new_tokens=150, generator=rl.Generator().manual_seed(0))
    assert len(drawn) == 150 and len(drawn.split()) > 15  # words of a plausible length
    text = "To be, or not to be,--that is the question:--\nWhether 'tis nobler in the mind to suff"
    ids = rl.tensor([write.encode(text[-65:])])
    logits = write.model(ids[:, :-1]).logits[0]
    loss = rl.nn.functional.cross_entropy(logits, ids[0, 1:])
    assert float(loss) < 2.3  # 4.2 without learning


def test_plain_english():
    simplify = pipeline("plain_english")
    old = ["And he spake unto them, saying, Fear not.", "Behold, he cometh with clouds."]
    found = simplify(old)
    assert found[0].startswith("And he said to them") and "spake" not in found[0]
    assert "comes with clouds" in found[1] and "cometh" not in found[1]
    assert simplify(old[0]) == found[0]
