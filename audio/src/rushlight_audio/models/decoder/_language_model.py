"""What a beam search asks of a language model: a state at the beginning, and the score and the next
state of a state and a token."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

__all__ = [
    "CTCDecoderLM",
    "CTCDecoderLMState",
    "Context",
    "NGrams",
    "Scorer",
    "UserScorer",
    "ZeroScorer",
]

Context = tuple[int, ...]


class CTCDecoderLMState:
    """What a language model remembers of the tokens before; two states are equal if they are the
    same object."""

    def __init__(self) -> None:
        self.children: dict[int, CTCDecoderLMState] = {}

    def child(self, usr_index: int) -> CTCDecoderLMState:
        """The state behind token `usr_index`, made at the first call: the same one each time."""
        found = self.children.get(usr_index)
        if found is None:
            found = self.children[usr_index] = CTCDecoderLMState()
        return found

    def compare(self, state: CTCDecoderLMState) -> int:
        """0 if `state` is this one, another number if not."""
        return 0 if self is state else (1 if id(self) > id(state) else -1)


class CTCDecoderLM:
    """A language model of your own: a class that has these three methods.

    Tokens are counted as in the dictionary of the decoder: words where there is a lexicon.
    """

    def start(self, start_with_nothing: bool) -> CTCDecoderLMState:
        """The state at the beginning of a sentence, or of nothing."""
        raise NotImplementedError("CTCDecoderLM: a subclass defines start")

    def score(
        self, state: CTCDecoderLMState, usr_token_idx: int
    ) -> tuple[CTCDecoderLMState, float]:
        """The state behind the token, and the logarithm of its probability."""
        raise NotImplementedError("CTCDecoderLM: a subclass defines score")

    def finish(self, state: CTCDecoderLMState) -> tuple[CTCDecoderLMState, float]:
        """The state behind the end of the sentence, and the logarithm of its probability."""
        raise NotImplementedError("CTCDecoderLM: a subclass defines finish")


class Scorer(Protocol):
    """A language model whose states are numbers, as the search keeps them in arrays. One that knows
    the scores of all tokens behind a state before the next states are made has `row`, too."""

    def start(self) -> int:
        """The state at the beginning."""

    def score(self, state: int, token: int) -> tuple[int, float]:
        """The next state and the score."""

    def finish(self, state: int) -> tuple[int, float]:
        """The state and the score of the end."""


class NGrams:
    """An n-gram language model: probabilities of words behind up to `order` - 1 others; logarithms
    to base 10."""

    order: int

    def number(self, word: str) -> int:
        """The number of a word; that of unknown ones if the model lacks it."""
        raise NotImplementedError("NGrams: a subclass defines number")

    def score(self, context: Context, word: int) -> float:
        """The logarithm to base 10 of the probability of `word` behind `context`."""
        raise NotImplementedError("NGrams: a subclass defines score")

    def context(self, context: Context, word: int) -> Context:
        """What of `context` and `word` counts for the next word."""
        raise NotImplementedError("NGrams: a subclass defines context")

    def sentence(self, words: Iterable[str]) -> float:
        """The logarithm to base 10 of the probability of a sentence with both its ends."""
        context = self.context((), self.number("<s>"))
        total = 0.0
        for word in (*words, "</s>"):
            number = self.number(word)
            total += self.score(context, number)
            context = self.context(context, number)
        return total


class ZeroScorer:
    """No language model: scores are 0. Searches tell histories apart themselves."""

    def start(self) -> int:
        """The empty history."""
        return 0

    def score(self, state: int, token: int) -> tuple[int, float]:
        """Nothing, behind any history."""
        return state, 0.0

    def finish(self, state: int) -> tuple[int, float]:
        """The same history."""
        return state, 0.0


class UserScorer:
    """A :class:`CTCDecoderLM` whose states have numbers; each pair is asked for once."""

    def __init__(self, model: CTCDecoderLM):
        self.model = model
        self._states: list[CTCDecoderLMState] = []
        self._numbers: dict[int, int] = {}
        self._scores: dict[tuple[int, int], tuple[int, float]] = {}

    def _number(self, state: CTCDecoderLMState) -> int:
        number = self._numbers.get(id(state))
        if number is None:
            number = self._numbers[id(state)] = len(self._states)
            self._states.append(state)  # keeps it alive: its identity is the key
        return number

    def start(self) -> int:
        """The model's first state."""
        return self._number(self.model.start(False))

    def score(self, state: int, token: int) -> tuple[int, float]:
        """What the model says."""
        key = (state, token)
        found = self._scores.get(key)
        if found is None:
            after, score = self.model.score(self._states[state], token)
            found = self._scores[key] = (self._number(after), float(score))
        return found

    def finish(self, state: int) -> tuple[int, float]:
        """What the model says of the end."""
        after, score = self.model.finish(self._states[state])
        return self._number(after), float(score)
