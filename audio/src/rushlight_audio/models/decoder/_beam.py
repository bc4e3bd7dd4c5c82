"""The beam: hypotheses of all frames in arrays, and how new ones are merged and chosen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import rushlight as rl

__all__ = ["Beam", "Candidates", "Options", "at"]


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


Candidates = rl.signal.BeamFrame


def first_hypothesis(state: int, token: int) -> Candidates:
    """What there is before the first frame."""
    columns = (0.0, state, 0, token, False, -1, -1)
    return Candidates(*(np.array([each]) for each in columns))


def at(candidates: Candidates, index: np.ndarray) -> Candidates:
    """The hypotheses that `index` says."""
    return Candidates(*[column.take(index) for column in candidates])


class Beam:
    """The hypotheses of every frame so far; `sizes` are the numbers of nodes and of tokens."""

    def __init__(self, options: Options, state: int, token: int, sizes: tuple[int, int]):
        self.options = options
        self.sizes = sizes
        self.frames = [first_hypothesis(state, token)]

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
        score, size = candidates.score, self.options.beam_size
        if self.options.log_add:
            rows, totals = rl.signal.summed_rows(score, key, size, threshold)
            kept = at(candidates, rows)._replace(score=totals)
        else:
            kept = at(candidates, rl.signal.best_rows(score, key, size, threshold))
        if not len(kept.score):
            raise ValueError(
                f"frame {len(self.frames) - 1} of emissions leaves no hypothesis: its scores are "
                "NaN or minus infinity"
            )
        self.frames.append(kept)

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
