"""BLEU of tokens, as torchtext computes it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

__all__ = ["bleu_score"]


def bleu_score(
    candidate_corpus: Sequence[Sequence[str]],
    references_corpus: Sequence[Sequence[Sequence[str]]],
    max_n: int = 4,
    weights: Sequence[float] = (0.25,) * 4,
) -> float:
    """BLEU of a corpus of tokenized candidates, each with one or more references.

    An n of which no n-gram agrees makes it 0. For the score that papers report, of plain text,
    see :func:`rushlight_text.metrics.corpus_bleu`.

    Args:
        candidate_corpus: lists of tokens.
        references_corpus: for each a list of lists of tokens.
        max_n: longest n-gram that counts.
        weights: of the n-grams, as many as `max_n`.

    Raises:
        AssertionError: lengths that do not fit, as in torchtext.

    Reference: Papineni et al., "BLEU" (ACL 2002).

    >>> bleu_score([["My", "full", "pytorch", "test"]], [[["My", "full", "pytorch", "test"]]])
    1.0
    """
    if max_n != len(weights):
        raise AssertionError('Length of the "weights" list has be equal to max_n')
    if len(candidate_corpus) != len(references_corpus):
        raise AssertionError("The length of candidate and reference corpus should be the same")
    matched, total = [0] * max_n, [0] * max_n
    length = reference_length = 0
    for candidate, references in zip(candidate_corpus, references_corpus, strict=True):
        length += len(candidate)
        lengths = [len(reference) for reference in references]
        reference_length += min(lengths, key=lambda each: abs(len(candidate) - each))
        counts = _counts(candidate, max_n)
        best: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            best |= _counts(reference, max_n)
        for gram, count in (counts & best).items():
            matched[len(gram) - 1] += count
        for place in range(max_n):
            total[place] += max(len(candidate) - place, 0)
    if min(matched) == 0:
        return 0.0
    logs = [w * math.log(m / t) for w, m, t in zip(weights, matched, total, strict=True)]
    return math.exp(sum(logs)) * math.exp(min(1 - reference_length / length, 0))


def _counts(tokens: Sequence[str], max_n: int) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(tokens[start : start + n])
        for n in range(1, max_n + 1)
        for start in range(len(tokens) - n + 1)
    )
