"""Error rates of words and characters, and the edit distance below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["cer", "edit_distance", "wer"]


def edit_distance(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Least number of substitutions, deletions and insertions that make `b` of `a`
    (Levenshtein 1966).

    >>> edit_distance("kitten", "sitting")
    3
    """
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, start=1):
        previous, row[0] = row[0], i
        for j, right in enumerate(b, start=1):
            previous, row[j] = (
                row[j],
                min(row[j] + 1, row[j - 1] + 1, previous + (left != right)),
            )
    return row[-1]


def _rate(name: str, predictions: Any, references: Any, cut: Any) -> float:
    if isinstance(predictions, str) != isinstance(references, str):
        raise TypeError(f"{name}(): predictions and references must both be texts, or both lists")
    if isinstance(predictions, str):
        predictions, references = [predictions], [references]
    if len(predictions) != len(references):
        raise ValueError(f"{name}(): {len(predictions)} predictions, {len(references)} references")
    edits = length = 0
    for prediction, reference in zip(predictions, references, strict=True):
        words = cut(reference)
        edits += edit_distance(words, cut(prediction))
        length += len(words)
    if not length:
        raise ValueError(f"{name}(): the references are empty")
    return edits / length


def wer(predictions: str | Sequence[str], references: str | Sequence[str]) -> float:
    """Word error rate of a text or of a corpus: edits by words of the references.

    >>> wer("the cat sat", "the cat sat down")
    0.25
    """
    return _rate("wer", predictions, references, str.split)


def cer(predictions: str | Sequence[str], references: str | Sequence[str]) -> float:
    """Character error rate: edits by characters of the references.

    >>> cer("abd", "abc")
    0.3333333333333333
    """
    return _rate("cer", predictions, references, list)
