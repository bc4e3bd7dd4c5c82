"""Beam searches over CTC's outputs, as flashlight's decoders do it (Collobert et al., Wav2Letter,
2016; Kahn et al., Flashlight, 2022): free, or over the words of a lexicon. Core goes on by many
frames at once; what is told and heard is here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import rushlight as rl
from rushlight_audio.models.decoder._language_model import Scorer, ZeroScorer

__all__ = ["Options", "Search", "free_search", "lexicon_search", "told_of"]


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


class Search:
    """A beam with its language model; where words of a lexicon follow each other, a sentence ends
    between two of them."""

    def __init__(
        self,
        options: Options,
        scorer: Scorer,
        sil: int,
        frames: rl.signal.LexiconBeam | rl.signal.FreeBeam,
    ):
        self.options = options
        self.scorer = scorer
        self.sil = sil
        self.beam = frames
        self.begin()

    @property
    def last(self) -> rl.signal.BeamFrame:
        """The hypotheses of the last frame."""
        return self.beam.frames[-1]

    def begin(self) -> None:
        """Be before the first frame."""
        self.beam.begin(self.scorer.start())

    def run(self, emissions: np.ndarray) -> None:
        """Go on by frames with the scores ``[T, N]`` of all tokens."""
        heard = emissions.astype(float)
        heard[:, self.sil] += self.options.sil_score
        self.beam.advance(heard, self._tried(emissions))

    def _tried(self, emissions: np.ndarray) -> np.ndarray | None:
        """Which are the best tokens of each frame, ``[T, N]``; None for all."""
        size = self.options.beam_size_token
        if size >= emissions.shape[1]:
            return None
        tried = np.zeros(emissions.shape, bool)
        best = np.argpartition(-emissions, size - 1, axis=1)[:, :size]
        np.put_along_axis(tried, best, True, axis=1)
        return tried

    def finish(self) -> None:
        """Let the sentence end."""
        rows = np.flatnonzero(self.last.node == 0)
        rows = rows if len(rows) else np.arange(len(self.last.node))
        ends = [self.scorer.finish(state) for state in self.last.state[rows].tolist()]
        self.beam.finish(rows, [state for state, _ in ends], [score for _, score in ends])


def free_search(options: Options, scorer: Scorer, told: rl.signal.BeamOptions) -> Search:
    """Any tokens follow each other; the language model is of tokens."""
    ask = _ask(scorer)
    row = None if ask is None else getattr(scorer, "row", None)
    return Search(options, scorer, told.silence, rl.signal.FreeBeam(told, ask, row))


def lexicon_search(
    options: Options, scorer: Scorer, told: rl.signal.BeamOptions, tree: rl.signal.PrefixTree
) -> Search:
    """Only words of a lexicon follow each other; the language model is of words."""
    beam = rl.signal.LexiconBeam(tree, told, _ask(scorer))
    return Search(options, scorer, told.silence, beam)


def told_of(options: Options, tokens: int, sil: int, blank: int, unknown: int = -1) -> Any:
    """What core's beams are told."""
    return rl.signal.BeamOptions(
        tokens,
        sil,
        blank,
        unknown if options.unk_score > -np.inf else -1,
        options.beam_size,
        float(options.beam_threshold),
        float(options.lm_weight),
        float(options.word_score),
        float(options.unk_score),
        options.log_add,
    )


def _ask(scorer: Scorer) -> Any:
    """What core's beams ask; None without a language model."""
    return None if isinstance(scorer, ZeroScorer) else functools.partial(_said, scorer.score)


def _said(score: Callable[[int, int], tuple[int, float]], states: list[int], tokens: list[int]):
    """The next states and the scores of some tokens."""
    found = [score(*pair) for pair in zip(states, tokens, strict=True)]
    return tuple(zip(*found, strict=True))
