"""Packaged networks: what they are made of comes back from a file; they answer without network."""

import itertools
import socket

import pytest

import rushlight as rl
from rushlight_text import zoo
from rushlight_text.models.pretrained import build_model
from rushlight_text.pipelines import pipeline


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a packaged network asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def seq2seq(words):
    sizes = {"vocab_size": words, "d_model": 16, "max_position_embeddings": 40}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 32}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    rl.manual_seed(0)
    return build_model({"model_type": "marian"}, "seq2seq-lm", **sizes, **ids).eval()


def test_a_pronouncer_comes_back(tmp_path):
    made = zoo.Pronouncer(seq2seq(3 + 4 + 3), list("'abc"), ["AE1", "B", "K"])
    assert made.encode("Cab!") == [6, 4, 5, 2, 1]
    assert made.encode_phones(["K", "AE1", "B"]) == [9, 7, 8, 1]
    made.save(tmp_path / "file.safetensors")
    again = zoo.Pronouncer.load(tmp_path / "file.safetensors")
    assert again.letters == made.letters and again.phones == made.phones
    words = ["cab", "a", "abc'a"]
    assert again.predict(words) == again.predict(words) and len(made.predict(words)) == 3
    assert set(itertools.chain(*again.predict(words))) <= set(made.phones)
    ids = rl.tensor([[4, 5, 1]])
    pair = [m.model(ids, decoder_input_ids=rl.tensor([[0, 7]])).logits for m in (made, again)]
    assert rl.allclose(*pair, atol=5e-3)  # float16 in between
    assert len(again("A cab, abc's.")) == 3 and again("...") == [] and again.predict([]) == []
    assert [len(row) for row in again(["a b", "c"])] == [2, 1]


def test_wrong_files_and_names(tmp_path):
    other = tmp_path / "other.safetensors"
    rl.serialization.safetensors.save_file({"x": rl.zeros(2)}, other)
    with pytest.raises(ValueError, match="no packaged model of this kind, it has no config"):
        zoo.Pronouncer.load(other)
    with pytest.raises(ValueError, match="no packaged network is called 'sentiment'"):
        zoo.load_network("sentiment")


def test_spam():
    judge = pipeline("spam")
    spam = [
        "Lose weight now!!! Click here to order, 100% free, money back guarantee",
        "You have won a million dollars. Reply with your bank account to claim the money.",
    ]
    ham = [
        "Re: [ILUG] kernel patch\nThe patch applies, but the module still does not load here.",
        "On Mon, Jan 5, John wrote:\n> does perl 5.8 build on this?\nYes, with the last snapshot.",
    ]
    assert [each["label"] for each in judge(spam + ham)] == ["spam"] * 2 + ["ham"] * 2


def test_pronunciation():
    say = pipeline("pronunciation")
    assert say("cat") == [["K", "AE1", "T"]]
    found = say("The ship sails.")
    assert found[1] == ["SH", "IH1", "P"] and len(found) == 3
