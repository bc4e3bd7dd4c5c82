"""The beam: hypotheses of all frames in arrays, and how new ones are merged and chosen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import rushlight as rl

__all__ = ["Beam", "Candidates", "Options"]


class Options(NamedTuple):
    """What a search is told; see :func:`ctc_decoder`."""

    beam_size: int
    beam_size_token: int
    beam_threshold: float
    lm_weight: float
    word_score: float
    unk_score: float
    sil_score: float
    log_add: bool


class Candidates(NamedTuple):
    """Hypotheses: the score, the language model's state, the node of the lexicon, the last token,
    whether it was a blank, which hypothesis of the frame before it goes on from, and the word that
    ended (-1 for none)."""

    score: np.ndarray
    state: np.ndarray
    node: np.ndarray
    token: np.ndarray
    blank: np.ndarray
    parent: np.ndarray
    word: np.ndarray

    @classmethod
    def first(cls, state: int, token: int) -> Candidates:
        """The hypothesis before the first frame."""
        columns = (0.0, state, 0, token, False, -1, -1)
        return cls(*(np.array([each]) for each in columns))

    @classmethod
    def joined(cls, parts: list[Candidates]) -> Candidates:
        """All hypotheses of several arrays."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def at(self, index: np.ndarray) -> Candidates:
        """Those that `index` says."""
        return Candidates(*[column.take(index) for column in self])


class Beam:
    """The hypotheses of every frame so far; `sizes` are the numbers of nodes and of tokens."""

    def __init__(self, options: Options, state: int, token: int, sizes: tuple[int, int]):
        self.options = options
        self.sizes = sizes
        self.frames = [Candidates.first(state, token)]

    @property
    def last(self) -> Candidates:
        """The hypotheses of the last frame."""
        return self.frames[-1]

    def add(self, candidates: Candidates) -> None:
        """Keep the best of what may follow, one hypothesis for each state, node, token and kind, in
        the order of scores."""
        nodes, tokens = self.sizes
        threshold = candidates.score.max(initial=-np.inf) - self.options.beam_threshold
        key = (candidates.state * nodes + candidates.node) * tokens + candidates.token
        key = 2 * key + candidates.blank
        if self.options.log_add:
            kept = self._summed(candidates, key, threshold)
        else:
            score, size = candidates.score, self.options.beam_size
            kept = candidates.at(rl.signal.best_rows(score, key, size, threshold))
        if not len(kept.score):
            raise ValueError(
                f"frame {len(self.frames) - 1} of emissions leaves no hypothesis: its scores are "
                "NaN or minus infinity"
            )
        self.frames.append(kept)

    def _summed(self, candidates: Candidates, key: np.ndarray, threshold: float) -> Candidates:
        """The best above the threshold, probabilities of those with one key added."""
        rows = np.flatnonzero(candidates.score > threshold)
        key, score = key[rows], candidates.score[rows]
        order = np.lexsort((-score, key))
        first = np.flatnonzero(np.diff(key[order], prepend=-1))
        totals = np.logaddexp.reduceat(score[order], first) if len(first) else score
        best = np.argsort(-totals, kind="stable")[: self.options.beam_size]
        return candidates.at(rows[order[first[best]]])._replace(score=totals[best])

    def path(self, row: int) -> tuple[list[int], list[int]]:
        """Tokens of a hypothesis from before the first frame on, and its words."""
        tokens, words = [], []
        for frame in reversed(self.frames):
            tokens.append(int(frame.token[row]))
            word = int(frame.word[row])
            if word >= 0:
                words.append(word)
            row = int(frame.parent[row])
        return tokens[::-1], words[::-1]
