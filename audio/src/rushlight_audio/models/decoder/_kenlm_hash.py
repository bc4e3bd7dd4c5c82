"""The hash of words in KenLM's binary files: MurmurHash64A (Appleby, 2008), seed 0."""

from __future__ import annotations

__all__ = ["murmur_hash"]

MULTIPLIER = 0xC6A4A7935BD1E995
MASK = 2**64 - 1
SHIFT = 47


def murmur_hash(data: bytes) -> int:
    """64 bits of `data`.

    >>> murmur_hash(b"") == 0
    True
    """
    found = len(data) * MULTIPLIER & MASK
    whole = len(data) & ~7
    for start in range(0, whole, 8):
        part = int.from_bytes(data[start : start + 8], "little") * MULTIPLIER & MASK
        part = (part ^ part >> SHIFT) * MULTIPLIER & MASK
        found = (found ^ part) * MULTIPLIER & MASK
    if whole < len(data):
        found = (found ^ int.from_bytes(data[whole:], "little")) * MULTIPLIER & MASK
    found = (found ^ found >> SHIFT) * MULTIPLIER & MASK
    return found ^ found >> SHIFT
