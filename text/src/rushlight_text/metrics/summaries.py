"""ROUGE of summaries, as the package rouge-score computes it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Rouge", "rouge"]

KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")


@dataclass
class Rouge:
    """Precision, recall and their harmonic mean, from 0 to 1."""

    precision: float
    recall: float
    fmeasure: float


def rouge(
    prediction: str,
    reference: str | Sequence[str],
    kinds: Sequence[str] = KINDS,
    *,
    stemmer: Callable[[str], str] | None = None,
) -> dict[str, Rouge]:
    """ROUGE of one summary (Lin 2004).

    Args:
        prediction: the summary.
        reference: one, or several, of which the best counts for each kind.
        kinds: ``"rougeN"`` of n-grams, ``"rougeL"`` of the longest common subsequence,
            ``"rougeLsum"`` of that of lines.
        stemmer: function of words of more than three letters, such as Porter's.

    >>> rouge("the cat sat", "the cat ran")["rouge1"].fmeasure
    0.6666666666666666
    """
    references = [reference] if isinstance(reference, str) else list(reference)
    found = {}
    for kind in kinds:
        scores = [_one(kind, prediction, each, stemmer) for each in references]
        found[kind] = max(scores, key=lambda score: score.fmeasure)
    return found


def _cut(text: str, stemmer: Callable[[str], str] | None) -> list[str]:
    words = re.sub(r"[^a-z0-9]+", " ", text.lower()).split()
    if stemmer is None:
        return words
    return [stemmer(word) if len(word) > 3 else word for word in words]


def _one(kind: str, prediction: str, reference: str, stemmer: Callable[[str], str] | None) -> Rouge:
    if kind == "rougeLsum":
        lines = [
            [words for line in text.split("\n") if (words := _cut(line, stemmer))]
            for text in (prediction, reference)
        ]
        return _of_lines(lines[0], lines[1])
    ours, theirs = _cut(prediction, stemmer), _cut(reference, stemmer)
    if kind == "rougeL":
        common = len(_subsequence(theirs, ours))
        return _score(common, len(ours), len(theirs))
    size = re.fullmatch(r"rouge([1-9])", kind)
    if size is None:
        raise ValueError(f"rouge(): kinds are rouge1 to rouge9, rougeL, rougeLsum, not {kind!r}")
    counts = [_grams(words, int(size[1])) for words in (ours, theirs)]
    common = (counts[0] & counts[1]).total()
    return _score(common, counts[0].total(), counts[1].total())


def _grams(words: list[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + size]) for i in range(len(words) - size + 1))


def _score(common: int, ours: int, theirs: int) -> Rouge:
    precision = common / ours if ours else 0.0
    recall = common / theirs if theirs else 0.0
    total = precision + recall
    return Rouge(precision, recall, 2 * precision * recall / total if total else 0.0)


def _subsequence(reference: list[str], prediction: list[str]) -> list[int]:
    """The places in the reference of a longest common subsequence."""
    rows, columns = len(reference), len(prediction)
    table = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            if reference[i - 1] == prediction[j - 1]:
                table[i][j] = table[i - 1][j - 1] + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    places = []
    i, j = rows, columns
    while i and j:
        if reference[i - 1] == prediction[j - 1]:
            places.append(i - 1)
            i, j = i - 1, j - 1
        elif table[i][j - 1] > table[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return places[::-1]


def _of_lines(ours: list[list[str]], theirs: list[list[str]]) -> Rouge:
    """For each line of the reference the union of what it shares with every line; no word counts
    more often than it stands."""
    if not ours or not theirs:
        return Rouge(0.0, 0.0, 0.0)
    left = [Counter(word for line in lines for word in line) for lines in (ours, theirs)]
    common = 0
    for line in theirs:
        union = {place for other in ours for place in _subsequence(line, other)}
        for word in (line[place] for place in sorted(union)):
            if left[0][word] > 0 and left[1][word] > 0:
                common += 1
                left[0][word] -= 1
                left[1][word] -= 1
    return _score(common, sum(map(len, ours)), sum(map(len, theirs)))
