"""The bytes that the tokens of a tokenizer stand for."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from rushlight_text.tokenizers.byte_letters import bytes_to_unicode
from rushlight_text.tokenizers.pretrained import SPECIAL_NAMES, Tokenizer

__all__ = ["TokenBytes", "token_bytes"]

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_TRIED = 200  # pairs of tokens whose text must be the text of both


@dataclass
class TokenBytes:
    """What each id adds to a text, as UTF-8; empty for special tokens.

    Attributes:
        first: at the beginning of the text, where some tokenizers drop a space.
        later: behind other ids.
    """

    first: list[bytes]
    later: list[bytes]


def token_bytes(tokenizer: Tokenizer) -> TokenBytes:
    """The bytes of all tokens.

    Raises NotImplementedError for a tokenizer that joins tokens in another way than one behind the
    other, such as those with ``</w>`` at the end of words.
    """
    if not isinstance(tokenizer, Tokenizer):
        raise NotImplementedError(
            f"token_bytes(): the tokens of a {type(tokenizer).__name__} are not known; "
            "use a Tokenizer"
        )
    backend = tokenizer.backend
    special = {getattr(tokenizer, f"{name}_id") for name in SPECIAL_NAMES}
    special |= {id for id, token in backend.get_added_tokens_decoder().items() if token.special}
    size = backend.get_vocab_size()
    names = [None if number in special else backend.id_to_token(number) for number in range(size)]
    kinds = _decoders(backend)
    if kinds == ["ByteLevel"]:
        back = {letter: byte for byte, letter in bytes_to_unicode().items()}
        rows = [_of_letters(name, back) for name in names]
        return TokenBytes(rows, rows)
    return _tried(tokenizer, names, "ByteFallback" in kinds)


def _decoders(backend: Any) -> list[str]:
    """The kinds of the steps that put tokens together."""
    whole = json.loads(backend.to_str())["decoder"]
    steps = whole["decoders"] if whole and whole["type"] == "Sequence" else [whole]
    return [step["type"] for step in steps if step]


def _of_letters(name: str | None, back: dict[str, int]) -> bytes:
    if name is None:
        return b""
    if all(letter in back for letter in name):
        return bytes(back[letter] for letter in name)
    return name.encode()  # added as it is


def _tried(tokenizer: Tokenizer, names: list[str | None], has_bytes: bool) -> TokenBytes:
    """By decoding each token alone, and behind another one."""
    known = [n for n, name in enumerate(names) if name and not (has_bytes and _BYTE.match(name))]
    anchor = next(
        (n for n in known if names[n] is not None and _text(tokenizer, [n]).strip().isalpha()), None
    )
    if anchor is None:
        raise NotImplementedError("token_bytes(): no token of the vocabulary is made of letters")
    before = _text(tokenizer, [anchor])
    first, later = [b""] * len(names), [b""] * len(names)
    for number, name in enumerate(names):
        byte = _BYTE.fullmatch(name or "") if has_bytes else None
        if byte is not None:
            first[number] = later[number] = bytes([int(byte[1], 16)])
        elif name:
            first[number] = _text(tokenizer, [number]).encode()
            both = _text(tokenizer, [anchor, number])
            _same(tokenizer, both[: len(before)], before)
            later[number] = both[len(before) :].encode()
    step = max(1, len(known) // _TRIED)
    for one, other in zip(known[::step], reversed(known[::step]), strict=True):
        joined = first[one] + later[other]
        _same(tokenizer, _text(tokenizer, [one, other]), joined.decode())
    return TokenBytes(first, later)


def _text(tokenizer: Tokenizer, ids: list[int]) -> str:
    return tokenizer.decode(ids, skip_special_tokens=True)


def _same(tokenizer: Tokenizer, found: str, expected: str) -> None:
    if found != expected:
        raise NotImplementedError(
            f"token_bytes(): {tokenizer} does not join tokens one behind the other ({expected!r} "
            f"becomes {found!r}); use a byte-level or a SentencePiece tokenizer"
        )
