"""Beam search over the words of a lexicon, as flashlight's decoders do it (Collobert et al.,
Wav2Letter, 2016; Kahn et al., Flashlight, 2022), many frames in one compiled loop."""

from __future__ import annotations

from typing import Any, NamedTuple

from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.signal import lexicon_frames as kernels
from rushlight.machine import np
from rushlight.signal.beam_search import PrefixTree

__all__ = ["BeamFrame", "LexiconBeam"]


class BeamFrame(NamedTuple):
    """The hypotheses of a frame, the best first, arrays ``[H]``: the score, the language model's
    state, the node of the tree, the last token, whether it is the blank, which hypothesis of the
    frame before it goes on from, and the word that ended (-1: none)."""

    score: Any
    state: Any
    node: Any
    token: Any
    blank: Any
    parent: Any
    word: Any


class LexiconBeam:
    """The best hypotheses of CTC's outputs of which words of a lexicon follow each other.

    Args:
        tree: the spellings of the words.
        tokens: how many tokens there are.
        silence: the token between words; it may stand there for nothing.
        blank: CTC's blank.
        ask: the language model: a function of lists of states and of words that gives their next
            states and the logarithms of the words' probabilities. Each pair is asked for once while
            the beam lives, so it must always say the same. Without one every score is 0.
        state: of the language model before the first word; 0 where there is none.
        unknown: the number of the unknown word, which any unfinished spelling may end as; -1: none.
        beam_size: hypotheses that are kept of each frame.
        threshold: how far the score of a hypothesis may be below the best.
        weight: factor of the language model's scores, those of the tree included.
        word_score: added for each word of the tree.
        unknown_score: added for each unknown word.
        log_add: probabilities of hypotheses that become the same are added; by default the
            greatest counts.

    Attributes:
        frames: the hypotheses before the first frame and after each one, :class:`BeamFrame`.

    Raises IndexError where `silence` or `blank` is no token, and ValueError where the tree has
    other tokens or `beam_size` is below 1.

    >>> import numpy as np
    >>> tree = rushlight.signal.PrefixTree([0, 1, 1], [2], [1], [0.0, 0.0], [0, 0, 1], [7])
    >>> beam = rushlight.signal.LexiconBeam(tree, tokens=3, silence=1, blank=0)
    >>> beam.advance(np.log([[0.2, 0.2, 0.6], [0.1, 0.8, 0.1]]))
    >>> beam.frames[-1].token.tolist()[0], beam.frames[-2].word.tolist()[0]
    (1, 7)
    """

    def __init__(
        self,
        tree: PrefixTree,
        *,
        tokens: int,
        silence: int,
        blank: int,
        ask: kernels.Ask | None = None,
        state: int = 0,
        unknown: int = -1,
        beam_size: int = 50,
        threshold: float = 50.0,
        weight: float = 1.0,
        word_score: float = 0.0,
        unknown_score: float = 0.0,
        log_add: bool = False,
    ):
        if tokens < tree.tokens or beam_size < 1:
            raise ValueError(
                f"LexiconBeam: tokens must be at least the tree's {tree.tokens} and beam_size at "
                f"least 1, got {tokens} and {beam_size}"
            )
        for name, token in (("silence", silence), ("blank", blank)):
            if not 0 <= token < tokens:
                raise IndexError(f"LexiconBeam: {name} must be one of {tokens} tokens, got {token}")
        scores = (float(threshold), float(weight), float(word_score), float(unknown_score))
        self._settings = kernels.Settings(
            tree._tree, tokens, silence, blank, unknown, beam_size, *scores, log_add
        )
        self._ask = ask
        self._said: dict[tuple[int, int], tuple[int, float]] = {}
        self._compiled: kernels.Compiled | None = None
        if not (REFERENCE or log_add):
            self._compiled = kernels.Compiled(self._settings, ask)
        self.frames: list[BeamFrame] = []
        self.begin(state)

    def begin(self, state: int = 0) -> None:
        """Be before the first frame again, with that state of the language model."""
        columns = (0.0, state, 0, self._settings.silence, False, -1, -1)
        self.frames = [BeamFrame(*(np.array([each]) for each in columns))]
        if self._compiled is not None:
            self._compiled.begin()
        elif self._ask is None:
            self._said.clear()

    def advance(self, heard: Any, tried: Any = None) -> None:
        """Go on by some frames.

        Args:
            heard: scores of the tokens in each frame, ``[T, N]`` of float64.
            tried: the tokens of each frame that may go on with a spelling, ``[T, N]`` of bool; all
                by default.

        Raises ValueError for another number of tokens, and where a frame leaves no hypothesis: the
        frames before it stay.
        """
        heard = np.ascontiguousarray(heard, np.float64)
        tried = np.ones(heard.shape, bool) if tried is None else np.ascontiguousarray(tried, bool)
        if heard.ndim != 2 or heard.shape[1] != self._settings.tokens or tried.shape != heard.shape:
            raise ValueError(
                f"LexiconBeam: heard and tried must be of shape [T, {self._settings.tokens}], got "
                f"{list(heard.shape)} and {list(tried.shape)}"
            )
        before = len(self.frames)
        self.frames += self._following(heard, tried)
        if len(self.frames) < before + len(heard):
            raise ValueError(
                f"frame {len(self.frames) - 1} of emissions leaves no hypothesis: its scores are "
                "NaN or minus infinity"
            )

    def _following(self, heard: Any, tried: Any) -> list[BeamFrame]:
        last = kernels.Record(*self.frames[-1])
        if self._compiled is not None:
            return [BeamFrame(*each) for each in self._compiled.run(last, heard, tried)]
        found = []
        for frame in zip(heard, tried, strict=True):
            last = kernels.frame_reference(last, *frame, self._settings, self._answers)
            if not len(last.score):
                break
            found.append(BeamFrame(*last))
        return found

    def _answers(self, states: list[int], words: list[int]) -> Any:
        """What the language model says, each pair being asked for once; without one a number for
        each history of words, and no score."""
        said, pairs = self._said, list(zip(states, words, strict=True))
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in said]
        if missing and self._ask is None:
            said |= {pair: (number, 0.0) for number, pair in enumerate(missing, len(said) + 1)}
        elif missing:
            answers = zip(*self._ask(*map(list, zip(*missing, strict=True))), strict=True)
            said.update(zip(missing, answers, strict=True))
        return zip(*map(said.__getitem__, pairs), strict=True)
