"""What beam searches over CTC's outputs share: frames of hypotheses, and how they go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.signal import lexicon_frames as kernels
from rushlight.machine import np

__all__ = ["BeamFrame", "BeamFrames", "BeamOptions"]

Ask = Callable[[list[int], list[int]], tuple[Any, Any]]
"""Of states and tokens, or words: the next states, and the logarithms of probabilities."""


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


class BeamOptions(NamedTuple):
    """What a beam search over CTC's outputs is told.

    Args:
        tokens: how many tokens there are.
        silence: the token before the first frame; between words of a lexicon it may stand for
            nothing.
        blank: CTC's blank.
        unknown: the number of the unknown word, which any unfinished spelling may end as; -1: none.
        beam_size: hypotheses that are kept of each frame.
        threshold: how far the score of a hypothesis may be below the best.
        weight: factor of the language model's scores, those of a tree included.
        word_score: added for each word of a tree.
        unknown_score: added for each unknown word.
        log_add: probabilities of hypotheses that become the same are added; by default the
            greatest counts.

    >>> rushlight.signal.BeamOptions(tokens=29, silence=1, blank=0).beam_size
    50
    """

    tokens: int
    silence: int
    blank: int
    unknown: int = -1
    beam_size: int = 50
    threshold: float = 50.0
    weight: float = 1.0
    word_score: float = 0.0
    unknown_score: float = 0.0
    log_add: bool = False


class BeamFrames:
    """A beam, frame by frame; a subclass says what may follow.

    Args:
        tree: of spellings, as kernels have it.
        options: of the search.
        ask: the language model, or None.
        state: of the language model at the beginning.
    """

    def __init__(self, tree: Any, options: BeamOptions, ask: Ask | None, state: int):
        name = type(self).__name__
        if options.beam_size < 1:
            raise ValueError(f"{name}: beam_size must be at least 1, got {options.beam_size}")
        for which, token in (("silence", options.silence), ("blank", options.blank)):
            if not 0 <= token < options.tokens:
                raise IndexError(
                    f"{name}: {which} must be one of {options.tokens} tokens, got {token}"
                )
        self._options, self._settings, self._ask = options, kernels.Settings(tree, options), ask
        self._said: dict[tuple[int, int], tuple[int, float]] = {}
        in_one_loop = not (REFERENCE or options.log_add)
        self._compiled: kernels.Compiled | None = self._made() if in_one_loop else None
        self.frames: list[BeamFrame] = []
        self.begin(state)

    def begin(self, state: int = 0) -> None:
        """Be before the first frame again, with that state of the language model."""
        columns = (0.0, state, 0, self._options.silence, False, -1, -1)
        self.frames = [BeamFrame(*(np.array([each]) for each in columns))]
        if self._compiled is not None:
            self._compiled.begin()
        elif self._ask is None:
            self._said.clear()

    def advance(self, heard: Any, tried: Any = None) -> None:
        """Go on by some frames.

        Args:
            heard: scores of the tokens in each frame, ``[T, N]`` of float64.
            tried: the tokens of each frame that may follow, ``[T, N]`` of bool; all by default.
                Inside of a lexicon those that go on with a spelling.

        Raises ValueError for another number of tokens, and where a frame leaves no hypothesis: the
        frames before it stay.
        """
        heard = np.ascontiguousarray(heard, np.float64)
        tried = np.ones(heard.shape, bool) if tried is None else np.ascontiguousarray(tried, bool)
        if heard.ndim != 2 or heard.shape[1] != self._options.tokens or tried.shape != heard.shape:
            raise ValueError(
                f"{type(self).__name__}: heard and tried must be of shape "
                f"[T, {self._options.tokens}], got {list(heard.shape)} and {list(tried.shape)}"
            )
        self._add(self._following(heard, tried), len(heard))

    def finish(self, rows: Any, states: Any, scores: Any) -> None:
        """Let hypotheses of the last frame end: one more frame, of the best of them.

        Args:
            rows: ``[R]``, which ones; the others are dropped.
            states: ``[R]``, of the language model behind the end.
            scores: ``[R]``, logarithms of the probabilities of the end.

        Raises ValueError where none is left.
        """
        last = self.frames[-1]
        ended = kernels.Record(
            last.score[rows] + self._options.weight * np.asarray(scores, np.float64),
            np.asarray(states, np.int64),
            last.node[rows],
            np.full(len(rows), self._options.silence),
            np.zeros(len(rows), bool),
            np.asarray(rows, np.int64),
            np.full(len(rows), -1),
        )
        self._add([kernels.best_of(ended, self._settings)], 1)

    def path(self, row: int) -> tuple[list[int], list[int]]:
        """Tokens of a hypothesis of the last frame from before the first one on, and its words."""
        tokens, words = [], []
        for frame in reversed(self.frames):
            tokens.append(int(frame.token[row]))
            word = int(frame.word[row])
            if word >= 0:
                words.append(word)
            row = int(frame.parent[row])
        return tokens[::-1], words[::-1]

    def _add(self, records: list[kernels.Record], count: int) -> None:
        """Keep frames; ValueError where one of `count` leaves nothing."""
        left = [BeamFrame(*record) for record in records if len(record.score)]
        self.frames += left
        if len(left) < count:
            raise ValueError(
                f"frame {len(self.frames) - 1} of emissions leaves no hypothesis: its scores are "
                "NaN or minus infinity"
            )

    def _following(self, heard: Any, tried: Any) -> list[kernels.Record]:
        last = kernels.Record(*self.frames[-1])
        if self._compiled is not None:
            return self._compiled.run(last, heard, tried)
        found = []
        for frame in zip(heard, tried, strict=True):
            last = self._next(last, *frame)
            if not len(last.score):
                break
            found.append(last)
        return found

    def _made(self) -> kernels.Compiled | None:
        """The compiled loop, if there is one."""
        raise NotImplementedError("a subclass has a compiled loop")

    def _next(self, last: kernels.Record, heard: Any, tried: Any) -> kernels.Record:
        """The best hypotheses that follow those of a frame, without that loop."""
        raise NotImplementedError("a subclass says what may follow")

    def _answers(self, states: list[int], words: list[int]) -> Any:
        """What the language model says, each pair being asked for once; without one a number for
        each history of words, and no score."""
        said, pairs = self._said, list(zip(states, words, strict=True))
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in said]
        if missing and self._ask is None:
            said |= {pair: (number, 0.0) for number, pair in enumerate(missing, len(said) + 1)}
        elif missing:
            ask = cast(Ask, self._ask)
            answers = zip(*ask(*map(list, zip(*missing, strict=True))), strict=True)
            said.update(zip(missing, answers, strict=True))
        return zip(*map(said.__getitem__, pairs), strict=True)
