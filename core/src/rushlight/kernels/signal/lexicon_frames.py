"""Frames of a beam search over the words of a lexicon, one after the other in one compiled loop.

The loop comes back where the language model is to be asked: what it says is kept in a table, so
that each word behind each state is asked for once. With ``RUSHLIGHT_KERNELS=reference``, and where
probabilities of merged hypotheses are added, a frame is a few calls of
:mod:`rushlight.kernels.signal.lexicon_search`; both find the same to the last bit.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from rushlight.kernels.launch.prepared import word_of
from rushlight.kernels.signal import lexicon_frames_kernels as native
from rushlight.kernels.signal import lexicon_search
from rushlight.kernels.signal import lexicon_search_kernels as words
from rushlight.kernels.signal.beam_frames_kernels import frames
from rushlight.machine import np
from rushlight.machine.memory import address

__all__ = ["Ask", "Compiled", "Record", "Settings", "best_of", "frame_reference"]

Ask = Callable[[list[int], list[int]], tuple[Any, Any]]
"""Of states and words: the next states, and the logarithms of the words' probabilities."""

_FIRST_SLOTS, _MOST_SLOTS = 1 << 12, 1 << 24


class Settings(NamedTuple):
    """A tree of spellings, and what a search is told: :class:`rushlight.signal.BeamOptions`."""

    tree: lexicon_search.Tree
    options: Any


class Record(NamedTuple):
    """Hypotheses of a frame; see :class:`rushlight.signal.BeamFrame`."""

    score: Any
    state: Any
    node: Any
    token: Any
    blank: Any
    parent: Any
    word: Any


# --------------------------------------------------------------------------- frame by frame
def frame_reference(last: Record, heard, tried, settings: Settings, ask: Ask) -> Record:
    """The best hypotheses that follow those of a frame."""
    options = settings.options
    specials = (options.silence, options.blank, options.unknown)
    parts = (last[:5], heard, tried, settings.tree, specials, options.weight)
    score, before, state, node, token, parent, word, blank, ends = lexicon_search.followers(*parts)
    first, middle, end = ends
    score, state = score.copy(), state.copy()
    for rows, extra in (
        (slice(first, middle), options.word_score),
        (slice(middle, end), options.unknown_score),
    ):
        if rows.start < rows.stop:
            after, said = ask(state[rows].tolist(), word[rows].tolist())
            weighted = options.weight * (np.asarray(said, float) - before[rows])
            score[rows] = score[rows] + weighted + extra
            state[rows] = np.asarray(after)
    found = Record(score, state, node, token, blank, parent, word)
    return best_of(found, settings)


def best_of(found: Record, settings: Settings) -> Record:
    """The best of what may follow, one hypothesis for each state, node, token and kind, in the
    order of scores."""
    options = settings.options
    key = (found.state * len(settings.tree.best) + found.node) * options.tokens + found.token
    key, score, size = 2 * key + found.blank, found.score, options.beam_size
    threshold = score.max(initial=-np.inf) - options.threshold
    if not options.log_add:
        rows = lexicon_search.best_rows(score, key, size, threshold)
        return Record(*(column[rows] for column in found))
    rows, totals = lexicon_search.summed_rows(score, key, size, threshold)
    return Record(*(column[rows] for column in found))._replace(score=totals)


