"""What stubs have besides, or instead of, what can be seen of a class or function: by_hand.txt."""

from __future__ import annotations

import functools
import re
from pathlib import Path

_FILE = Path(__file__).with_name("by_hand.txt")


@functools.cache
def _table() -> dict[str, list[str]]:
    """Lines by the name of a class or function."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in _FILE.read_text().splitlines():
        if line.startswith("== "):
            lines = found.setdefault(line.removeprefix("== "), [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return found


def keys() -> list[str]:
    """The names of the classes and functions that the file describes."""
    return list(_table())


def lines_of(value) -> list[str]:
    """The lines of a class or a function; none where it is described by itself alone."""
    home, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
    return _table().get(f"{home}.{name}", [])


def names_of(lines: list[str]) -> set[str]:
    """What lines define: methods and attributes."""
    return {m[1] for line in lines if (m := re.match(r"(?:def )?(\w+)[(:]", line))}
