"""What effects work on, the table of them, and how their arguments are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import rushlight as rl

__all__ = ["EFFECTS", "Arguments", "Effect", "Sound", "effect"]


@dataclass(frozen=True)
class Sound:
    """Samples ``[C, T]`` float64, and their rate, which need not be an integer after `speed`."""

    samples: rl.Tensor
    rate: float

    def of(self, samples: rl.Tensor, rate: float | None = None) -> Sound:
        """Other samples of the same rate, or of another."""
        return replace(self, samples=samples, rate=self.rate if rate is None else rate)

    @property
    def length(self) -> int:
        """Samples of a channel."""
        return self.samples.shape[1]


@dataclass(frozen=True)
class Effect:
    """An effect: what it does, and SoX's line about its arguments."""

    apply: Callable[[Sound, Arguments], Sound]
    usage: str


EFFECTS: dict[str, Effect] = {}


def effect(
    name: str, usage: str = ""
) -> Callable[[Callable[[Sound, Arguments], Sound]], Callable[[Sound, Arguments], Sound]]:
    """Put a function into the table."""

    def add(
        function: Callable[[Sound, Arguments], Sound],
    ) -> Callable[[Sound, Arguments], Sound]:
        EFFECTS[name] = Effect(function, usage)
        return function

    return add


class Arguments:
    """The words behind an effect's name, read one by one.

    Every fault raises ValueError with the name, the word, and how the effect is called.
    """

    def __init__(self, name: str, words: list[str]):
        self._name, self._words = name, [str(word) for word in words]

    def fault(self, what: str) -> ValueError:
        """An error that says what is expected."""
        usage = f"{self._name} {EFFECTS[self._name].usage}".strip()
        return ValueError(f"effect {self._name!r}: {what}; it is called as: {usage}")

    def __bool__(self) -> bool:
        return bool(self._words)

    def __len__(self) -> int:
        return len(self._words)

    def peek(self) -> str | None:
        """The next word, which stays; None at the end."""
        return self._words[0] if self._words else None

    def word(self, what: str, default: str | None = None) -> str:
        """The next word."""
        if self._words:
            return self._words.pop(0)
        if default is None:
            raise self.fault(f"{what} is missing")
        return default

    def rest(self) -> list[str]:
        """All words that are left."""
        words, self._words = self._words, []
        return words

    def flags(self, known: str) -> set[str]:
        """Letters behind dashes at the beginning: ``-n``; a negative number is none."""
        found: set[str] = set()
        while self._words and re.fullmatch(r"-[A-Za-z]+", self._words[0]):
            letters = self._words.pop(0)[1:]
            unknown = set(letters) - set(known)
            if unknown:
                raise self.fault(f"the option -{sorted(unknown)[0]} is not there")
            found |= set(letters)
        return found

    def number(
        self,
        what: str,
        default: float | None = None,
        low: float = -float("inf"),
        high: float = float("inf"),
        suffix: str = "",
    ) -> float:
        """The next word as a number between two; ``k`` behind it is a thousand, where `suffix` has
        that letter."""
        if not self._words and default is not None:
            return default
        return self.as_number(self.word(what), what, low, high, suffix)

    def as_number(
        self,
        word: str,
        what: str,
        low: float = -float("inf"),
        high: float = float("inf"),
        suffix: str = "",
    ) -> float:
        """A word as a number between two."""
        scale = 1.0
        if suffix and word[-1:] in suffix:
            scale, word = (1000.0 if word[-1] == "k" else 1.0), word[:-1]
        try:
            value = float(word) * scale
        except ValueError:
            raise self.fault(f"{what} must be a number, got {word!r}") from None
        if not low <= value <= high:
            raise self.fault(f"{what} must be in [{low:g}, {high:g}], got {word!r}")
        return value

    def samples(self, word: str, rate: float, what: str = "a time") -> int:
        """A length of time as samples: ``1.5``, ``1:02.5``, ``2:00:00``, ``8000s``."""
        if re.fullmatch(r"\d+s", word):
            return int(word[:-1])
        if not re.fullmatch(r"(\d+:){0,2}\d*\.?\d*(t)?", word) or not re.search(r"\d", word):
            raise self.fault(f"{what} must be seconds, h:m:s or samples (8000s), got {word!r}")
        seconds = 0.0
        for part in word.rstrip("t").split(":"):
            seconds = 60 * seconds + float(part or 0)
        return int(seconds * rate + 0.5)

    def done(self) -> None:
        """ValueError for a word that is left."""
        if self._words:
            raise self.fault(f"{self._words[0]!r} is too much")
