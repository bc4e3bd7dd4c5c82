"""Tokenizers of other libraries under torchtext's names; each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rushlight_text._libraries import library

Tokenize = Callable[[str], list[str]]


def _spacy(language: str) -> Tokenize:
    spacy = library("spacy", "spacy", "get_tokenizer('spacy')")
    try:
        pipeline = spacy.load(language)
    except OSError as error:
        raise OSError(
            f"get_tokenizer('spacy'): no pipeline {language!r} is installed: "
            f"`python3 -m spacy download {language}`"
        ) from error
    return lambda line: [token.text for token in pipeline.tokenizer(line)]


def _moses(language: str) -> Tokenize:
    moses = library("sacremoses", "sacremoses", "get_tokenizer('moses')")
    return moses.MosesTokenizer(lang=language).tokenize


def _toktok(language: str) -> Tokenize:
    return (
        library("nltk.tokenize.toktok", "nltk", "get_tokenizer('toktok')")
        .ToktokTokenizer()
        .tokenize
    )


def _revtok(language: str) -> Tokenize:
    return library("revtok", "revtok", "get_tokenizer('revtok')").tokenize


def _subword(language: str) -> Tokenize:
    return partial(library("revtok", "revtok", "get_tokenizer('subword')").tokenize, decap=True)


OUTSIDE: dict[str, Callable[[str], Tokenize]] = {
    "spacy": _spacy,
    "moses": _moses,
    "toktok": _toktok,
    "revtok": _revtok,
    "subword": _subword,
}
