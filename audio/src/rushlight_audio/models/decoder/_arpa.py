"""N-gram language models in ARPA files, with backing off (Katz, Estimation of probabilities from
sparse data for the language model component of a speech recognizer, 1987)."""

from __future__ import annotations

import gzip
import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rushlight_audio.models.decoder._kenlm import BINARY, KenLMModel
from rushlight_audio.models.decoder._language_model import Context, NGrams

__all__ = ["NGramModel", "NGramScorer"]

UNKNOWN = "<unk>"
UNKNOWN_SCORE = -100.0  # of a file without a line for unknown words


class NGramModel(NGrams):
    """Probabilities of words behind up to `order` - 1 others; logarithms to base 10."""

    def __init__(self, order: int):
        self.order = order
        self.words: dict[str, int] = {}
        self.unknown = -1
        self._scores: dict[Context, float] = {}
        self._backoffs: dict[Context, float] = {}

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> NGrams:
        """The model in an ARPA file, which may be compressed by gzip, or in a binary file of KenLM
        (`probing` or `trie`), which is mapped into memory.

        Raises FileNotFoundError, and ValueError where the file is neither or is damaged.
        """
        raw = Path(path)
        if not raw.is_file():
            raise FileNotFoundError(f"there is no language model {raw}")
        with raw.open("rb") as file:
            start = file.read(len(BINARY))
        if start == BINARY:
            return KenLMModel(raw)
        opened = gzip.open if start[:2] == b"\x1f\x8b" else open
        with opened(raw, "rt", encoding="utf-8", errors="strict") as file:
            try:
                return cls._parsed(iter(file), str(raw))
            except UnicodeDecodeError as error:
                raise ValueError(f"{raw} is no ARPA file: {error}") from None

    @classmethod
    def _parsed(cls, lines: Iterator[str], path: str) -> NGramModel:
        counts = _counts(lines, path)
        model = cls(len(counts))
        for order in range(1, model.order + 1):
            _expect(lines, f"\\{order}-grams:", path)
            for _ in range(counts[order - 1]):
                model._add(next(lines, ""), order, path)
        _expect(lines, "\\end\\", path)
        if UNKNOWN not in model.words:
            number = model.words[UNKNOWN] = len(model.words)
            model._scores[(number,)] = UNKNOWN_SCORE
        model.unknown = model.words[UNKNOWN]
        return model

    def _add(self, line: str, order: int, path: str) -> None:
        """One n-gram: its score, its words, how much backing off from it costs."""
        fields = line.split()
        if len(fields) not in (order + 1, order + 2):
            raise ValueError(f"{path}: expected a {order}-gram and its score, got {line.strip()!r}")
        words = fields[1 : order + 1]
        if order == 1:
            self.words.setdefault(words[0], len(self.words))
        try:
            key = tuple(self.words[word] for word in words)
            self._scores[key] = score = float(fields[0])
            backoff = float(fields[-1]) if len(fields) == order + 2 else 0.0
            if math.isnan(score + backoff):
                raise ValueError("a score is no number")
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path}: {error} in {line.strip()!r}") from None
        if order < self.order:
            self._backoffs[key] = backoff

    def number(self, word: str) -> int:
        """The number of a word; that of unknown ones if the model lacks it."""
        return self.words.get(word, self.unknown)

    def score(self, context: Context, word: int) -> float:
        """The logarithm to base 10 of the probability of `word` behind `context`."""
        total = 0.0
        while True:
            found = self._scores.get((*context, word))
            if found is not None:
                return total + found
            total += self._backoffs.get(context, 0.0)
            context = context[1:]

    def context(self, context: Context, word: int) -> Context:
        """What of `context` and `word` counts for the next word."""
        longest = (*context, word)[1 - self.order :] if self.order > 1 else ()
        while longest and longest not in self._backoffs:
            longest = longest[1:]
        return longest


def _counts(lines: Iterator[str], path: str) -> list[int]:
    """How many n-grams of each order there are."""
    for line in lines:
        if line.strip() == "\\data\\":
            break
    else:
        raise ValueError(f"{path} is no ARPA file: it has no line \\data\\")
    counts: list[int] = []
    for line in lines:
        if not line.strip():
            break
        name, _, count = line.partition("=")
        if name.split() != ["ngram", str(len(counts) + 1)] or not count.strip().isdigit():
            raise ValueError(
                f"{path}: expected ngram {len(counts) + 1}=COUNT, got {line.strip()!r}"
            )
        counts.append(int(count))
    if not counts:
        raise ValueError(f"{path} counts no n-grams")
    return counts


def _expect(lines: Iterator[str], wanted: str, path: str) -> None:
    """Read up to the line `wanted`, past empty ones."""
    for line in lines:
        if line.strip() == wanted:
            return
        if line.strip():
            raise ValueError(f"{path}: expected {wanted}, got {line.strip()!r}")
    raise ValueError(f"{path} ends before {wanted}")


class NGramScorer:
    """An n-gram model over the tokens of a decoder. States are histories, as flashlight has
    them: hypotheses of the same last words stay apart."""

    def __init__(self, model: NGrams, tokens: list[str]):
        self.model = model
        self._numbers = [model.number(token) for token in tokens]
        self._contexts: list[Context] = [model.context((), model.number("<s>"))]
        self._scores: dict[tuple[int, int], tuple[int, float]] = {}
        self._rows: dict[Context, np.ndarray] = {}
        self._end = model.number("</s>")

    def start(self) -> int:
        """The beginning of a sentence."""
        return 0

    def score(self, state: int, token: int) -> tuple[int, float]:
        """The next history and the logarithm to base 10 of the token's probability."""
        key = (state, token)
        found = self._scores.get(key)
        if found is None:
            context, word = self._contexts[state], self._end if token < 0 else self._numbers[token]
            score = self.model.score(context, word)
            self._contexts.append(self.model.context(context, word))
            found = self._scores[key] = (len(self._contexts) - 1, score)
        return found

    def row(self, state: int) -> np.ndarray:
        """Scores of all tokens."""
        context = self._contexts[state]
        found = self._rows.get(context)
        if found is None:
            scores = [self.model.score(context, word) for word in self._numbers]
            found = self._rows[context] = np.array(scores)
        return found

    def finish(self, state: int) -> tuple[int, float]:
        """The end of the sentence."""
        return self.score(state, -1)
