"""Beam search over tokens that follow each other freely, as flashlight's decoders do it (Collobert
et al., Wav2Letter, 2016; Kahn et al., Flashlight, 2022), many frames in one compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.kernels.signal import free_frames as kernels
from rushlight.kernels.signal.lexicon_frames import Compiled, Record
from rushlight.signal.beam_frames import Ask, BeamFrames, BeamOptions

__all__ = ["FreeBeam"]


class FreeBeam(BeamFrames):
    """The best hypotheses of CTC's outputs of which any tokens follow each other.

    Args:
        options: :class:`BeamOptions`; those of words do not act.
        ask: the language model: a function of lists of states and of tokens that gives their next
            states and the logarithms of the tokens' probabilities. Each pair is asked for once
            while the beam lives, so it must always say the same. Without one every score is 0.
        row: a function of a state that gives the scores of all tokens behind it, ``[N]``: what
            `ask` would say. With it the states of kept hypotheses alone are asked for, in one
            compiled loop.
        state: of the language model before the first token; 0 where there is none.

    Attributes:
        frames: the hypotheses before the first frame and after each one, :class:`BeamFrame`.

    Raises IndexError where `silence` or `blank` is no token, and ValueError where `beam_size` is
    below 1 or a row has another length.

    >>> import numpy as np
    >>> beam = rushlight.signal.FreeBeam(rushlight.signal.BeamOptions(tokens=3, silence=1, blank=0))
    >>> beam.advance(np.log([[0.2, 0.2, 0.6], [0.1, 0.8, 0.1]]))
    >>> [frame.token.tolist()[0] for frame in beam.frames]
    [1, 2, 1]
    """

    def __init__(
        self,
        options: BeamOptions,
        ask: Ask | None = None,
        row: Callable[[int], Any] | None = None,
        state: int = 0,
    ):
        self._row = row
        super().__init__(kernels.flat_tree(options.tokens), options, ask, state)

    def _made(self) -> Compiled | None:
        if self._ask is not None and self._row is None:
            return None
        return kernels.CompiledFree(self._settings, self._ask, self._row)

    def _next(self, last: Record, heard: Any, tried: Any) -> Record:
        parts = (self._settings, self._answers, self._row)
        return kernels.frame_reference(last, heard, tried, *parts)
