"""The beam: hypotheses of all frames in arrays, and how new ones are merged and chosen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Beam", "Candidates", "Options"]

FEW = 3  # times the beam: candidates that hold enough different ones, nearly always


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
        return Candidates(*(column[index] for column in self))


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
        rows = np.flatnonzero(candidates.score > threshold)
        if not len(rows):
            raise ValueError(
                f"frame {len(self.frames) - 1} of emissions leaves no hypothesis: its scores are "
                "NaN or minus infinity"
            )
        key = (candidates.state * nodes + candidates.node) * tokens + candidates.token
        key = (2 * key + candidates.blank)[rows]
        score = candidates.score[rows]
        if not self.options.log_add:
            self.frames.append(candidates.at(rows[self._best(key, score)]))
            return
        order = np.lexsort((-score, key))
        first = np.flatnonzero(np.diff(key[order], prepend=-1))
        totals = np.logaddexp.reduceat(score[order], first) if len(first) else score
        best = np.argsort(-totals, kind="stable")[: self.options.beam_size]
        kept = candidates.at(rows[order[first[best]]])
        self.frames.append(kept._replace(score=totals[best]))

    def _best(self, key: np.ndarray, score: np.ndarray) -> np.ndarray:
        """The best rows with different keys, the best first. As a few rows share a key, a few times
        the beam is looked at before all."""
        size, count = self.options.beam_size, len(score)
        for most in (FEW * size, count):
            rows = np.arange(count)
            if most < count:
                rows = np.argpartition(-score, most)[:most]
            rows = rows[np.argsort(-score[rows], kind="stable")]
            first = np.sort(np.unique(key[rows], return_index=True)[1])
            if len(first) >= size or most >= count:
                break
        return rows[first[:size]]

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
