"""Classes that are named as PyTorch's while PyTorch's names are installed, and where they stand."""

from __future__ import annotations

RENAMED: dict[type, str] = {}  # class -> the module that defines it, while it bears another's name


def home_of(kind) -> str:
    """The module that defines a class or a function, whatever name it bears.

    >>> home_of(rushlight.nn.Linear)
    'rushlight.nn.linear'
    """
    if isinstance(kind, type) and kind in RENAMED:
        return RENAMED[kind]
    return kind.__module__ or ""
