"""How BLEU cuts text into tokens, by the names of sacrebleu."""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Callable

__all__ = ["CUTTERS"]

# NIST's mteval-v13a, for text without language-specific rules.
_V13A = [
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
]
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def _13a(line: str) -> list[str]:
    line = line.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in line:
        for entity, character in _ENTITIES:
            line = line.replace(entity, character)
    line = f" {line} "
    for pattern, new in _V13A:
        line = pattern.sub(new, line)
    return line.split()


@functools.cache
def _classes() -> list[tuple[re.Pattern[str], str]]:
    """The rules of mteval-v14: punctuation beside other than digits, and symbols, stand alone."""
    kinds: dict[str, list[str]] = {"P": [], "S": []}
    for code in range(sys.maxunicode + 1):
        kind = unicodedata.category(chr(code))[0]
        if kind in kinds:
            kinds[kind].append(re.escape(chr(code)))
    marks, symbols = ("".join(kinds[kind]) for kind in "PS")
    return [
        (re.compile(rf"(\D)([{marks}])"), r"\1 \2 "),
        (re.compile(rf"([{marks}])(\D)"), r" \1 \2"),
        (re.compile(rf"([{symbols}])"), r" \1 "),
    ]


def _international(line: str) -> list[str]:
    for pattern, new in _classes():
        line = pattern.sub(new, line)
    return line.split()


def _characters(line: str) -> list[str]:
    return [letter for letter in line if not letter.isspace()]


CUTTERS: dict[str, Callable[[str], list[str]]] = {
    "13a": _13a,
    "intl": _international,
    "char": _characters,
    "none": str.split,
}
