"""Which tokens may come next: an automaton over characters, walked by the bytes of tokens."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

import rushlight as rl
from rushlight_text.generation.grammar.automata import Automaton
from rushlight_text.generation.grammar.tokens import TokenBytes, token_bytes
from rushlight_text.tokenizers.pretrained import Tokenizer

__all__ = ["TokenIndex"]

# The automaton's state, and the bytes of a character that is not whole yet.
State = tuple[int, bytes]
START: State = (-1, b"")  # the automaton's first state, before any token
MOST_MASKS = 1024  # that are kept
_SURROGATES = (0xD800, 0xDFFF)


class _Node:
    """A node of a trie of bytes: what follows, and the ids that end here."""

    __slots__ = ("after", "ids")

    def __init__(self) -> None:
        self.after: dict[int, _Node] = {}
        self.ids: list[int] = []


def _trie(tokens: list[bytes]) -> _Node:
    root = _Node()
    for number, token in enumerate(tokens):
        if token:
            node = root
            for byte in token:
                node = node.after.setdefault(byte, _Node())
            node.ids.append(number)
    return root


class _Vocabulary:
    """The tokens of a tokenizer: made once for each."""

    made: weakref.WeakKeyDictionary[Tokenizer, _Vocabulary] = weakref.WeakKeyDictionary()

    def __init__(self, tokens: TokenBytes):
        self.first = _trie(tokens.first)
        self.later = self.first if tokens.later is tokens.first else _trie(tokens.later)

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> _Vocabulary:
        """The one that is known, if the tokenizer has not grown since."""
        found = cls.made.get(tokenizer)
        if found is None or found.size != len(tokenizer):
            found = cls(token_bytes(tokenizer))
            found.size = len(tokenizer)
            cls.made[tokenizer] = found
        return found

    size = 0


class TokenIndex:
    """The tokens that keep a text within a language, by state; each state is looked at once.

    Args:
        automaton: of the language.
        tokenizer: whose tokens are looked at; special tokens are never part of the text.

    Raises NotImplementedError where a tokenizer does not join tokens one behind the other.

    Example
    -------
    >>> from rushlight_text.generation.grammar import compile_pattern
    >>> from rushlight_text.tokenizers import train
    >>> tokenizer = train(["12 34"], vocab_size=260)
    >>> index = TokenIndex(compile_pattern("[0-9]{2}"), tokenizer)
    >>> tokenizer.encode("7")[0] in index.following(index.start)
    True
    """

    start = START

    def __init__(self, automaton: Automaton, tokenizer: Tokenizer):
        self.automaton, self.vocabulary = automaton, _Vocabulary.of(tokenizer)
        self._following: dict[State, dict[int, State]] = {}
        self._steps: dict[tuple[State, int], State | None] = {}
        self._hidden: dict[tuple[State, int, tuple[int, ...], str], rl.Tensor] = {}

    def accepts(self, state: State) -> bool:
        """Whether a text may end here."""
        return not state[1] and max(state[0], 0) in self.automaton.accepting

    def following(self, state: State) -> Mapping[int, State]:
        """The ids that may come next, and the state after each."""
        known = self._following.get(state)
        if known is None:
            known = {}
            root = self.vocabulary.first if state == START else self.vocabulary.later
            waiting = [(root, (max(state[0], 0), state[1]))]
            while waiting:
                node, here = waiting.pop()
                for id in node.ids:
                    known[id] = here
                for byte, child in node.after.items():
                    after = self._step(here, byte)
                    if after is not None:
                        waiting.append((child, after))
            self._following[state] = known
        return known

    def hidden(self, state: State, size: int, ends: tuple[int, ...], device: Any) -> rl.Tensor:
        """True at the ids ``[size]`` that may not come next; `ends` may where a text may end."""
        key = state, size, ends, str(device)
        if key not in self._hidden:
            if len(self._hidden) >= MOST_MASKS:
                self._hidden.clear()
            allowed = [*self.following(state), *(ends if self.accepts(state) else ())]
            allowed = [id for id in allowed if id < size]
            mask = rl.ones(size, dtype=rl.bool, device=device)
            mask[rl.tensor(allowed, dtype=rl.long, device=device)] = False
            self._hidden[key] = mask
        return self._hidden[key]

    def _step(self, state: State, byte: int) -> State | None:
        key = state, byte
        if key not in self._steps:
            self._steps[key] = self._stepped(state, byte)
        return self._steps[key]

    def _stepped(self, state: State, byte: int) -> State | None:
        """The state after one more byte of UTF-8, or None."""
        number, begun = state
        begun += bytes([byte])
        limits = _limits(begun)
        if limits is None:
            return None
        low, high = limits
        if low == high:
            after = self.automaton.step(number, low)
            return None if after is None else (after, b"")
        parts = [(low, min(high, _SURROGATES[0] - 1)), (max(low, _SURROGATES[1] + 1), high)]
        goes = any(a <= b and self.automaton.can_step(number, a, b) for a, b in parts)
        return (number, begun) if goes else None


# Bytes that follow the first one, its mark, and the least code point that is written so.
_LEADS = ((1, 0xC0, 0x80), (2, 0xE0, 0x800), (3, 0xF0, 0x10000))


def _limits(begun: bytes) -> tuple[int, int] | None:
    """The code points whose UTF-8 begins so; None where none does."""
    lead, rest = begun[0], begun[1:]
    if lead < 0x80:
        return (lead, lead)
    found = next((row for row in _LEADS if row[1] <= lead < row[1] + (0x40 >> row[0])), None)
    if found is None:
        return None
    size, mark, least = found
    if any(byte & 0xC0 != 0x80 for byte in rest):
        return None
    value = lead - mark
    for byte in rest:
        value = value << 6 | byte & 0x3F
    missing = 6 * (size - len(rest))
    low, high = value << missing, (value + 1 << missing) - 1
    low, high = max(low, least), min(high, 0x10FFFF)
    if low > high or (low == high and _SURROGATES[0] <= low <= _SURROGATES[1]):
        return None
    return low, high
