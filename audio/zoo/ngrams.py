"""Language models of n-grams, as a beam search reads them."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable
from pathlib import Path

Gram = tuple[str, ...]


def write_arpa(path: Path, sentences: Iterable[list[str]], order: int) -> None:
    """An ARPA file of n-grams up to `order`, each interpolated with the shorter one by the number
    of different words behind its context (Witten and Bell 1991)."""
    counts: list[collections.Counter[Gram]] = [collections.Counter() for _ in range(order)]
    for sentence in sentences:
        words = ["<s>", *sentence, "</s>"]
        for size in range(1, order + 1):
            counts[size - 1].update(
                tuple(words[at : at + size]) for at in range(len(words) - size + 1)
            )
    del counts[0][("<s>",)]  # it is never predicted
    chances, rests = _interpolated(counts)
    lines = ["\\data\\"]
    sizes = [len(grams) + 2 * (number == 0) for number, grams in enumerate(counts)]
    lines += [f"ngram {number + 1}={size}" for number, size in enumerate(sizes)]
    for number, grams in enumerate(counts):
        lines += ["", f"\\{number + 1}-grams:"]
        if not number:
            lines.append(f"-99\t<s>{_rest(rests, ('<s>',))}")
            lines.append(f"{math.log10(chances[('<unk>',)]):.6f}\t<unk>")
        for gram in sorted(grams):
            lines.append(f"{math.log10(chances[gram]):.6f}\t{' '.join(gram)}{_rest(rests, gram)}")
    path.write_text("\n".join([*lines, "", "\\end\\", ""]), encoding="utf-8")


def _interpolated(
    counts: list[collections.Counter[Gram]],
) -> tuple[dict[Gram, float], dict[Gram, float]]:
    """The probability of each n-gram's last word, and the share that each context leaves to the
    shorter one."""
    totals: collections.Counter[Gram] = collections.Counter()
    kinds: collections.Counter[Gram] = collections.Counter()
    for grams in counts:
        for gram, count in grams.items():
            totals[gram[:-1]] += count
            kinds[gram[:-1]] += 1
    rests = {context: kinds[context] / (totals[context] + kinds[context]) for context in totals}
    uniform = 1 / (len(counts[0]) + 1)
    chances = {("<unk>",): rests[()] * uniform}
    for grams in counts:
        for gram, count in grams.items():
            context = gram[:-1]
            shorter = chances[gram[1:]] if context else uniform
            own = count / (totals[context] + kinds[context])
            chances[gram] = own + rests[context] * shorter
    return chances, rests


def _rest(rests: dict[Gram, float], context: Gram) -> str:
    """The last column of an n-gram that others continue."""
    return f"\t{math.log10(rests[context]):.6f}" if context in rests else ""
