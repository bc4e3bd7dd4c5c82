"""WordPiece and CLIP's BPE give transformers' tokens (recorded); character BPE by hand."""

import gzip
import json

import pytest

from rushlight_text import transforms as T
from rushlight_text.tokenizers import CharBPE, WordPieceTokenizer


@pytest.fixture(scope="module")
def answers(recorded):
    return recorded("word_tokenizers")


@pytest.fixture
def vocab_file(answers, tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(answers["bert"]["vocab"]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("lower", [True, False])
def test_bert_tokens(answers, vocab_file, lower):
    tokenizer = T.BERTTokenizer(str(vocab_file), do_lower_case=lower, return_tokens=True)
    spelled = T.BERTTokenizer(vocab_file, do_lower_case=lower)
    ids = {token: index for index, token in enumerate(answers["bert"]["vocab"])}
    texts = [text for text in answers["texts"] if "this[SEP]" not in text]  # next test
    for text, expected in zip(
        answers["texts"], answers["bert"]["answers"][str(lower)], strict=True
    ):
        if text in texts:
            assert tokenizer(text) == expected, text
            assert spelled(text) == [str(ids[token]) for token in expected], text
    assert tokenizer(texts[:2]) == [tokenizer(texts[0]), tokenizer(texts[1])]


def test_words_that_are_never_split(vocab_file):
    tokenizer = T.BERTTokenizer(vocab_file, return_tokens=True, never_split=["The"])
    whole = "".join(tokenizer("The cat [MASK]")).replace("##", "")
    assert whole == "Thecat[MASK]" and "".join(tokenizer("This"))[0] == "t"
    assert tokenizer("[CLS] the")[0] == "[CLS]"
    assert "[SEP]" not in tokenizer("this[SEP]")  # as in torchtext, only between white space
    accents = T.BERTTokenizer(vocab_file, do_lower_case=False, strip_accents=True)
    assert accents("é") == accents("e")


def test_wordpiece_batches_and_errors(vocab_file, tmp_path):
    tokenizer = WordPieceTokenizer(vocab_file)
    texts = ["the cat sees", "a dog [MASK]", ""]
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]
    assert tokenizer.encode_batch(texts[:1]) == [tokenizer.encode(texts[0])]
    assert tokenizer.decode(tokenizer.encode("the cat sees")) == "the cat sees"
    assert len(tokenizer) == 150
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(ValueError, match=r"empty\.txt: no tokens"):
        WordPieceTokenizer(tmp_path / "empty.txt")
    with pytest.raises(ValueError, match=r"the vocabulary has no '\[UNK\]'"):
        WordPieceTokenizer({"a": 0})
    with pytest.raises(FileNotFoundError, match="gone"):
        T.BERTTokenizer(tmp_path / "gone.txt")
    with pytest.raises(TypeError, match="a string or a list of strings, not int"):
        T.BERTTokenizer(vocab_file)(3)


def test_clip_tokens(answers, tmp_path):
    merges = tmp_path / "merges.txt"
    merges.write_text("#v\n" + "\n".join(map(" ".join, answers["clip"]["merges"])))
    (tmp_path / "packed.bpe").write_bytes(gzip.compress(merges.read_bytes()))
    tokens = T.CLIPTokenizer(merges, return_tokens=True)
    ids = T.CLIPTokenizer(tmp_path / "packed.bpe")
    for text, expected, numbers in zip(
        answers["texts"], answers["clip"]["tokens"], answers["clip"]["ids"], strict=True
    ):
        assert tokens(text) == expected, text
        assert ids(text) == [str(number) for number in numbers], text
    assert ids.tokenizer.decode(ids.tokenizer.encode("a cat sees")) == "a cat sees"


def test_clip_merges_are_cut_to_the_encoder(answers, tmp_path):
    pairs = answers["clip"]["merges"]
    merges = tmp_path / "merges.txt"
    merges.write_text("#v\n" + "\n".join(map(" ".join, pairs)))
    few = T.CLIPTokenizer(merges, num_merges=3)
    assert len(few.tokenizer) == 512 + 3 + 2
    letters = list(T.bytes_to_unicode().values())
    tokens = [*letters, *(each + "</w>" for each in letters), *map("".join, pairs[:3])]
    table = {token: i for i, token in enumerate([*tokens, "<|startoftext|>", "<|endoftext|>"])}
    (tmp_path / "encoder.json").write_text(json.dumps(table))
    read = T.CLIPTokenizer(merges, tmp_path / "encoder.json")
    assert read("the cat repairs") == few("the cat repairs")


VOCAB = "<unk> l o w lo low</w> low e r</w> er</w> w</w> o</w> <pad>".split()


@pytest.fixture
def char_files(tmp_path):
    (tmp_path / "enc.json").write_text(json.dumps({t: i for i, t in enumerate(VOCAB)}))
    (tmp_path / "merges").write_text("#v\nl o\nlo w\ne r</w>\nlo w</w>\n")
    return str(tmp_path / "enc.json"), str(tmp_path / "merges")


# What torchtext 0.18 answers for the same files.
@pytest.mark.parametrize(
    ("options", "text", "expected"),
    [
        ({"suffix": "</w>"}, "low lower", [5, 6, 9]),
        ({"suffix": "</w>"}, "lowlow", [6, 5]),
        ({"suffix": "</w>", "unk_token": "<unk>"}, "lo zo", [1, 11, 0, 11]),
        ({"suffix": "</w>", "special_tokens": ["<pad>"]}, "<pad> low", [12, 5]),
        ({"unk_token": "<unk>"}, "low lower", [6, 6, 7, 0]),
        ({"unk_token": "<unk>"}, "<pad> low", [0, 0, 0, 0, 0, 6]),
        ({"return_tokens": True}, "low lower", ["low", "low", "e", "r"]),
        ({"return_tokens": True, "suffix": "</w>"}, "<pad> low", [*"<pad", "></w>", "low</w>"]),
        ({"suffix": "</w>"}, ["low", "lo lo"], [[5], [1, 11, 1, 11]]),
    ],
)
def test_char_bpe(char_files, options, text, expected):
    tokenizer = T.CharBPETokenizer(*char_files, **options)
    assert tokenizer(text) == expected
    assert tokenizer.vocab_size == 13


def test_char_bpe_decodes_and_refuses(char_files):
    assert T.CharBPETokenizer(*char_files).decode([4, 5, 12]) == "lo low</w> <pad>"
    assert T.CharBPETokenizer(*char_files, suffix="</w>").decode([6, 5, 5, 9]) == "lowlow low er"
    special = T.CharBPETokenizer(*char_files, suffix="</w>", special_tokens=["<pad>"])
    assert special.decode([4, 5, 12]) == "lolow <pad>"
    with pytest.raises(KeyError, match="z"):
        T.CharBPETokenizer(*char_files).encode("lo zo")
    with pytest.raises(RuntimeError, match="Unknown token q not found in encoder"):
        CharBPE(*char_files, unk_token="q")
    with pytest.raises(RuntimeError, match="Special token <new> not found in encoder"):
        CharBPE(*char_files, special_tokens=["<new>"])


def test_pairs_and_letters_of_bytes():
    assert T.get_pairs(("a", "b", "c")) == {("a", "b"), ("b", "c")}
    letters = T.bytes_to_unicode()
    assert len(set(letters.values())) == 256
    assert (letters[32], letters[65], letters[0]) == ("Ġ", "A", "Ā")


def test_regex_tokenizer():
    rules = [(r"[,._+ ]+", " "), (r"\d", "")]
    tokens = T.RegexTokenizer(rules)("Basic.Regex,Tokenization_for+a..Line,,of  Te1xt")
    assert tokens == "Basic Regex Tokenization for a Line of Text".split()
    assert T.RegexTokenizer([])(["a  b", ""]) == [["a", "b"], []]
    assert not T.RegexTokenizer([]).is_jitable


def test_gpt2_special_tokens(tmp_path):
    letters = {"h": 0, "e": 1, "he": 2, "<|endoftext|>": 3, "<": 4, "p": 5, ">": 6}
    (tmp_path / "vocab.json").write_text(json.dumps(letters))
    (tmp_path / "merges.txt").write_text("#version: 0.2\nh e\n")
    tokenizer = T.GPT2BPETokenizer(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert tokenizer("he<p>") == ["2", "4", "5", "6"]
    new = {"pad_token": "<p>", "additional_special_tokens": ["he", "<q>"]}
    assert tokenizer.add_special_tokens(new) == 2
    assert tokenizer("he<p>") == ["2", "7"]
    assert tokenizer.decode(["2", "7", "3"]) == "he<p><|endoftext|>"
    with pytest.raises(ValueError, match="'new_token' is none of"):
        tokenizer.add_special_tokens({"new_token": "x"})


def test_mask_transform():
    import rushlight as rl

    tokens = rl.tensor([[0, 4, 5, 6, 1, 1], [0, 7, 8, 2, 3, 4]])
    masked, targets, mask = T.MaskTransform(10, 9, 0, 1, mask_prob=1.0)(tokens)
    assert mask.tolist() == [[0, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 1]] and mask.dtype == rl.int32
    assert targets.tolist() == [4, 5, 6, 7, 8, 2, 3, 4]
    assert masked[mask == 0].tolist() == tokens[mask == 0].tolist()
    _, targets, mask = T.MaskTransform(10, 9, 0, 1, mask_bos=True, mask_prob=1.0)(tokens)
    assert mask.sum() == 10 and targets[0] == 0
    rl.manual_seed(0)
    many = rl.randint(2, 9, (200, 100))
    masked, targets, mask = T.MaskTransform(10, 9, 0, 1)(many)
    chosen = mask.bool()
    share = chosen.float().mean().item()
    hidden = (masked[chosen] == 9).float().mean().item()
    same = (masked[chosen] == targets).float().mean().item()
    assert abs(share - 0.15) < 0.01 and abs(hidden - 0.81) < 0.03 and abs(same - 0.11) < 0.03
