"""Beam search over the words of a lexicon, as flashlight's decoders do it (Collobert et al.,
Wav2Letter, 2016; Kahn et al., Flashlight, 2022), many frames in one compiled loop."""

from __future__ import annotations

from typing import Any

from rushlight.kernels.signal import lexicon_frames as kernels
from rushlight.signal.beam_frames import Ask, BeamFrames, BeamOptions
from rushlight.signal.beam_search import PrefixTree

__all__ = ["LexiconBeam"]


class LexiconBeam(BeamFrames):
    """The best hypotheses of CTC's outputs of which words of a lexicon follow each other.

    Args:
        tree: the spellings of the words.
        options: :class:`BeamOptions`.
        ask: the language model: a function of lists of states and of words that gives their next
            states and the logarithms of the words' probabilities. Each pair is asked for once while
            the beam lives, so it must always say the same. Without one every score is 0.
        state: of the language model before the first word; 0 where there is none.

    Attributes:
        frames: the hypotheses before the first frame and after each one, :class:`BeamFrame`.

    Raises IndexError where `silence` or `blank` is no token, and ValueError where the tree has
    other tokens or `beam_size` is below 1.

    >>> import numpy as np
    >>> tree = rushlight.signal.PrefixTree([0, 1, 1], [2], [1], [0.0, 0.0], [0, 0, 1], [7])
    >>> options = rushlight.signal.BeamOptions(tokens=3, silence=1, blank=0)
    >>> beam = rushlight.signal.LexiconBeam(tree, options)
    >>> beam.advance(np.log([[0.2, 0.2, 0.6], [0.1, 0.8, 0.1]]))
    >>> beam.frames[-1].token.tolist()[0], beam.frames[-2].word.tolist()[0]
    (1, 7)
    """

    def __init__(
        self, tree: PrefixTree, options: BeamOptions, ask: Ask | None = None, state: int = 0
    ):
        if options.tokens < tree.tokens:
            raise ValueError(
                f"LexiconBeam: tokens must be at least the tree's {tree.tokens}, got "
                f"{options.tokens}"
            )
        super().__init__(tree._tree, options, ask, state)

    def _made(self) -> kernels.Compiled | None:
        return kernels.Compiled(self._settings, self._ask)

    def _next(self, last: kernels.Record, heard: Any, tried: Any) -> kernels.Record:
        return kernels.frame_reference(last, heard, tried, self._settings, self._answers)
