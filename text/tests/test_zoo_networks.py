"""Packaged networks: what they are made of comes back from a file; they answer without network."""

import itertools
import math
import socket

import pytest

import rushlight as rl
from rushlight_text import zoo
from rushlight_text.models.pretrained import build_model
from rushlight_text.pipelines import pipeline
from rushlight_text.zoo.aligned import AlignedTransformer
from rushlight_text.zoo.files import write_network


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a packaged network asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def tiny(letters, pieces, **sizes):
    rl.manual_seed(0)
    sizes = {"width": 16, "encoder_layers": 1, "decoder_layers": 1, "letter_width": 8, **sizes}
    return AlignedTransformer(letters, pieces, heads=2, **sizes).eval()


def test_a_pronouncer_comes_back(tmp_path):
    made = zoo.Pronouncer(tiny(2 + 4, 4), list("'abc"), ["", "AE1", "B", "K S"])
    assert made.encode("Cab!") == [0, 5, 3, 4, 1] and made.encode("ça") == [0, 5, 3, 1]
    assert made.encode("b’a") == [0, 4, 2, 3, 1] and len(made.encode("a" * 50)) == 34
    made.save(tmp_path / "file.safetensors")
    again = zoo.Pronouncer.load(tmp_path / "file.safetensors")
    assert again.letters == made.letters and again.pieces == made.pieces
    words = ["cab", "a", "abc'a", "?", "cbb"]
    found = again.predict(words, 3)
    assert found == [again.predict([word], 3)[0] for word in words] and found[3] == []
    assert set(itertools.chain(*found)) <= {"AE1", "B", "K", "S"}
    ids, before = rl.tensor([[0, 4, 5, 1]]), rl.tensor([[4, 1]])
    pair = [m.model(ids, before) for m in (made, again)]
    assert rl.allclose(*pair, atol=3e-2)  # bytes in between
    assert len(again("A cab, abc's.")) == 3 and again("...") == [] and again.predict([]) == []
    assert [len(row) for row in again(["a b", "c"])] == [2, 1]
    with pytest.raises(ValueError, match="num_beams must be positive, got 0"):
        made.predict(words, 0)


def test_a_search_finds_the_likeliest_pieces():
    model = tiny(6, 3)
    ids = rl.tensor([[0, 2, 3, 4, 1], [0, 5, 5, 2, 1]])
    ways = rl.tensor(list(itertools.product(range(3), repeat=3)))
    before = rl.nn.functional.pad(ways[:, :-1], (1, 0), value=model.none)
    pieces, scores = model.search(ids, 27)
    for row, word in enumerate(ids):
        shares = model(word.expand(27, -1), before).log_softmax(-1)
        wanted = shares.gather(2, ways[:, :, None]).sum((1, 2)).sort(descending=True)
        assert rl.allclose(scores[row], wanted.values, atol=1e-5)
        assert pieces[row].tolist() == ways[wanted.indices].tolist()
    greedy, score = model.search(ids, 1)
    assert greedy.shape == (2, 1, 3) and bool((score[:, 0] <= scores[:, 0] + 1e-6).all())


def test_a_piece_depends_on_all_letters_and_earlier_pieces():
    model = tiny(9, 5, span=3, encoder_layers=2)
    ids, before = rl.tensor([[0, 2, 3, 4, 5, 6, 7, 1]]), rl.tensor([[5, 0, 1, 2, 3, 4]])
    wanted = model(ids, before)
    other = before.clone()
    other[0, 3] = 0
    apart = (model(ids, other) - wanted).abs().amax(-1)[0] > 1e-6
    assert apart.tolist() == [False] * 3 + [True] * 3
    letters = ids.clone()
    letters[0, 6] = 8
    assert bool(((model(letters, before) - wanted).abs().amax(-1) > 1e-6).all())


def test_equal_phones_of_several_cuts_add_up():
    made = zoo.Pronouncer(tiny(6, 3), list("'abc"), ["", "K", "S"])
    beams, shares = [[1, 0], [2, 0], [0, 2]], [0.4, 0.3, 0.25]
    assert made._likeliest(beams, [math.log(share) for share in shares]) == ["S"]


def test_wrong_files_and_names(tmp_path):
    other = tmp_path / "other.safetensors"
    rl.serialization.safetensors.save_file({"x": rl.zeros(2)}, other)
    with pytest.raises(ValueError, match="no packaged model of this kind, it has no config"):
        zoo.Pronouncer.load(other)
    sizes = {"vocab_size": 9, "n_layer": 1, "n_head": 2, "n_embd": 16, "n_positions": 8}
    write_network(other, build_model("gpt2", "causal-lm", **sizes))
    with pytest.raises(ValueError, match="has no AlignedTransformer: .*vocab_size"):
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