# ------------------------------------------------------------------------------ in one loop
class Compiled:
    """Runs frames in one loop, and keeps its buffers and what the language model said.

    Args:
        settings: of the search, without `log_add`.
        ask: the language model; None where there is none, so that every history of words is a state
            of its own and scores are 0.
    """

    free = False
    words = native.SIZE_OF_BLOCK

    def __init__(self, settings: Settings, ask: Ask | None):
        self.settings, self.ask = settings, ask
        self.block: Any = (ctypes.c_int64 * self.words)()
        self.choice = (ctypes.c_int64 * (words.FOUND + 1))()
        self._constants()
        self._make_room(1024)
        self._forget()

    def _constants(self) -> None:
        block, (tree, options) = self.block, self.settings
        block[words.SIZE] = options.tokens
        block[words.STARTS : words.NODES + 1] = tree.words
        specials = (options.silence, options.blank, options.unknown, word_of(options.weight))
        block[words.SIL : words.WEIGHT + 1] = specials
        block[native.BEAM] = options.beam_size
        block[native.MOST_OF] = address(tree.most)
        block[native.WORD_SCORE] = word_of(options.word_score)
        block[native.UNKNOWN_SCORE] = word_of(options.unknown_score)
        block[native.BEAM_THRESHOLD] = word_of(options.threshold)
        labels = tree.labels
        block[native.WORDS] = max(int(labels.max(initial=0)), options.unknown) + 1
        block[native.CHOICE] = ctypes.addressof(self.choice)
        self.choice[words.MOST] = options.beam_size

    def _make_room(self, rows: int) -> None:
        """Buffers for so many hypotheses that may follow a beam."""
        slots = 1 << (2 * rows).bit_length()
        columns = words.TO_BLANK - words.TO_SCORE + 1
        self.space = np.empty((columns + 4) * rows + slots, np.int64)
        first = address(self.space)
        places = range(first, first + 8 * rows * (columns + 4), 8 * rows)
        block, choice = self.block, self.choice
        block[words.TO_SCORE : words.TO_BLANK + 1] = list(places[:columns])
        block[native.SLOTS], block[native.MISSING] = places[columns : columns + 2]
        choice[words.CHOSEN], choice[words.USED] = places[columns + 2 :]
        choice[words.TABLE] = first + 8 * rows * (columns + 4)
        block[native.ROOM] = rows

    # ------------------------------------------------------------ what the language model said
    def begin(self) -> None:
        """Begin a search; forget what only former ones had use for."""
        if self.ask is None or len(self.memo[0]) > _MOST_SLOTS:
            self._forget()

    def _forget(self) -> None:
        self._make_memo(_FIRST_SLOTS)
        self.block[native.NEXT_STATE] = 1 if self.ask is None else -1

    def _make_memo(self, slots: int) -> None:
        self.memo = (np.full(slots, -1), np.empty(slots, np.int64), np.empty(slots))
        self.block[native.MEMO_KEYS : native.MEMO_SCORE + 1] = list(map(address, self.memo))
        self.block[native.MEMO_MASK], self.block[native.MEMO_USED] = slots - 1, 0

    def _grow(self) -> None:
        """A table of twice the slots."""
        old = self.memo
        self._make_memo(2 * len(old[0]))
        self._remember(*old)

    def _remember(self, keys, after, scores) -> None:
        given = (ctypes.c_int64 * 4)(*map(address, (keys, after, scores)), len(keys))
        block = self.block
        kept = block[native.MISSING], block[native.MISSED]
        block[native.MISSING], block[native.MISSED] = ctypes.addressof(given), len(keys)
        lexicon_search.call(native.remember.address(), block)
        block[native.MISSING], block[native.MISSED] = kept

    def _answer(self) -> Any:
        """Ask the language model for what is missing; the next states."""
        count = self.block[native.MISSED]
        start = (self.block[native.MISSING] - address(self.space)) // 8
        keys = np.array(list(dict.fromkeys(self.space[start : start + count].tolist())))
        states, labels = np.divmod(keys, self.block[native.WORDS])
        after, scores = cast(Ask, self.ask)(states.tolist(), labels.tolist())
        after = np.asarray(after, np.int64)
        self._remember(keys, after, np.asarray(scores, np.float64))
        return after

    # ------------------------------------------------------------------------------ the frames
    def run(self, last: Record, heard, tried) -> list[Record]:
        """What follows `last` after each of some frames, up to one that leaves nothing."""
        count, size = len(heard), self.settings.options.beam_size
        records = np.empty((count + 1, native.COLUMNS, max(size, len(last.score))), np.int64)
        lengths = np.zeros(count + 1, np.int64)
        lengths[0] = len(last.score)
        for column, values in zip(_record(records[0], lengths[0]), last, strict=True):
            column[:] = values
        self._begin(heard, tried, records, lengths)
        while self._comes_back():
            pass
        return [
            _record(record, length)
            for record, length in zip(records[1:], lengths[1:].tolist(), strict=True)
            if length
        ]

    def _begin(self, heard, tried, records, lengths) -> None:
        block = self.block
        block[native.FRAME], block[native.FRAMES] = 0, len(heard)
        block[native.STAGE], block[native.BEAM] = native.FOLLOW, records.shape[2]
        block[native.ALL_HEARD], block[native.ALL_TRIED] = address(heard), address(tried)
        block[native.RECORDS], block[native.LENGTHS] = address(records), address(lengths)

    def _comes_back(self) -> bool:
        """Run until the loop needs something, and give it that; False once it has ended."""
        lexicon_search.call(frames.address(free=self.free), self.block)
        code = self.block[native.CODE]
        if code == native.ASK:
            self._answer()
        elif code == native.GROW:
            self._make_room(2 * self.block[native.NEEDED])
        elif code == native.REMEMBER:
            self._grow()
        return code in (native.ASK, native.GROW, native.REMEMBER)


def _columns(record) -> Record:
    """The columns of a beam's record, to read and to write."""
    score, state, node, token, blank, parent, word = record
    return Record(
        score.view(np.float64), state, node, token, blank.view(np.bool_)[: len(blank)], parent, word
    )


def _record(record, length: int) -> Record:
    return Record(*(column[:length] for column in _columns(record)))
