"""Enumerations of words, which compare without regard to case."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Any


class LightningEnum(StrEnum):
    """Members equal their values as strings, whatever the case.

    >>> class Mode(LightningEnum):
    ...     FAST = "fast"
    >>> Mode.FAST == "FAST", Mode.from_str("Fast") is Mode.FAST
    (True, True)
    """

    @classmethod
    def from_str(cls, value: str, source: str = "key") -> LightningEnum:
        """The member with this name or value. ValueError if there is none."""
        wanted = value.replace("-", "_").lower()
        for member in cls:
            known = {"key": [member.name], "value": [member.value]}
            words = known.get(source, [member.name, member.value])
            if wanted in [str(word).replace("-", "_").lower() for word in words]:
                return member
        raise ValueError(f"{cls.__name__}: {value!r}; expected one of {[m.name for m in cls]}")

    def __eq__(self, other: Any) -> bool:
        other = other.value if isinstance(other, Enum) else str(other)
        return self.value.lower() == other.lower()

    def __hash__(self) -> int:
        return hash(self.value.lower())


class GradClipAlgorithmType(LightningEnum):
    """How gradients are clipped."""

    VALUE = "value"
    NORM = "norm"

    @staticmethod
    def supported_type(value: str) -> bool:
        """Whether a word names a way to clip."""
        return any(member.value == value for member in GradClipAlgorithmType)

    @staticmethod
    def supported_types() -> list[str]:
        """The words that name a way to clip."""
        return [member.value for member in GradClipAlgorithmType]
