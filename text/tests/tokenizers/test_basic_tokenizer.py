"""Basic English follows torchtext's rules; names of tokenizers are checked."""

import re
import sys
import types

import pytest

from rushlight_text.data import get_tokenizer, ngrams_iterator
from rushlight_text.data.utils import get_tokenizer as where_torchtext_has_it
from rushlight_text.tokenizers import basic_english

# The published rules as substitutions, in their order.
RULES = [
    (r"'", " '  "),
    (r'"', ""),
    (r"\.", " . "),
    (r"<br \/>", " "),
    (r",", " , "),
    (r"\(", " ( "),
    (r"\)", " ) "),
    (r"!", " ! "),
    (r"\?", " ? "),
    (r";", " "),
    (r":", " "),
    (r"\s+", " "),
]


def by_substitution(line):
    line = line.lower()
    for pattern, replacement in RULES:
        line = re.sub(pattern, replacement, line)
    return line.split()


@pytest.mark.parametrize(
    "line",
    [
        "Basic normalization for a line of text.",
        "It's 5:30, isn't it?  (No; not yet!)",
        'He said "stop"... and<br />left.',
        '<br "/>x <b"r />y <br /><br />z',
        "tabs\tand\nnew lines\u00a0and ÜMLAUTE İ",
        "",
        "   ",
        "don''t''",
    ],
)
def test_basic_english_is_the_published_substitutions(line):
    assert basic_english(line) == by_substitution(line)


def test_basic_english_example():
    tokens = get_tokenizer("basic_english")("Basic English Normalization, for a Line of Text.")
    assert tokens == "basic english normalization , for a line of text .".split()


def test_get_tokenizer_none_and_callable():
    assert where_torchtext_has_it is get_tokenizer
    assert get_tokenizer(None)("Two  words.") == ["Two", "words."]
    assert get_tokenizer(list)("ab") == ["a", "b"]


def test_get_tokenizer_refuses():
    with pytest.raises(ValueError, match="unknown tokenizer 'basic'.*'basic_english'"):
        get_tokenizer("basic")
    with pytest.raises(ValueError, match="only language 'en', got 'de'"):
        get_tokenizer("basic_english", language="de")
    with pytest.raises(TypeError, match="'tokenizer' must be a string.*not int"):
        get_tokenizer(3)
    with pytest.raises(TypeError, match="'line' must be a string, not list"):
        basic_english(["a"])


def test_ngrams():
    tokens = ["here", "we", "are", "now"]
    assert list(ngrams_iterator(tokens, 1)) == tokens
    assert list(ngrams_iterator(iter(tokens), 3)) == [
        *tokens,
        "here we",
        "we are",
        "are now",
        "here we are",
        "we are now",
    ]
    assert list(ngrams_iterator(["one"], 4)) == ["one"]
    with pytest.raises(ValueError, match="positive integer, got 0"):
        ngrams_iterator(tokens, 0)


LIBRARIES = {"spacy": "spacy", "moses": "sacremoses", "toktok": "nltk", "revtok": "revtok"}


@pytest.mark.parametrize("name", sorted([*LIBRARIES, "subword"]))
def test_absent_libraries_are_named(name, monkeypatch):
    package = LIBRARIES.get(name, "revtok")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=f"needs the library '{package}': .*pip install"):
        get_tokenizer(name)


def test_libraries_are_called(monkeypatch):
    def tokenize(line, decap=False):
        return [line, decap]

    moses = types.SimpleNamespace(MosesTokenizer=lambda lang: types.SimpleNamespace(tokenize=lang))
    toktok = types.SimpleNamespace(tokenize=str.upper)
    monkeypatch.setitem(sys.modules, "revtok", types.SimpleNamespace(tokenize=tokenize))
    monkeypatch.setitem(sys.modules, "sacremoses", moses)
    for module in ("nltk", "nltk.tokenize"):
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
    monkeypatch.setitem(
        sys.modules, "nltk.tokenize.toktok", types.SimpleNamespace(ToktokTokenizer=lambda: toktok)
    )
    assert get_tokenizer("revtok")("a") == ["a", False]
    assert get_tokenizer("subword")("a") == ["a", True]
    assert get_tokenizer("moses", "de") == "de"
    assert get_tokenizer("toktok")("a") == "A"


def test_spacy_tokens_and_missing_pipelines(monkeypatch):
    def load(language):
        if language != "en_core_web_sm":
            raise OSError("no model")
        token = types.SimpleNamespace
        return types.SimpleNamespace(tokenizer=lambda line: [token(text=w) for w in line.split()])

    monkeypatch.setitem(sys.modules, "spacy", types.SimpleNamespace(load=load))
    assert get_tokenizer("spacy", "en_core_web_sm")("a b") == ["a", "b"]
    with pytest.raises(OSError, match="spacy download de"):
        get_tokenizer("spacy", "de")
