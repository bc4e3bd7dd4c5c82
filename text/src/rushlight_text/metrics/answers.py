"""Exact match and F1 of answers, as of SQuAD."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

__all__ = ["normalize_answer", "squad", "squad_exact", "squad_f1"]


def normalize_answer(text: str) -> str:
    """Small letters, no punctuation, no articles, single spaces.

    >>> normalize_answer("The  Cat!")
    'cat'
    """
    plain = "".join(letter for letter in text.lower() if letter not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


def squad_exact(prediction: str, answer: str) -> float:
    """1 where both are the same, normalized; else 0."""
    return float(normalize_answer(prediction) == normalize_answer(answer))


def squad_f1(prediction: str, answer: str) -> float:
    """F1 of the words; without an answer 1 for nothing, 0 for anything."""
    ours, theirs = normalize_answer(prediction).split(), normalize_answer(answer).split()
    if not ours or not theirs:
        return float(ours == theirs)
    common = (Counter(ours) & Counter(theirs)).total()
    if not common:
        return 0.0
    precision, recall = common / len(ours), common / len(theirs)
    return 2 * precision * recall / (precision + recall)


def squad(predictions: Sequence[str], answers: Sequence[Sequence[str]]) -> dict[str, float]:
    """``exact`` and ``f1`` in per cent; for each question the best of its answers counts, and an
    empty list means that there is none.

    >>> squad(["Paris"], [["paris", "Paris, France"]])
    {'exact': 100.0, 'f1': 100.0}
    """
    if len(predictions) != len(answers):
        raise ValueError(f"squad(): {len(predictions)} predictions, {len(answers)} answers")
    if not predictions:
        raise ValueError("squad(): no predictions")
    exact = f1 = 0.0
    for prediction, possible in zip(predictions, answers, strict=True):
        texts = [text for text in possible if normalize_answer(text)] or [""]
        exact += max(squad_exact(prediction, text) for text in texts)
        f1 += max(squad_f1(prediction, text) for text in texts)
    return {"exact": 100 * exact / len(predictions), "f1": 100 * f1 / len(predictions)}
