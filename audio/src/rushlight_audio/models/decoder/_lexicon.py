"""Words and their spellings: a dictionary of numbers, lexicon files, and a tree of prefixes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import rushlight as rl
from rushlight_audio.models.decoder._language_model import Scorer

__all__ = ["Dictionary", "prefix_tree", "read_lexicon", "read_tokens"]

MOST_LABELS = 6  # words of one spelling that a tree keeps, as flashlight's


class Dictionary:
    """Numbers of strings; `default` is the string that unknown ones count as."""

    def __init__(self, entries: list[list[str]], default: str | None = None):
        self.entries = [names[0] for names in entries]
        self._numbers = {name: n for n, names in enumerate(entries) for name in names}
        self.default = None if default is None else self._numbers[default]

    def __len__(self) -> int:
        return len(self.entries)

    def index(self, entry: str) -> int:
        """The number of a string; KeyError if there is none and no default."""
        found = self._numbers.get(entry, self.default)
        if found is None:
            raise KeyError(f"Unknown entry in dictionary: '{entry}'")
        return found


def _lines(path: str | os.PathLike[str], what: str) -> list[str]:
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"ctc_decoder: there is no {what} {file}")
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is no text in UTF-8: {error}") from None


def read_tokens(tokens: str | os.PathLike[str] | list[str]) -> Dictionary:
    """Tokens from a list, or from a file with one to a line; those of one line are one token."""
    if isinstance(tokens, (str, os.PathLike)):
        entries = [line.split() for line in _lines(tokens, "file of tokens") if line.strip()]
    else:
        entries = [[token] for token in tokens]
    return Dictionary(entries)


def read_lexicon(path: str | os.PathLike[str]) -> dict[str, list[list[str]]]:
    """Spellings of words: a file whose lines are a word and the tokens of a spelling; a line that
    was there before says nothing new."""
    lexicon: dict[str, list[list[str]]] = {}
    for number, line in enumerate(_lines(path, "lexicon"), 1):
        fields = line.split()
        if len(fields) == 1:
            raise ValueError(f"{path}, line {number}: the word {fields[0]!r} has no spelling")
        spellings = lexicon.setdefault(fields[0], []) if fields else []
        if fields and fields[1:] not in spellings:
            spellings.append(fields[1:])
    return lexicon


def prefix_tree(
    lexicon: dict[str, list[list[str]]], words: Dictionary, tokens: Dictionary, scorer: Scorer
) -> rl.signal.PrefixTree:
    """The prefixes of all spellings; each node has the greatest score of a word below it."""
    children: list[dict[int, int]] = [{}]
    labels: list[list[int]] = [[]]
    own: list[float] = [-np.inf]
    start = scorer.start()
    for word, spellings in lexicon.items():
        number = words.index(word)
        score = scorer.score(start, number)[1]
        for spelling in spellings:
            node = 0
            for token in map(tokens.index, spelling):
                after = children[node].get(token)
                if after is None:
                    after = children[node][token] = len(children)
                    children.append({})
                    labels.append([])
                    own.append(-np.inf)
                node = after
            if len(labels[node]) < MOST_LABELS:
                labels[node].append(number)
                own[node] = max(own[node], score)
    numbers = np.array([each for row in labels for each in row], np.int64)
    label_starts = np.cumsum([0, *map(len, labels)])
    return rl.signal.PrefixTree(*_rows(children), _best(children, own), label_starts, numbers)


def _rows(children: list[dict[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Children of all nodes one after the other, and where those of each begin."""
    starts = np.cumsum([0, *map(len, children)])
    tokens = np.array([token for row in children for token in row], np.int64)
    nodes = np.array([node for row in children for node in row.values()], np.int64)
    return starts, tokens, nodes


def _best(children: list[dict[int, int]], own: list[float]) -> np.ndarray:
    """The greatest score at or below each node; children have greater numbers than parents."""
    best = list(own)
    for node in range(len(children) - 1, -1, -1):
        for child in children[node].values():
            best[node] = max(best[node], best[child])
    return np.array(best)
