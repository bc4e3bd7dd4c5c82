"""The letters that stand for bytes in the tokens of byte-level BPE."""

from __future__ import annotations

import functools

__all__ = ["bytes_to_unicode"]


@functools.cache
def bytes_to_unicode() -> dict[int, str]:
    """A printable character for every byte, as GPT-2's tokens have it: the byte's own where that
    is printable in Latin-1, else the next from U+0100 on."""
    own = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1)]
    own += range(ord("®"), ord("ÿ") + 1)
    others = [byte for byte in range(256) if byte not in set(own)]
    table = {byte: chr(byte) for byte in own}
    return table | {byte: chr(256 + place) for place, byte in enumerate(others)}
