"""Metrics of language: perplexity, and BLEU of the most likely words."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from lightning_lite.easy.data.describing import describable
from lightning_lite.easy.metrics.gathered import Gathered, Mean
from rushlight import nn

ORDERS = 4  # n-grams of one to four words


@describable
class Perplexity(Mean):
    """The exponential of the mean cross entropy of all tokens: outputs `(..., C)`, targets `(...)`.
    fastai weighs batches by their rows, whatever their lengths. NaN where there is no batch."""

    def __init__(self) -> None:
        super().__init__("perplexity")

    def gather(self, output: Any, target: Any) -> None:
        """Add the losses of a batch."""
        flat = output.reshape(-1, output.shape[-1])
        self.total += float(nn.functional.cross_entropy(flat, target.reshape(-1), reduction="sum"))
        self.count += target.numel()

    def value_of(self, states: list[Any]) -> float:
        """The perplexity."""
        return math.exp(self.mean_of(states))


perplexity = Perplexity()


@describable
class CorpusBLEUMetric(Gathered):
    """BLEU of the most likely words against the targets, over all of validation.

    Outputs `(N, T, V)` with the words' scores along `axis`, targets `(N, T)`. n-grams of one to
    four words; orders of which a text has none right count as halves, quarters and so on (method 3
    of Chen and Cherry, 2014). `vocab_sz` is not needed here, and is there for fastai's programs.
    NaN where there is no batch, or no text of four words.

    >>> import rushlight as rl
    >>> words = rl.tensor([[1, 2, 3, 4, 5]])
    >>> CorpusBLEUMetric()(rl.nn.functional.one_hot(words, 6), words)
    tensor(1.)
    """

    def __init__(self, vocab_sz: int = 5000, axis: int = -1) -> None:
        self.axis, self.vocab_sz = axis, vocab_sz
        super().__init__("corpus_bleu")

    def clear(self) -> None:
        """Forget the n-grams."""
        self.lengths = [0, 0]  # of outputs, of targets
        self.right, self.counts = [0.0] * ORDERS, [0] * ORDERS

    def gather(self, output: Any, target: Any) -> None:
        """Count the n-grams of a batch. ValueError for shapes that do not fit."""
        found = output.argmax(self.axis)
        if found.shape[0] != target.shape[0] or found.ndim != 2 or target.ndim != 2:
            raise ValueError(
                f"{self.name}: outputs of shape {tuple(output.shape)} with words along "
                f"axis={self.axis}, targets of shape {tuple(target.shape)}; expected (N, T, V) and "
                "(N, T)"
            )
        for words, real in zip(found.tolist(), target.tolist(), strict=True):
            self._add(words, real)

    def _add(self, words: list[int], real: list[int]) -> None:
        self.lengths = [self.lengths[0] + len(words), self.lengths[1] + len(real)]
        smoothing = 1
        for order in range(ORDERS):
            have, want = _grams(words, order + 1), _grams(real, order + 1)
            right: float = (have & want).total()
            if not right:
                smoothing *= 2
                right = 1 / smoothing
            self.right[order] += right
            self.counts[order] += have.total()

    def state(self) -> Any:
        """Lengths, right n-grams and all, by order."""
        return [*self.lengths, *self.right, *self.counts]

    def value_of(self, states: list[Any]) -> float:
        """BLEU, between 0 and 1."""
        sums = [sum(each) for each in zip(*states, strict=True)]
        (words, real), right, counts = sums[:2], sums[2 : 2 + ORDERS], sums[2 + ORDERS :]
        if not all(counts):
            return math.nan
        precisions = [part / whole for part, whole in zip(right, counts, strict=True)]
        short = math.exp(1 - real / words) if words < real else 1.0
        return float(short * math.prod(precisions) ** (1 / ORDERS))


def _grams(words: list[int], order: int) -> Counter:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))
