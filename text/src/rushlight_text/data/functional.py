"""Functions on iterators of text, and on SentencePiece models; ``torchtext.data.functional``."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rushlight.utils.data import Dataset
from rushlight_text._libraries import library
from rushlight_text.tokenizers.sentencepiece import SentencePieceModel

__all__ = [
    "custom_replace",
    "filter_wikipedia_xml",
    "generate_sp_model",
    "load_sp_model",
    "numericalize_tokens_from_iterator",
    "sentencepiece_numericalizer",
    "sentencepiece_tokenizer",
    "simple_space_split",
    "to_map_style_dataset",
]


def generate_sp_model(
    filename: str,
    vocab_size: int = 20000,
    model_type: str = "unigram",
    model_prefix: str = "m_user",
) -> None:
    """Train a SentencePiece model on a text file; writes ``model_prefix.model`` and ``.vocab``.

    Needs the library ``sentencepiece``; ``tokenizers.train`` of this package trains without it.
    """
    trainer = library("sentencepiece", "sentencepiece", "generate_sp_model()")
    trainer.SentencePieceTrainer.train(
        input=filename,
        model_prefix=model_prefix,
        vocab_size=vocab_size,
        model_type=model_type,
    )


def load_sp_model(spm: str | os.PathLike | io.BufferedReader) -> SentencePieceModel:
    """A model from its path or from a binary file that is open."""
    if isinstance(spm, (str, os.PathLike)):
        return SentencePieceModel(spm)
    if isinstance(spm, io.BufferedReader):
        return SentencePieceModel(spm.read())
    raise TypeError(
        f"load_sp_model(): argument 'spm' must be a path or a binary file, not {type(spm).__name__}"
    )


def sentencepiece_numericalizer(
    sp_model: SentencePieceModel,
) -> Callable[[Iterable[str]], Iterator[list[int]]]:
    """A function from texts to the ids of each."""

    def numericalize(txt_iter: Iterable[str]) -> Iterator[list[int]]:
        return (sp_model.EncodeAsIds(line) for line in txt_iter)

    return numericalize


def sentencepiece_tokenizer(
    sp_model: SentencePieceModel,
) -> Callable[[Iterable[str]], Iterator[list[str]]]:
    """A function from texts to the pieces of each."""

    def tokenize(txt_iter: Iterable[str]) -> Iterator[list[str]]:
        return (sp_model.EncodeAsPieces(line) for line in txt_iter)

    return tokenize


def custom_replace(
    replace_pattern: Iterable[tuple[str, str]],
) -> Callable[[Iterable[str]], Iterator[str]]:
    r"""A function that substitutes regular expressions, one after the other, in each line.

    >>> list(custom_replace([(r"S", "s"), (r"\s+", " ")])(["Space   Separated"]))
    ['space separated']
    """
    compiled = [(re.compile(pattern), new) for pattern, new in replace_pattern]

    def replace(txt_iter: Iterable[str]) -> Iterator[str]:
        for line in txt_iter:
            for pattern, new in compiled:
                line = pattern.sub(new, line)
            yield line

    return replace


def simple_space_split(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Each line split at white space."""
    for line in iterator:
        yield line.split()


def numericalize_tokens_from_iterator(
    vocab: Mapping[str, int],
    iterator: Iterable[Iterable[str]],
    removed_tokens: Sequence[str] | None = None,
) -> Iterator[Iterator[int]]:
    """The ids of each list of tokens, without those of `removed_tokens`.

    >>> rows = numericalize_tokens_from_iterator({"a": 0, "b": 1}, [["a", "b"], ["b"]], ["a"])
    >>> [list(row) for row in rows]
    [[1], [1]]
    """
    removed = set(removed_tokens or ())
    for tokens in iterator:
        yield iter([vocab[token] for token in tokens if token not in removed])


# Mahoney's published cleaning of Wikipedia's XML dumps (wikifil.pl, public domain), by line.
_WIKIPEDIA = [
    (r"<.*>", ""),
    (r"&amp;", "&"),
    (r"&lt;", "<"),
    (r"&gt;", ">"),
    (r"<ref[^<]*<\/ref>", ""),
    (r"<[^>]*>", ""),
    (r"\[http:[^] ]*", "["),
    (r"\|thumb", ""),
    (r"\|left", ""),
    (r"\|right", ""),
    (r"\|\d+px", ""),
    (r"\[\[image:[^\[\]]*\|", ""),
    (r"\[\[category:([^|\]]*)[^]]*\]\]", r"[[\1]]"),
    (r"\[\[[a-z\-]*:[^\]]*\]\]", ""),
    (r"\[\[[^\|\]]*\|", "[["),
    (r"\{\{[^\}]*\}\}", ""),
    (r"\{[^\}]*\}", ""),
    (r"\[", ""),
    (r"\]", ""),
    (r"&[^;]*;", " "),
]
_DIGITS = "zero one two three four five six seven eight nine".split()


def filter_wikipedia_xml(text_iterator: Iterable[str]) -> Iterator[str]:
    """The plain words of lines of a Wikipedia dump: small letters a to z, digits spelled, single
    spaces; lines that redirect or have no words are left out."""
    clean = custom_replace(_WIKIPEDIA)
    for line in text_iterator:
        if "#redirect" in line.lower():
            continue
        (plain,) = clean([line])
        plain = plain.lower()
        for digit, word in enumerate(_DIGITS):
            plain = plain.replace(str(digit), f" {word} ")
        plain = " ".join(re.sub("[^a-z]+", " ", plain).split())
        if plain:
            yield plain


class _Listed(Dataset):
    """An iterator's items, read once."""

    def __init__(self, items: Iterable[Any]):
        self._items = list(items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: int) -> Any:
        return self._items[index]


def to_map_style_dataset(iter_data: Iterable[Any]) -> Dataset:
    """A data set with length and index of what can only be iterated; everything is kept in memory.

    >>> len(to_map_style_dataset(iter("abc")))
    3
    """
    return _Listed(iter_data)
