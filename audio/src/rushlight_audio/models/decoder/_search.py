"""Beam searches over CTC's outputs, as flashlight's decoders do it (Collobert et al., Wav2Letter,
2016; Kahn et al., Flashlight, 2022): free, where all that may follow the hypotheses of a beam is
computed as arrays, or over the words of a lexicon, which core does for many frames at once."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

import rushlight as rl
from rushlight_audio.models.decoder._beam import Beam, Candidates, Options, at
from rushlight_audio.models.decoder._language_model import Scorer, ZeroScorer

__all__ = ["FreeSearch", "LexiconSearch", "Search"]

# A history with a token more comes from the history alone, that before a blank or behind one, and
# from itself with the token said once more.
SAME = 4


class Search:
    """What both searches share; `sizes` are the numbers of nodes and of tokens."""

    def __init__(
        self, options: Options, scorer: Scorer, sil: int, blank: int, sizes: tuple[int, int]
    ):
        self.options = options
        self.sizes = sizes
        self.scorer = scorer
        self.sil = sil
        self.blank = blank
        self.beam = self.begun()

    def begun(self) -> Beam:
        """A beam before the first frame."""
        self.beam = Beam(self.options, self.scorer.start(), self.sil, self.sizes)
        return self.beam

    def run(self, emissions: np.ndarray) -> None:
        """Go on by frames with the scores ``[T, N]`` of all tokens."""
        raise NotImplementedError("a subclass says what may follow")

    def _tried(self, emissions: np.ndarray) -> np.ndarray:
        """The best tokens of each frame, ``[T, K]`` with their numbers rising."""
        size, tokens = self.options.beam_size_token, emissions.shape[1]
        if size >= tokens:
            return np.broadcast_to(np.arange(tokens), emissions.shape)
        return np.sort(np.argpartition(-emissions, size - 1, axis=1)[:, :size], axis=1)

    def finish(self) -> None:
        """Let the sentence end."""
        last = self.beam.last
        rows = self._complete(last)
        chosen = at(last, rows)
        ends = [self.scorer.finish(state) for state in chosen.state.tolist()]
        score = chosen.score + self.options.lm_weight * np.array([each for _, each in ends])
        ended = Candidates(
            score,
            np.array([state for state, _ in ends], np.int64),
            chosen.node,
            np.full(len(rows), self.sil),
            np.zeros(len(rows), bool),
            rows,
            np.full(len(rows), -1),
        )
        self.beam.add(ended)

    def _complete(self, last: Candidates) -> np.ndarray:
        """The hypotheses that may end here."""
        return np.arange(len(last.score))

    def _heard(self, emissions: np.ndarray) -> np.ndarray:
        """Scores of tokens, silence with its own."""
        heard = emissions.astype(float)
        heard[:, self.sil] += self.options.sil_score
        return heard


class FreeSearch(Search):
    """Any tokens may follow each other; the language model is of tokens."""

    def run(self, emissions: np.ndarray) -> None:
        """Go on by frames with the scores ``[T, N]`` of all tokens."""
        for heard, tokens in zip(self._heard(emissions), self._tried(emissions), strict=True):
            self.beam.add(self._following(self.beam.last, heard, tokens))

    def _following(self, last: Candidates, heard: np.ndarray, tokens: np.ndarray) -> Candidates:
        blank = tokens == self.blank
        held = (tokens == last.token[:, None]) & ~last.blank[:, None]
        new = ~(blank | held)  # the pairs of a hypothesis and a token that the model has a word in
        score = last.score[:, None] + heard[tokens]
        row = getattr(self.scorer, "row", None)
        if row is not None:
            scores = np.stack([row(state) for state in last.state.tolist()])
            score += self.options.lm_weight * np.where(new, scores[:, tokens], 0.0)
        parent, column = self._reaching(score, row is not None)
        new = new[parent, column]
        state, token = last.state[parent], tokens[column]
        state[new], scores = self._scored(state[new], token[new])
        score = score[parent, column]
        if row is None:
            score[new] += self.options.lm_weight * scores
        zeros = np.zeros(len(parent), np.int64)
        return Candidates(score, state, zeros, token, blank[column], parent, zeros - 1)

    def _scored(self, states: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The language model's next states and scores."""
        score = self.scorer.score
        found = [score(*pair) for pair in zip(states.tolist(), labels.tolist(), strict=True)]
        after, scores = zip(*found, strict=True) if found else ((), ())
        return np.array(after, np.int64), np.array(scores, float)

    def _reaching(self, score: np.ndarray, final: bool) -> tuple[np.ndarray, np.ndarray]:
        """The pairs that can reach the next beam: all until their scores are `final`.

        As the best of those that merge counts, and as no more than SAME merge, SAME times the beam
        is enough.
        """
        if not final or score.size == 0:
            return _positions(np.ones(score.shape, bool))
        least = score.max() - self.options.beam_threshold
        most = SAME * self.options.beam_size
        if score.size > most and not self.options.log_add:
            least = max(least, np.partition(score, -most, axis=None)[-most])
        return _positions(score >= least)


class LexiconSearch(Search):
    """Only words of a lexicon follow each other; the language model is of words."""

    def __init__(
        self,
        options: Options,
        scorer: Scorer,
        sil: int,
        blank: int,
        sizes: tuple[int, int],
        tree: rl.signal.PrefixTree,
        unknown: int,
    ):
        zero = isinstance(scorer, ZeroScorer)
        self.words = rl.signal.LexiconBeam(
            tree,
            tokens=sizes[1],
            silence=sil,
            blank=blank,
            ask=None if zero else functools.partial(_said, scorer.score),
            unknown=unknown if options.unk_score > -np.inf else -1,
            beam_size=options.beam_size,
            threshold=options.beam_threshold,
            weight=options.lm_weight,
            word_score=options.word_score,
            unknown_score=options.unk_score,
            log_add=options.log_add,
        )
        super().__init__(options, scorer, sil, blank, sizes)

    def begun(self) -> Beam:
        """A beam before the first frame."""
        beam = super().begun()
        self.words.begin(int(beam.last.state[0]))
        beam.frames = self.words.frames
        return beam

    def run(self, emissions: np.ndarray) -> None:
        """Go on by frames with the scores ``[T, N]`` of all tokens."""
        tried = np.zeros(emissions.shape, bool)
        np.put_along_axis(tried, self._tried(emissions), True, axis=1)
        self.words.advance(self._heard(emissions), tried)

    def _complete(self, last: Candidates) -> np.ndarray:
        """Those between two words, if there are any."""
        between = np.flatnonzero(last.node == 0)
        return between if len(between) else np.arange(len(last.score))


def _said(score: Callable[[int, int], tuple[int, float]], states: list[int], words: list[int]):
    """The next states and the scores of some words."""
    found = [score(*pair) for pair in zip(states, words, strict=True)]
    return tuple(zip(*found, strict=True))


def _positions(chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns where a matrix is true."""
    rows, columns = np.nonzero(chosen)
    return rows, columns
