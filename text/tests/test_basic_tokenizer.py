"""Basic English follows torchtext's rules; names of tokenizers are checked."""

import re

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
    with pytest.raises(NotImplementedError, match="'spacy' is not part of rushlight-text"):
        get_tokenizer("spacy")
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
