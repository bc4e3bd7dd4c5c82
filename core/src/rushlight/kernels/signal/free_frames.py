"""Frames of a beam search over tokens that follow each other freely, in one compiled loop.

With ``RUSHLIGHT_KERNELS=reference``, where probabilities of merged hypotheses are added, and for
language models that do not tell the scores of all tokens at once, a frame is computed as arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rushlight.kernels.signal import free_frames_kernels as native
from rushlight.kernels.signal.lexicon_frames import Ask, Compiled, Record, Settings, best_of
from rushlight.kernels.signal.lexicon_frames_kernels import WORDS
from rushlight.kernels.signal.lexicon_search import Tree
from rushlight.machine import np
from rushlight.machine.memory import address

__all__ = ["CompiledFree", "Rows", "flat_tree", "frame_reference"]

Rows = Callable[[int], Any]
"""Of a state: the logarithms of the probabilities of all tokens behind it."""

# A history with a token more comes from the history alone, that before a blank or behind one, and
# from itself with the token said once more.
SAME = 4


def flat_tree(tokens: int) -> Tree:
    """A root alone, behind which each token may come."""
    none = np.zeros(0, np.int64)
    starts = np.zeros(2, np.int64)
    tree = Tree.of(starts, none, none, np.zeros(1), starts, none)
    return tree._replace(most=np.array([tokens]))


# --------------------------------------------------------------------------- frame by frame
def frame_reference(
    last: Record, heard, tried, settings: Settings, ask: Ask, row: Rows | None
) -> Record:
    """The best hypotheses that follow those of a frame."""
    options, tokens = settings.options, np.flatnonzero(tried)
    blank = tokens == options.blank
    held = (tokens == last.token[:, None]) & ~last.blank[:, None]
    new = ~(blank | held)  # the pairs of a hypothesis and a token that the model has a word in
    score = last.score[:, None] + heard[tokens]
    if row is not None:
        scores = np.stack([_dense(row(state), options.tokens) for state in last.state.tolist()])
        score += options.weight * np.where(new, scores[:, tokens], 0.0)
    parent, column = _reaching(score, options, row is not None)
    new = new[parent, column]
    state, token, score = last.state[parent], tokens[column], score[parent, column]
    if new.any():
        state[new], said = map(np.asarray, ask(state[new].tolist(), token[new].tolist()))
        if row is None:
            score[new] += options.weight * said
    zeros = np.zeros(len(parent), np.int64)
    found = Record(score, state, zeros, token, blank[column], parent, zeros - 1)
    return best_of(found, settings)


def _dense(row, tokens: int):
    row = np.ascontiguousarray(row, np.float64)
    if row.shape != (tokens,):
        raise ValueError(
            f"FreeBeam: row must give {tokens} scores, got an array of shape {list(row.shape)}"
        )
    return row


def _reaching(score, options, final: bool):
    """Rows and columns of the pairs that can reach the next beam: all until scores are `final`.

    As the best of those that merge counts, and as no more than SAME merge, SAME times the beam is
    enough.
    """
    if not final or score.size == 0:
        return np.nonzero(np.ones(score.shape, bool))
    least = score.max() - options.threshold
    most = SAME * options.beam_size
    if score.size > most and not options.log_add:
        least = max(least, np.partition(score, -most, axis=None)[-most])
    return np.nonzero(score >= least)


# ------------------------------------------------------------------------------ in one loop
class CompiledFree(Compiled):
    """Runs frames in one loop.

    Args:
        settings: of the search, without `log_add`, with :func:`flat_tree`.
        ask: the language model; None where there is none.
        row: the scores that it gives to all tokens; with `ask`.
    """

    free = True
    words = native.SIZE_OF_BLOCK

    def __init__(self, settings: Settings, ask: Ask | None, row: Rows | None):
        self.row = row
        self.rows: dict[int, Any] = {}  # by states: keeps them alive
        self.places = np.zeros(64, np.int64)  # their addresses
        super().__init__(settings, ask)
        self.block[WORDS] = settings.options.tokens
        self.block[native.ROWS_OF] = address(self.places)

    def _answer(self) -> Any:
        after = super()._answer()
        self._take_rows(after.tolist())
        return after

    def _take_rows(self, states: Sequence[int]) -> None:
        """Have the rows of some states at hand."""
        most = max(states, default=0)
        if most >= len(self.places):
            self.places = np.append(self.places, np.zeros(most + 1, np.int64))
            self.block[native.ROWS_OF] = address(self.places)
        for state in states:
            if state not in self.rows and self.row is not None:
                row = self.rows[state] = _dense(self.row(state), self.settings.options.tokens)
                self.places[state] = address(row)

    def run(self, last: Record, heard, tried) -> list[Record]:
        """What follows `last` after each of some frames, up to one that leaves nothing."""
        self._take_rows(last.state.tolist())
        return super().run(last, heard, tried)
