"""Byte-level BPE: every text comes back, files keep every id, bad files are named."""

import json
import pickle

import pytest

from rushlight_text.tokenizers import ByteLevelBPETokenizer
from rushlight_text.transforms import GPT2BPETokenizer, StrToIntTransform

LINES = ["the cat sat on the mat", "the dog and the cat", "a mat for the dog"] * 20
TEXTS = ["the cat", " leading and trailing ", "naïve façade", "日本語 🙂", "a\n\tb", "", "\x00\x7f"]


@pytest.fixture(scope="module")
def tokenizer():
    return ByteLevelBPETokenizer.train_from_iterator(LINES, 275, special_tokens=["<pad>", "<eos>"])


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_decodes_to_itself(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert [tokenizer.id_to_token(index) for index in ids] == tokenizer.tokenize(text)


def test_training_merges_frequent_pairs(tokenizer):
    assert len(tokenizer) == tokenizer.vocab_size == 275
    assert tokenizer.tokenize("the cat") == ["the", "Ġcat"]
    assert (tokenizer.token_to_id("<pad>"), tokenizer.token_to_id("<eos>")) == (0, 1)
    assert tokenizer.token_to_id("nothing") is None


def test_special_tokens_are_never_cut(tokenizer):
    ids = tokenizer.encode("the cat<eos>")
    assert ids[-1] == 1
    assert tokenizer.decode(ids) == "the cat"
    assert tokenizer.decode(ids, skip_special_tokens=False) == "the cat<eos>"


def test_batches(tokenizer):
    assert tokenizer.encode_batch(TEXTS) == [tokenizer.encode(text) for text in TEXTS]
    assert tokenizer(TEXTS) == tokenizer.encode_batch(TEXTS)
    assert tokenizer("the cat") == tokenizer.encode("the cat")
    assert tokenizer.decode_batch(tokenizer(TEXTS)) == TEXTS


def test_training_from_files_is_training_from_their_lines(tmp_path, tokenizer):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    trained = ByteLevelBPETokenizer.train(path, 275, special_tokens=["<pad>", "<eos>"])
    assert trained.tokenize("the cat sat") == tokenizer.tokenize("the cat sat")
    assert len(trained) == 275


def test_save_load_and_pickle_keep_every_id(tmp_path, tokenizer):
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = ByteLevelBPETokenizer.load(tmp_path / "tokenizer.json")
    copied = pickle.loads(pickle.dumps(tokenizer))
    for other in (loaded, copied):
        assert other.get_vocab() == tokenizer.get_vocab()
        assert other(TEXTS + ["the cat<eos>"]) == tokenizer(TEXTS + ["the cat<eos>"])


def test_gpt2_files(tmp_path, tokenizer):
    vocab, merges = tokenizer.save_model(tmp_path)
    assert (vocab.name, merges.name) == ("vocab.json", "merges.txt")
    assert merges.read_text(encoding="utf-8").startswith("#version")
    read = ByteLevelBPETokenizer.from_files(vocab, merges, special_tokens=["<eos>"])
    assert read.get_vocab() == tokenizer.get_vocab()
    assert read(TEXTS + ["the cat<eos>"]) == tokenizer(TEXTS + ["the cat<eos>"])
    tokens = GPT2BPETokenizer(vocab, merges, return_tokens=True)(["the cat"])
    assert tokens == [["the", "Ġcat"]]
    spelled = GPT2BPETokenizer(vocab, merges)("the cat")
    assert StrToIntTransform()(spelled) == tokenizer("the cat")


def test_merges_by_hand(tmp_path):
    # Worked by hand: h+e, then he+y; "hey" is one token, "hex" is "he" and "x".
    (tmp_path / "vocab.json").write_text(
        json.dumps(
            {t: i for i, t in enumerate("h e y x".split())}
            | {"he": 4, "hey": 5, "Ġ": 6, "<|endoftext|>": 7}
        )
    )
    (tmp_path / "merges.txt").write_text("#version: 0.2\nh e\nhe y\n")
    read = ByteLevelBPETokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert read.encode("hey hex<|endoftext|>") == [5, 6, 4, 3, 7]
    assert len(read) == 8


def test_missing_files_are_named(tmp_path):
    gone = tmp_path / "gone.json"
    for call in (
        lambda: ByteLevelBPETokenizer.load(gone),
        lambda: ByteLevelBPETokenizer.train([gone]),
        lambda: ByteLevelBPETokenizer.from_files(gone, gone),
    ):
        with pytest.raises(FileNotFoundError, match="gone.json"):
            call()


def test_missing_folders_are_named(tmp_path, tokenizer):
    with pytest.raises(FileNotFoundError, match="no such folder.*absent"):
        tokenizer.save(tmp_path / "absent" / "tokenizer.json")
    with pytest.raises(FileNotFoundError, match="no such folder.*absent"):
        tokenizer.save_model(tmp_path / "absent")


def test_bad_files_are_named(tmp_path, tokenizer):
    vocab, merges = tokenizer.save_model(tmp_path)
    bad = tmp_path / "bad"
    bad.write_text("{")
    with pytest.raises(ValueError, match="bad: not a saved tokenizer"):
        ByteLevelBPETokenizer.load(bad)
    with pytest.raises(ValueError, match="bad: not a JSON file"):
        ByteLevelBPETokenizer.from_files(bad, merges)
    bad.write_text('["a"]')
    with pytest.raises(ValueError, match="bad: must hold one JSON object"):
        ByteLevelBPETokenizer.from_files(bad, merges)
    bad.write_text("#version: 0.2\na b c\n")
    with pytest.raises(ValueError, match="bad, line 2: expected two tokens"):
        ByteLevelBPETokenizer.from_files(vocab, bad)
    bad.write_text("q zz\n")
    with pytest.raises(ValueError, match="do not belong together"):
        ByteLevelBPETokenizer.from_files(vocab, bad)
    bad.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="bad: not UTF-8"):
        ByteLevelBPETokenizer.train(bad)


def test_bad_arguments(tokenizer):
    with pytest.raises(ValueError, match="at least 256 .* 1 special tokens, got 256"):
        ByteLevelBPETokenizer.train_from_iterator(LINES, 256, special_tokens=["<pad>"])
    with pytest.raises(TypeError, match="must yield strings"):
        ByteLevelBPETokenizer.train_from_iterator("text")
    with pytest.raises(TypeError, match="'special_tokens' must be a list"):
        ByteLevelBPETokenizer.train_from_iterator(LINES, special_tokens="<pad>")
    with pytest.raises(TypeError, match="must be a string, not int"):
        tokenizer.encode(3)
    with pytest.raises(IndexError, match="no token has id 275"):
        tokenizer.decode([0, 275])
    with pytest.raises(IndexError, match="no token has id -1"):
        tokenizer.id_to_token(-1)
