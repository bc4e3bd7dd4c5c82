"""Vocabularies: order, frequencies, specials, default index, errors."""

import pickle

import pytest

import rushlight as rl
from rushlight_text.transforms import VocabTransform
from rushlight_text.vocab import Vocab, build_vocab_from_iterator, vocab

LINES = [["b", "a", "b"], ["c", "a", "b", "d"]]


def test_most_frequent_first_then_alphabet():
    made = build_vocab_from_iterator(LINES)
    assert made.get_itos() == ["b", "a", "c", "d"]
    assert made.get_stoi() == {"b": 0, "a": 1, "c": 2, "d": 3}
    assert len(made) == 4 and "a" in made and "z" not in made
    assert made["c"] == 2
    assert made(["d", "b"]) == made.lookup_indices(["d", "b"]) == [3, 0]
    assert made.lookup_token(1) == "a"
    assert made.lookup_tokens([3, 0]) == ["d", "b"]


def test_min_freq_specials_and_max_tokens():
    build = build_vocab_from_iterator
    assert build(LINES, min_freq=2).get_itos() == ["b", "a"]
    assert build(LINES, specials=["<unk>", "a"]).get_itos() == ["<unk>", "a", "b", "c", "d"]
    last = build(LINES, min_freq=2, specials=["<unk>"], special_first=False)
    assert last.get_itos() == ["b", "a", "<unk>"]
    assert build(LINES, specials=["<unk>"], max_tokens=3).get_itos() == ["<unk>", "b", "a"]


def test_vocab_of_a_table_keeps_its_order():
    made = vocab({"z": 1, "y": 5, "x": 3}, min_freq=2, specials=["<pad>"])
    assert made.get_itos() == ["<pad>", "y", "x"]


def test_default_index():
    made = vocab({"a": 1}, specials=["<unk>"])
    assert made.get_default_index() is None
    with pytest.raises(RuntimeError, match="Token zebra not found and default index is not set"):
        made["zebra"]
    made.set_default_index(made["<unk>"])
    assert made.get_default_index() == 0
    assert made(["zebra", "a"]) == [0, 1]
    made.set_default_index(None)
    with pytest.raises(RuntimeError, match="zebra"):
        made(["zebra"])


def test_insert_and_append():
    made = Vocab(["a", "b"])
    made.insert_token("first", 0)
    made.append_token("last")
    assert made.get_itos() == ["first", "a", "b", "last"]
    assert made.lookup_indices(["first", "a", "b", "last"]) == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="Token a already exists in the Vocab with index 1"):
        made.append_token("a")
    with pytest.raises(RuntimeError, match="index 9 is out of bounds for a Vocab of size 4"):
        made.insert_token("c", 9)
    for index in (4, -1):
        with pytest.raises(RuntimeError, match=f"index {index} is out of bounds"):
            made.lookup_token(index)


def test_copies_do_not_leak():
    made = Vocab(["a"])
    made.get_stoi()["b"] = 1
    made.get_itos().append("b")
    assert len(made) == 1 and "b" not in made


def test_pickle_keeps_tokens_and_default():
    made = Vocab(["a", "b"], default_index=1)
    copied = pickle.loads(pickle.dumps(made))
    assert copied.get_itos() == ["a", "b"] and copied["?"] == 1
    assert repr(copied) == "Vocab(2 tokens, default_index=1)"


def test_bad_arguments():
    with pytest.raises(TypeError, match="must yield lists of tokens, not str"):
        build_vocab_from_iterator(["a line"])
    with pytest.raises(TypeError, match="'specials' must be a list of strings"):
        build_vocab_from_iterator(LINES, specials="<unk>")
    with pytest.raises(ValueError, match="names a token twice"):
        vocab({"a": 1}, specials=["<s>", "<s>"])
    with pytest.raises(ValueError, match="max_tokens must exceed the 1 specials, got 1"):
        build_vocab_from_iterator(LINES, specials=["<unk>"], max_tokens=1)
    with pytest.raises(TypeError, match="must be a list of strings, not str"):
        Vocab(["a"])("a")
    with pytest.raises(TypeError, match="a token must be a string, not int"):
        Vocab([1])
    with pytest.raises(TypeError, match="a token must be a string, not int"):
        Vocab(["a"])[1]
    with pytest.raises(TypeError, match="'index' must be an integer or None, not str"):
        Vocab(["a"]).set_default_index("a")


@pytest.mark.parametrize("token", [None, b"a", bytearray(b"a"), 0, 1.5, True, ("a",), ["a"], {"a"}])
@pytest.mark.parametrize("default", [None, 0])
def test_what_is_no_string_has_no_id(token, default):
    made = Vocab(["<unk>", "a"], default_index=default)
    name = type(token).__name__
    for look in (made.__getitem__, lambda token: made([token]), lambda token: made(["a", token])):
        with pytest.raises(TypeError, match=f"a token must be a string, not {name}"):
            look(token)
    with pytest.raises(TypeError, match=f"a token must be a string, not {name}"):
        VocabTransform(made)([["a"], [token]])
    with pytest.raises(TypeError, match=f"a token must be a string, not {name}"):
        made.append_token(token)


def test_ids_are_integers():
    made = Vocab(["a", "b"])
    assert made.lookup_tokens(rl.tensor([1, 0])) == ["b", "a"]
    for index in (0.9, "1", None):
        with pytest.raises(TypeError):
            made.lookup_tokens([index])


def test_a_saved_vocabulary_loads_without_further_permission(tmp_path):
    made = vocab({"a": 2, "b": 1}, specials=["<unk>"])
    made.set_default_index(0)
    rl.save(made, tmp_path / "vocab.pt")
    loaded = rl.load(tmp_path / "vocab.pt")
    assert loaded.get_itos() == ["<unk>", "a", "b"] and loaded(["b", "?"]) == [2, 0]
