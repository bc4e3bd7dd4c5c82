"""Small helpers, where torchtext's users look for them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import rushlight as rl
from rushlight_text.tokenizers.basic import get_tokenizer, ngrams_iterator

__all__ = [
    "RandomShuffler",
    "dtype_to_attr",
    "get_tokenizer",
    "get_torch_version",
    "interleave_keys",
    "is_tokenizer_serializable",
    "ngrams_iterator",
]

Item = TypeVar("Item")


def is_tokenizer_serializable(
    tokenizer: str | Callable[[str], list[str]] | None, language: str
) -> bool:
    """Whether a field with this tokenizer can be pickled: all but spaCy's."""
    return tokenizer != "spacy"


def interleave_keys(a: int, b: int) -> int:
    """The bits of two numbers of 16 bits in turn, those of `a` first: a key that sorts pairs by
    both lengths.

    >>> interleave_keys(3, 5)
    27
    """
    digits = zip(format(a, "016b"), format(b, "016b"), strict=False)
    return int("".join(high + low for high, low in digits), base=2)


def get_torch_version() -> tuple[int, int, int]:
    """Major, minor and patch number of rushlight."""
    major, minor, patch = rl.__version__.split("+")[0].split(".")[:3]
    return int(major), int(minor), int("".join(filter(str.isdigit, patch)) or 0)


def dtype_to_attr(dtype: rl.dtype) -> str:
    """The name of a dtype without its package.

    >>> dtype_to_attr(rl.int64)
    'int64'
    """
    return str(dtype).rpartition(".")[2]


class RandomShuffler:
    """Shuffle with a random state of its own, which goes on from call to call.

    Args:
        random_state: as of ``random.getstate()``; default: that of the moment.
    """

    def __init__(self, random_state: tuple | None = None):
        self._random_state = random.getstate() if random_state is None else random_state

    @contextlib.contextmanager
    def use_internal_state(self) -> Iterator[None]:
        """Python's global random state is the own one inside, and what it was after."""
        outer = random.getstate()
        random.setstate(self._random_state)
        try:
            yield
        finally:
            self._random_state = random.getstate()
            random.setstate(outer)

    @property
    def random_state(self) -> tuple:
        """The state, to go on from later."""
        return self._random_state

    @random_state.setter
    def random_state(self, s: tuple) -> None:
        self._random_state = s

    def __call__(self, data: Sequence[Item] | Any) -> list[Item]:
        """The items of `data` in random order."""
        with self.use_internal_state():
            return random.sample(data, len(data))
