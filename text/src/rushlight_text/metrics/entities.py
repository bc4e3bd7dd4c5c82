"""Entities in tags, and precision, recall and F1 of them, as seqeval computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Counts", "entities", "entity_scores"]

Tags = Sequence[str]


def entities(tags: Tags) -> list[tuple[str, int, int]]:
    """Type, first and last place of each entity of tags such as ``B-PER``, ``I-PER``, ``O``.

    IOB1, IOB2, IOE and IOBES are understood, by the rules of CoNLL's script: a wrong beginning is
    a beginning.

    >>> entities(["B-PER", "I-PER", "O", "B-LOC"])
    [('PER', 0, 1), ('LOC', 3, 3)]
    """
    found = []
    before, kind_before, begin = "O", "", 0
    for place, tag in enumerate([*tags, "O"]):
        mark, _, kind = tag.partition("-")
        kind = kind or "_"
        if _ends(before, mark, kind_before, kind):
            found.append((kind_before, begin, place - 1))
        if _begins(before, mark, kind_before, kind):
            begin = place
        before, kind_before = mark, kind
    return found


def _ends(before: str, mark: str, kind_before: str, kind: str) -> bool:
    if before in ("E", "S"):
        return True
    if before in ("B", "I"):
        return mark in ("B", "S", "O") or kind_before != kind
    return False


def _begins(before: str, mark: str, kind_before: str, kind: str) -> bool:
    if mark in ("B", "S"):
        return True
    if mark in ("I", "E"):
        return before in ("E", "S", "O") or kind_before != kind
    return False


@dataclass
class Counts:
    """Entities that are right, predicted, there; and what follows."""

    right: int = 0
    predicted: int = 0
    there: int = 0

    @property
    def precision(self) -> float:
        """Share of the predicted that is right."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of those there that is found."""
        return self.right / self.there if self.there else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def entity_scores(predictions: Sequence[Tags], references: Sequence[Tags]) -> dict[str, Counts]:
    """The counts of each type, and of all under ``"micro"``.

    >>> scores = entity_scores([["B-PER", "O"]], [["B-PER", "B-LOC"]])
    >>> scores["micro"].precision, scores["micro"].recall
    (1.0, 0.5)
    """
    if len(predictions) != len(references):
        raise ValueError(
            f"entity_scores(): {len(predictions)} predictions, {len(references)} references"
        )
    found: dict[str, Counts] = {"micro": Counts()}
    for number, (ours, theirs) in enumerate(zip(predictions, references, strict=True)):
        if len(ours) != len(theirs):
            raise ValueError(
                f"entity_scores(): sentence {number} has {len(ours)} and {len(theirs)} tags"
            )
        predicted, there = set(entities(ours)), set(entities(theirs))
        for each in predicted | there:
            for counts in (found["micro"], found.setdefault(each[0], Counts())):
                counts.right += each in predicted and each in there
                counts.predicted += each in predicted
                counts.there += each in there
    return found
