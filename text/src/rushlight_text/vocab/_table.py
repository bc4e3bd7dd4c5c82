"""Vocabularies: tokens to integer ids and back, with torchtext's names."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rushlight import nn

__all__ = ["Vocab", "build_vocab_from_iterator", "vocab"]


class Vocab(nn.Module):
    """A list of distinct tokens; the id of a token is its place.

    Calling it turns a list of tokens into their ids. A token that is not there has the default
    index, once :meth:`set_default_index` has named one; before, it is a RuntimeError.

    Args:
        tokens: distinct tokens in the order of their ids.
        default_index: the id of unknown tokens, or None.
    """

    def __init__(self, tokens: Sequence[str] = (), default_index: int | None = None):
        super().__init__()
        self._itos: list[str] = []
        self._stoi: dict[str, int] = {}
        self._default: int | None = None
        for token in tokens:
            self.append_token(token)
        self.set_default_index(default_index)

    @property
    def is_jitable(self) -> bool:
        """False: the table is a Python dict, whose lookups are not traced."""
        return False

    def forward(self, tokens: list[str]) -> list[int]:
        """The ids of a list of tokens; the same as :meth:`lookup_indices`."""
        return self.lookup_indices(tokens)

    def __len__(self) -> int:
        return len(self._itos)

    def __contains__(self, token: object) -> bool:
        return token in self._stoi

    def __getitem__(self, token: str) -> int:
        """The id of `token`, or the default index.

        Raises:
            TypeError: `token` is no string; the default index is for unknown strings only.
            RuntimeError: it is unknown and there is no default index.
        """
        if not isinstance(token, str):
            hint = "; decode it first" if isinstance(token, (bytes, bytearray)) else ""
            raise TypeError(f"Vocab: a token must be a string, not {type(token).__name__}{hint}")
        index = self._stoi.get(token, self._default)
        if index is None:
            raise RuntimeError(
                f"Token {token} not found and default index is not set; "
                "set_default_index() names the id of unknown tokens"
            )
        return index

    def set_default_index(self, index: int | None) -> None:
        """Name the id of unknown tokens; None takes it away."""
        if index is not None and (isinstance(index, bool) or not isinstance(index, int)):
            raise TypeError(
                "set_default_index(): argument 'index' must be an integer or None, "
                f"not {type(index).__name__}"
            )
        self._default = index

    def get_default_index(self) -> int | None:
        """The id of unknown tokens, or None."""
        return self._default

    def insert_token(self, token: str, index: int) -> None:
        """Put a new token at `index`; those from there on move up by one.

        Raises:
            RuntimeError: the token is there already, or `index` is outside 0 to the length.
        """
        if not isinstance(token, str):
            raise TypeError(f"insert_token(): a token must be a string, not {type(token).__name__}")
        if token in self._stoi:
            raise RuntimeError(
                f"Token {token} already exists in the Vocab with index {self[token]}"
            )
        if not 0 <= index <= len(self):
            raise RuntimeError(
                f"Specified index {index} is out of bounds for a Vocab of size {len(self)}"
            )
        self._itos.insert(index, token)
        for place in range(index, len(self._itos)):
            self._stoi[self._itos[place]] = place

    def append_token(self, token: str) -> None:
        """Put a new token at the end; RuntimeError when it is there already."""
        self.insert_token(token, len(self))

    def lookup_token(self, index: int) -> str:
        """The token of an id; RuntimeError when there is none."""
        if not 0 <= index < len(self):
            raise RuntimeError(
                f"Specified index {index} is out of bounds for a Vocab of size {len(self)}"
            )
        return self._itos[index]

    def lookup_tokens(self, indices: Iterable[int]) -> list[str]:
        """The tokens of several ids."""
        return [self.lookup_token(operator.index(index)) for index in indices]

    def lookup_indices(self, tokens: Iterable[str]) -> list[int]:
        """The ids of several tokens; a single string is refused, for it would be letters."""
        if isinstance(tokens, str):
            raise TypeError(
                "Vocab: argument 'tokens' must be a list of strings, not str; "
                f"tokenize first, or look one token up as vocab[{tokens!r}]"
            )
        return [self[token] for token in tokens]

    def get_stoi(self) -> dict[str, int]:
        """A copy of the table from token to id."""
        return dict(self._stoi)

    def get_itos(self) -> list[str]:
        """A copy of the list of tokens by id; ``Vocab(tokens)`` makes the vocabulary again."""
        return list(self._itos)

    def extra_repr(self) -> str:
        """Size and default index, for printing."""
        return f"{len(self)} tokens, default_index={self._default}"


def vocab(
    ordered_dict: Mapping[str, int],
    min_freq: int = 1,
    specials: Sequence[str] | None = None,
    special_first: bool = True,
) -> Vocab:
    """A vocabulary in the order of a table from token to frequency.

    Args:
        ordered_dict: tokens and their frequencies; tokens keep this order.
        min_freq: rarer tokens are left out.
        specials: tokens that are there in any case, in this order.
        special_first: put them first; else last.
    """
    special = _specials("vocab", specials)
    tokens = [
        token
        for token, frequency in ordered_dict.items()
        if frequency >= min_freq and token not in special
    ]
    return Vocab([*special, *tokens] if special_first else [*tokens, *special])


def build_vocab_from_iterator(
    iterator: Iterable[Iterable[str]],
    min_freq: int = 1,
    specials: Sequence[str] | None = None,
    special_first: bool = True,
    max_tokens: int | None = None,
) -> Vocab:
    """A vocabulary of the tokens in `iterator`, the most frequent first, equal ones by alphabet.

    Args:
        iterator: yields lists of tokens.
        min_freq: rarer tokens are left out.
        specials: tokens that are there in any case, in this order.
        special_first: put them first; else last.
        max_tokens: keep at most so many, specials included.

    Raises:
        TypeError: `iterator` yields strings, whose letters would become the tokens.
        ValueError: `max_tokens` has no room for more than the specials.
    """
    special = _specials("build_vocab_from_iterator", specials)
    counter: Counter[str] = Counter()
    for tokens in iterator:
        if isinstance(tokens, str):
            raise TypeError(
                "build_vocab_from_iterator(): argument 'iterator' must yield lists of tokens, "
                "not str; tokenize each line first"
            )
        counter.update(tokens)
    ranked = sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
    if max_tokens is not None:
        if max_tokens <= len(special):
            raise ValueError(
                f"build_vocab_from_iterator(): max_tokens must exceed the {len(special)} specials, "
                f"got {max_tokens}"
            )
        ranked = ranked[: max_tokens - len(special)]
    return vocab(dict(ranked), min_freq, special, special_first)


def _specials(op: str, specials: Sequence[str] | None) -> list[str]:
    if isinstance(specials, str):
        raise TypeError(f"{op}(): argument 'specials' must be a list of strings, not str")
    listed = list(specials or ())
    if len(set(listed)) != len(listed):
        raise ValueError(f"{op}(): 'specials' names a token twice: {listed}")
    return listed
