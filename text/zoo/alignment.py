"""Cut the sounds of words into pieces that stand beside their letters.

Each letter gives none, one or two phones. How likely a letter gives a piece is estimated by
expectation maximization over all ways to cut all words, and each word is then cut in its most
likely way. After Jiampojamarn, Kondrak and Sherif, Applying Many-to-Many Alignments and Hidden
Markov Models to Letter-to-Phoneme Conversion (2007), with single letters on one side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

Row = tuple[str, Sequence[str]]
MOST = 2  # phones of a letter
_FIRST = (0.1, 1.0, 0.05)  # weights of pieces of 0, 1 and 2 phones at the start
_LEAST = 1e-12  # so that what was never seen has a logarithm


class Alignment:
    """The likelihoods of pieces, and words in groups of one number of letters and of phones.

    Args:
        rows: words and their phones; those with more than two phones a letter are left out.
    """

    def __init__(self, rows: Sequence[Row]):
        letters = {c: n for n, c in enumerate(sorted({c for word, _ in rows for c in word}))}
        phones = {p: n for n, p in enumerate(sorted({p for _, each in rows for p in each}))}
        self.groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, (word, sounds) in enumerate(rows):
            if 0 < len(sounds) <= MOST * len(word):
                self.groups[len(word), len(sounds)].append(number)
        self.phones = len(phones)
        self.codes = {}
        for size, numbers in self.groups.items():
            spelt = np.array([[letters[c] for c in rows[number][0]] for number in numbers])
            said = np.array([[phones[p] for p in rows[number][1]] for number in numbers])
            self.codes[size] = self._codes(spelt, said)
        shares = [np.full(self.phones**size, _FIRST[size] / self.phones**size) for size in range(3)]
        self.likely = np.tile(np.concatenate(shares), len(letters))

    def _codes(self, spelt: np.ndarray, said: np.ndarray) -> list[np.ndarray]:
        """The number of the piece of letter i and the k phones from j, ``[k][W, i, j]``."""
        pieces = 1 + self.phones + self.phones**2
        start = spelt[:, :, None] * pieces
        one = 1 + said[:, None, :]
        two = 1 + self.phones + said[:, None, :-1] * self.phones + said[:, None, 1:]
        none = np.repeat(start, said.shape[1] + 1, 2)
        return [none, start + one, start + two][: said.shape[1] + 1]

    def learn(self, rounds: int = 12) -> float:
        """Estimate the likelihoods; the logarithm of that of all words, of the last round."""
        for _ in range(rounds):
            counts, total = np.zeros_like(self.likely), 0.0
            for codes in self.codes.values():
                expected, logarithm = _expected([self.likely[each] for each in codes])
                total += logarithm
                for code, share in zip(codes, expected, strict=True):
                    counts += np.bincount(code.ravel(), share.ravel(), len(counts))
            self.likely = counts / counts.sum() + _LEAST
        return total

    def cut(self) -> dict[int, list[int]]:
        """Of each row that was not left out the number of phones of each letter."""
        found = {}
        likely = np.log(self.likely)
        for size, numbers in self.groups.items():
            sizes = _best([likely[each] for each in self.codes[size]])
            found.update(zip(numbers, sizes.tolist(), strict=True))
        return found


def _sums(likely: list[np.ndarray], backward: bool) -> np.ndarray:
    """The likelihood ``[W, i, j]`` of all cuts of the first i letters and j phones, or of those
    behind them."""
    words, letters, phones = *likely[0].shape[:2], likely[0].shape[2] - 1
    found = np.zeros((words, letters + 1, phones + 1))
    found[:, letters if backward else 0, phones if backward else 0] = 1.0
    for i in reversed(range(letters)) if backward else range(letters):
        for size, each in enumerate(likely):
            if backward:
                found[:, i, : phones + 1 - size] += found[:, i + 1, size:] * each[:, i]
            else:
                found[:, i + 1, size:] += found[:, i, : phones + 1 - size] * each[:, i]
    return found


def _expected(likely: list[np.ndarray]) -> tuple[list[np.ndarray], float]:
    """How often each piece is expected, and the logarithm of the likelihood of the words."""
    before, behind = _sums(likely, False), _sums(likely, True)
    letters, phones = before.shape[1] - 1, before.shape[2] - 1
    whole = before[:, letters, phones]
    expected = [
        before[:, :letters, : phones + 1 - size]
        * each
        * behind[:, 1:, size:]
        / whole[:, None, None]
        for size, each in enumerate(likely)
    ]
    return expected, float(np.log(whole).sum())


def _best(likely: list[np.ndarray]) -> np.ndarray:
    """The numbers of phones ``[W, letters]`` of the most likely cuts, `likely` as logarithms."""
    words, letters, phones = *likely[0].shape[:2], likely[0].shape[2] - 1
    score = np.full((words, phones + 1), -np.inf)
    score[:, 0] = 0.0
    sizes = np.zeros((letters, words, phones + 1), np.int64)
    for i in range(letters):
        ways = np.full((len(likely), words, phones + 1), -np.inf)
        for size, each in enumerate(likely):
            ways[size, :, size:] = score[:, : phones + 1 - size] + each[:, i]
        sizes[i], score = ways.argmax(0), ways.max(0)
    found, left = np.zeros((words, letters), np.int64), np.full(words, phones)
    for i in reversed(range(letters)):
        found[:, i] = sizes[i, np.arange(words), left]
        left -= found[:, i]
    return found
