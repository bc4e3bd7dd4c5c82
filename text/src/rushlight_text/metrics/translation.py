"""BLEU and chrF of translations, as sacrebleu computes them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rushlight_text.metrics._cutting import CUTTERS

__all__ = ["Bleu", "chrf", "corpus_bleu", "sentence_bleu"]

References = Sequence[str | Sequence[str]]
ORDER = 4
SMOOTHINGS = ("exp", "floor", "add-k", "none")


@dataclass
class Bleu:
    """A score: `score` from 0 to 100, its parts in `precisions` (per cent), `bp`, both lengths."""

    score: float
    precisions: list[float]
    bp: float
    sys_len: int
    ref_len: int


def _listed(name: str, hypotheses: Sequence[str], references: References) -> list[list[str]]:
    if isinstance(hypotheses, str):
        raise TypeError(f"{name}(): hypotheses must be a list of strings, not str")
    if len(hypotheses) != len(references):
        raise ValueError(f"{name}(): {len(hypotheses)} hypotheses and {len(references)} references")
    return [[each] if isinstance(each, str) else list(each) for each in references]


def _grams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(tokens[start : start + n])
        for n in range(1, order + 1)
        for start in range(len(tokens) - n + 1)
    )


def corpus_bleu(
    hypotheses: Sequence[str],
    references: References,
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
    smooth: str = "exp",
    smooth_value: float | None = None,
    effective_order: bool = False,
) -> Bleu:
    """BLEU of a corpus (Papineni et al. 2002), the same as sacrebleu's (Post 2018).

    Args:
        hypotheses: translations, as plain text.
        references: for each one text, or several.
        tokenize: ``"13a"``, ``"intl"``, ``"char"`` or ``"none"``.
        lowercase: small letters first.
        smooth: of orders without agreement: ``"exp"``, ``"floor"``, ``"add-k"`` or ``"none"``.
        smooth_value: for ``"floor"`` (0.1) and ``"add-k"`` (1).
        effective_order: leave out orders that are longer than the text.

    >>> corpus_bleu(["The cat sat here."], ["The cat sat there."]).score < 100
    True
    """
    listed = _listed("corpus_bleu", hypotheses, references)
    if tokenize not in CUTTERS:
        raise ValueError(f"tokenize must be one of {sorted(CUTTERS)}, got {tokenize!r}")
    if smooth not in SMOOTHINGS:
        raise ValueError(f"smooth must be one of {SMOOTHINGS}, got {smooth!r}")
    cut = CUTTERS[tokenize]
    right, total = [0] * ORDER, [0] * ORDER
    sys_len = ref_len = 0
    for hypothesis, texts in zip(hypotheses, listed, strict=True):
        plain = [t.lower() if lowercase else t for t in (hypothesis, *texts)]
        tokens, *others = (cut(text.rstrip()) for text in plain)
        sys_len += len(tokens)
        ref_len += min((abs(len(other) - len(tokens)), len(other)) for other in others)[1]
        best: Counter[tuple[str, ...]] = Counter()
        for other in others:
            best |= _grams(other, ORDER)
        counts = _grams(tokens, ORDER)
        for gram, count in counts.items():
            right[len(gram) - 1] += min(count, best[gram])
            total[len(gram) - 1] += count
    return _score(right, total, sys_len, ref_len, (smooth, smooth_value), effective_order)


def _score(
    right: list[int],
    total: list[int],
    sys_len: int,
    ref_len: int,
    smoothing: tuple[str, float | None],
    effective_order: bool,
) -> Bleu:
    bp = 1.0
    if sys_len < ref_len:
        bp = math.exp(1 - ref_len / sys_len) if sys_len else 0.0
    precisions = [0.0] * ORDER
    if not any(right):
        return Bleu(0.0, precisions, bp, sys_len, ref_len)
    kind, value = smoothing
    halves, order = 1.0, ORDER
    for n in range(ORDER):
        hits, count = float(right[n]), float(total[n])
        if kind == "add-k" and n > 0:
            hits, count = hits + (value or 1.0), count + (value or 1.0)
        if count == 0:
            break
        if effective_order:
            order = n + 1
        if hits == 0:
            halves *= 2
            if kind == "exp":
                precisions[n] = 100.0 / (halves * count)
            elif kind == "floor":
                precisions[n] = 100.0 * (0.1 if value is None else value) / count
        else:
            precisions[n] = 100.0 * hits / count
    logs = [math.log(p) if p > 0 else -9999999999.0 for p in precisions[:order]]
    return Bleu(bp * math.exp(sum(logs) / order), precisions, bp, sys_len, ref_len)


def sentence_bleu(hypothesis: str, references: str | Sequence[str], **options: object) -> Bleu:
    """BLEU of one text, of the orders that fit into it; options as of :func:`corpus_bleu`."""
    return corpus_bleu(
        [hypothesis],
        [references],
        **{"effective_order": True, **options},  # type: ignore[arg-type]
    )


_PUNCTUATION = set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def _words(text: str) -> list[str]:
    """Words, with punctuation at one of their ends cut off."""
    found: list[str] = []
    for word in text.split():
        if len(word) > 1 and word[-1] in _PUNCTUATION:
            found += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in _PUNCTUATION:
            found += [word[0], word[1:]]
        else:
            found.append(word)
    return found


def _all_orders(text: str, letters: int, words: int) -> list[Counter[tuple[str, ...]]]:
    plain = "".join(text.split())
    cut = _words(text) if words else []
    sizes = [(plain, n) for n in range(1, letters + 1)] + [(cut, n) for n in range(1, words + 1)]
    return [
        Counter(tuple(items[i : i + n]) for i in range(len(items) - n + 1)) for items, n in sizes
    ]


def _statistics(
    hypothesis: list[Counter[tuple[str, ...]]], reference: list[Counter[tuple[str, ...]]]
) -> list[int]:
    """Number of grams of both, and of those in common, for every order."""
    found: list[int] = []
    for ours, theirs in zip(hypothesis, reference, strict=True):
        # A reference without grams of an order does not count those of the hypothesis.
        count = ours.total() if theirs else 0
        found += [count, theirs.total(), (ours & theirs).total()]
    return found


def _f_score(statistics: Sequence[int], beta: float) -> float:
    precision = recall = 0.0
    orders = 0
    for place in range(0, len(statistics), 3):
        ours, theirs, common = statistics[place : place + 3]
        if ours > 0 and theirs > 0:
            precision += common / ours
            recall += common / theirs
            orders += 1
    if not orders or precision + recall == 0:
        return 0.0
    precision, recall, factor = precision / orders, recall / orders, beta**2
    return 100 * (1 + factor) * precision * recall / (factor * precision + recall)


def chrf(
    hypotheses: Sequence[str],
    references: References,
    *,
    char_order: int = 6,
    word_order: int = 0,
    beta: float = 2.0,
    lowercase: bool = False,
) -> float:
    """chrF of a corpus (Popović 2015), from 0 to 100; chrF++ with ``word_order=2``.

    Args:
        hypotheses, references: as of :func:`corpus_bleu`.
        char_order, word_order: longest n-grams of characters and of words.
        beta: how much more recall counts than precision.
        lowercase: small letters first.

    >>> round(chrf(["abc"], ["abc"]), 6)
    100.0
    """
    listed = _listed("chrf", hypotheses, references)
    total = [0] * (3 * (char_order + word_order))
    for hypothesis, texts in zip(hypotheses, listed, strict=True):
        plain = [t.lower() if lowercase else t for t in (hypothesis, *texts)]
        ours, *others = (_all_orders(text, char_order, word_order) for text in plain)
        candidates: Iterable[list[int]] = (_statistics(ours, other) for other in others)
        best = max(candidates, key=lambda statistics: _f_score(statistics, beta))
        total = [a + b for a, b in zip(total, best, strict=True)]
    return _f_score(total, beta)
