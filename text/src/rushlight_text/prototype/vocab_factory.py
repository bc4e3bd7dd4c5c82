"""Vocabularies from text files, with torchtext's prototype's names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from rushlight_text.tokenizers.basic import split_at_spaces
from rushlight_text.vocab import Vocab, build_vocab_from_iterator, vocab

__all__ = ["build_vocab_from_text_file", "load_vocab_from_file"]


def build_vocab_from_text_file(
    file_path: str | os.PathLike,
    tokenizer: Callable[[str], list[str]] | None = None,
    min_freq: int = 1,
    num_cpus: int | None = 4,
) -> Vocab:
    """A vocabulary of a text file's tokens, the most frequent first.

    Args:
        file_path: UTF-8 text, read line by line.
        tokenizer: from a line to tokens; default: split at white space.
        min_freq: rarer tokens are left out.
        num_cpus: accepted for torchtext's sake; one is used.
    """
    cut = split_at_spaces if tokenizer is None else tokenizer
    return build_vocab_from_iterator((cut(line) for line in _lines(file_path)), min_freq)


def load_vocab_from_file(
    file_path: str | os.PathLike, min_freq: int = 1, num_cpus: int = 4
) -> Vocab:
    """A vocabulary of a file with a token a line; `min_freq` counts lines that say the same."""
    counts: dict[str, int] = {}
    for line in _lines(file_path):
        token = line.rstrip("\n")
        counts[token] = counts.get(token, 0) + 1
    return vocab(counts, min_freq)


def _lines(path: str | os.PathLike) -> Iterator[str]:
    with open(path, encoding="utf-8") as file:
        yield from file
