"""Errors of transcripts: by words, by characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rushlight_audio.functional import edit_distance

__all__ = [
    "EditCounts",
    "cer",
    "edit_counts",
    "match_error_rate",
    "wer",
    "word_information_lost",
]

Texts = str | Sequence[str]
_ERROR = 1 << 32


@dataclass(frozen=True)
class EditCounts:
    """How a sequence is made of another by the fewest edits.

    Attributes:
        hits: elements that are the same.
        substitutions, deletions, insertions: edits; a deletion is an element of the reference that
            is missing.
    """

    hits: int = 0
    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0

    @property
    def errors(self) -> int:
        """All edits."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def reference(self) -> int:
        """Length of the reference."""
        return self.hits + self.substitutions + self.deletions

    @property
    def prediction(self) -> int:
        """Length of the prediction."""
        return self.hits + self.substitutions + self.insertions

    def __add__(self, other: EditCounts) -> EditCounts:
        return EditCounts(
            self.hits + other.hits,
            self.substitutions + other.substitutions,
            self.deletions + other.deletions,
            self.insertions + other.insertions,
        )


def edit_counts(prediction: Sequence[Any], reference: Sequence[Any]) -> EditCounts:
    """The fewest edits that make the prediction of the reference (Levenshtein 1966); among those
    the ones with the most hits.

    >>> edit_counts("sitting", "kitten")
    EditCounts(hits=4, substitutions=2, deletions=0, insertions=1)
    """
    numbers: dict[Any, int] = {}
    found, expected = (
        np.array([numbers.setdefault(each, len(numbers)) for each in sequence], np.int64)
        for sequence in (prediction, reference)
    )
    # A cell is errors * _ERROR + misses: positions of either that do not match, of which the
    # fewest are the most hits. What comes from the left is the least of all before it, moved on.
    along = np.arange(len(found) + 1) * (_ERROR + 1)
    row = along.copy()
    for each in expected:
        above = row + (_ERROR + 1)
        above[1:] = np.minimum(above[1:], row[:-1] + np.where(found == each, 0, _ERROR + 2))
        row = np.minimum.accumulate(above - along) + along
    errors, misses = divmod(int(row[-1]), _ERROR)
    hits = (len(prediction) + len(reference) - misses) // 2
    # errors = s + d + i, and s + d and s + i are what the hits leave of either.
    deleted, inserted = len(reference) - hits, len(prediction) - hits
    substitutions = deleted + inserted - errors
    return EditCounts(hits, substitutions, deleted - substitutions, inserted - substitutions)


def _pairs(name: str, predictions: Texts, references: Texts) -> list[tuple[str, str]]:
    if isinstance(predictions, str) != isinstance(references, str):
        raise TypeError(f"{name}(): predictions and references must both be texts, or both lists")
    if isinstance(predictions, str) and isinstance(references, str):
        predictions, references = [predictions], [references]
    if len(predictions) != len(references):
        raise ValueError(f"{name}(): {len(predictions)} predictions, {len(references)} references")
    if not any(map(str.strip, references)):
        raise ValueError(f"{name}(): the references are empty")
    return list(zip(predictions, references, strict=True))


def _rate(
    name: str, predictions: Texts, references: Texts, cut: Callable[[str], Sequence[Any]]
) -> float:
    """Edits by elements of the references; how many, not which, so that bits can count them."""
    pairs = _pairs(name, predictions, references)
    edits = sum(edit_distance(cut(reference), cut(prediction)) for prediction, reference in pairs)
    return edits / sum(len(cut(reference)) for _, reference in pairs)


def _counted(name: str, predictions: Texts, references: Texts) -> EditCounts:
    pairs = _pairs(name, predictions, references)
    return sum((edit_counts(p.split(), r.split()) for p, r in pairs), EditCounts())


def wer(predictions: Texts, references: Texts) -> float:
    """Word error rate of a transcript or of many: edits by words of the references.

    Args:
        predictions: a text or several; words are what blanks separate.
        references: as many.

    >>> wer("the cat sat", "the cat sat down")
    0.25
    """
    return _rate("wer", predictions, references, str.split)


def cer(predictions: Texts, references: Texts) -> float:
    """Character error rate: edits by characters of the references, blanks too.

    >>> cer("abd", "abc")
    0.3333333333333333
    """
    return _rate("cer", predictions, references, list)


def match_error_rate(predictions: Texts, references: Texts) -> float:
    """Edits by edits and hits, from 0 to 1 (Morris, Maier and Green 2004).

    >>> match_error_rate("the cat sat", "the cat sat down")
    0.25
    """
    counts = _counted("match_error_rate", predictions, references)
    return counts.errors / (counts.errors + counts.hits)


def word_information_lost(predictions: Texts, references: Texts) -> float:
    """1 less the share of hits in the references times that in the predictions, from 0 to 1.

    >>> word_information_lost("the cat sat", "the cat sat down")
    0.25
    """
    counts = _counted("word_information_lost", predictions, references)
    if not counts.prediction:
        return 1.0
    return 1 - counts.hits / counts.reference * counts.hits / counts.prediction
