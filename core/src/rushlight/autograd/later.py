"""Modules of higher layers that this one and tensors need at rare moments.

The layers above say which module answers to which word; nothing is imported before it is asked for,
and this layer names none of them.
"""

from __future__ import annotations

import importlib

_homes: dict[str, str] = {}


def provide(**homes: str) -> None:
    """Say by which modules words are answered."""
    _homes.update(homes)


def later(word: str):
    """The module that answers to a word, imported at first need."""
    return importlib.import_module(_homes[word])
