"""Rules that make words of a text alike before it is cut into tokens, and tell what they changed.

Special tokens: `xxbos` begins a text, `xxmaj` and `xxup` stand before words that were capitalized
or all capitals, `xxrep 4 c` is for `cccc`, `xxwrep 3 so` for `so so so`, `xxfld` begins a column,
`xxunk` is an unknown word, `xxpad` fills up, `xxeos` ends a text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from lightning_lite.easy.data.describing import announce

UNK, PAD, BOS, EOS, FLD = "xxunk", "xxpad", "xxbos", "xxeos", "xxfld"
TK_REP, TK_WREP, TK_UP, TK_MAJ = "xxrep", "xxwrep", "xxup", "xxmaj"
SPECIAL = [UNK, PAD, BOS, EOS, FLD, TK_REP, TK_WREP, TK_UP, TK_MAJ]

# What scraped texts leave of HTML, and of the markup of WikiText.
_LEFT_OVERS = {
    "#39;": "'", "amp;": "&", "#146;": "'", "nbsp;": " ", "#36;": "$", "\\n": "\n",
    "quot;": "'", "<br />": "\n", '\\"': '"', "<unk>": UNK, " @.@ ": ".", " @-@ ": "-",
    "...": " …",
}  # fmt: skip


@announce
def fix_html(x: str) -> str:
    """What is left over of HTML as the characters it stood for."""
    for left, meant in _LEFT_OVERS.items():
        x = x.replace(left, meant)
    return html.unescape(x)


@announce
def replace_rep(t: str) -> str:
    """A character three times or more: ``xxrep``, how often, the character.

    >>> replace_rep("sooo")
    's xxrep 3 o '
    """
    return re.sub(r"(\S)\1{2,}", lambda m: f" {TK_REP} {len(m[0])} {m[1]} ", t)


@announce
def replace_wrep(t: str) -> str:
    """A word three times or more: ``xxwrep``, how often, the word.

    >>> replace_wrep("so so so good")
    ' xxwrep 3 so  good'
    """
    found = re.compile(r"(?:^|\s)(\w+)((?:\s+\1){2,})(\s|\W|$)")
    return found.sub(lambda m: f" {TK_WREP} {len(m[2].split()) + 1} {m[1]} {m[3]}", t)


@announce
def spec_add_spaces(t: str) -> str:
    """Spaces around ``/``, ``#`` and the backslash."""
    return re.sub(r"([/#\\])", r" \1 ", t)


@announce
def rm_useless_spaces(t: str) -> str:
    """One space where there were several."""
    return re.sub(" {2,}", " ", t)


def _lowered(pattern: str, token: str) -> Callable[[str], str]:
    """A function that lowers what the second group finds, with a token before longer words."""
    compiled = re.compile(rf"(^|\s)({pattern})(?=\s|$)")

    def lower(found: re.Match[str]) -> str:
        before = f"{token} " if len(found[2]) > 1 else ""
        return f"{found[1]}{before}{found[2].lower()}"

    return lambda t: compiled.sub(lower, t)


_all_caps = _lowered(r"[A-Z]+[^a-z\s]*", TK_UP)
_capitalized = _lowered(r"[A-Z][^A-Z\s]*", TK_MAJ)


@announce
def replace_all_caps(t: str) -> str:
    """Words in capitals in lower case, after ``xxup`` if they are longer than a letter.

    >>> replace_all_caps("I AM here")
    'i xxup am here'
    """
    return _all_caps(t)


@announce
def replace_maj(t: str) -> str:
    """Capitalized words in lower case, after ``xxmaj`` if they are longer than a letter.

    >>> replace_maj("Hello A. world")
    'xxmaj hello xxmaj a. world'
    """
    return _capitalized(t)


@announce
def lowercase(t: str, add_bos: bool = True, add_eos: bool = False) -> str:
    """In lower case, with ``xxbos`` before and, if `add_eos`, ``xxeos`` behind."""
    return (f"{BOS} " if add_bos else "") + t.lower().strip() + (f" {EOS}" if add_eos else "")


RULES = [
    fix_html, replace_rep, replace_wrep, spec_add_spaces, rm_useless_spaces, replace_all_caps,
    replace_maj, lowercase,
]  # fmt: skip
