"""One frame of a beam search over CTC's outputs, as flashlight's decoders do it (Collobert et al.,
Wav2Letter, 2016; Kahn et al., Flashlight, 2022): free, or over the words of a lexicon. All that may
follow the hypotheses of a beam is computed as arrays."""

from __future__ import annotations

import numpy as np

import rushlight as rl
from rushlight_audio.models.decoder._beam import Beam, Candidates, Options
from rushlight_audio.models.decoder._language_model import Scorer

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

    def step(self, emission: np.ndarray) -> None:
        """Go on by a frame with the scores `emission` of all tokens."""
        self.beam.add(self._following(self.beam.last, emission, self._tokens(emission)))

    def _tokens(self, emission: np.ndarray) -> np.ndarray:
        """The best tokens of a frame."""
        size = self.options.beam_size_token
        if size >= len(emission):
            return np.arange(len(emission))
        return np.sort(np.argpartition(-emission, size - 1)[:size])

    def finish(self) -> None:
        """Let the sentence end."""
        last = self.beam.last
        rows = self._complete(last)
        chosen = last.at(rows)
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

    def _following(self, last: Candidates, emission: np.ndarray, tokens: np.ndarray) -> Candidates:
        raise NotImplementedError("a subclass says what may follow")

    def _scored(self, states: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The language model's next states and scores."""
        score = self.scorer.score
        found = [score(*pair) for pair in zip(states.tolist(), labels.tolist(), strict=True)]
        after, scores = zip(*found, strict=True) if found else ((), ())
        return np.array(after, np.int64), np.array(scores, float)

    def _heard(self, emission: np.ndarray) -> np.ndarray:
        """Scores of tokens, silence with its own."""
        heard = emission.astype(float)
        heard[self.sil] += self.options.sil_score
        return heard


class FreeSearch(Search):
    """Any tokens may follow each other; the language model is of tokens."""

    def _following(self, last: Candidates, emission: np.ndarray, tokens: np.ndarray) -> Candidates:
        heard = self._heard(emission)
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
        super().__init__(options, scorer, sil, blank, sizes)
        self.tree = tree
        self.unknown = unknown

    def _complete(self, last: Candidates) -> np.ndarray:
        """Those between two words, if there are any."""
        between = np.flatnonzero(last.node == 0)
        return between if len(between) else np.arange(len(last.score))

    def _following(self, last: Candidates, emission: np.ndarray, tokens: np.ndarray) -> Candidates:
        heard, tried = self._heard(emission), np.zeros(len(emission), bool)
        tried[tokens] = True
        unknown = self.unknown if self.options.unk_score > -np.inf else -1
        found = self.tree.followers(
            last[:5], heard, tried, self.sil, self.blank, unknown, self.options.lm_weight
        )
        first, middle, end = found.words
        self._word(found, slice(first, middle), self.options.word_score)
        self._word(found, slice(middle, end), self.options.unk_score)
        return Candidates(*(getattr(found, name) for name in Candidates._fields))

    def _word(self, found: rl.signal.Followers, rows: slice, extra: float) -> None:
        """Add the language model's scores and `extra` to hypotheses in which a word ended."""
        if rows.start == rows.stop:
            return
        state, scores = self._scored(found.state[rows], found.word[rows])
        weighted = self.options.lm_weight * (scores - found.before[rows])
        found.score[rows] = found.score[rows] + weighted + extra
        found.state[rows] = state


def _positions(chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns where a matrix is true."""
    rows, columns = np.nonzero(chosen)
    return rows, columns
