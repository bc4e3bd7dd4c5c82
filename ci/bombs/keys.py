"""Keys that are slow to hash or to compare."""

from __future__ import annotations

import functools
import random
import struct

from bombs.assembler import archive, bomb, get, name, number, program, put, real, text


def _with_keys(keys: bytes, uses: bytes) -> bytes:
    return archive(program(keys, uses))


@bomb("long tuples as keys")
def _long_keys() -> bytes:
    parts = b"".join(b"(" + b"N" * 400 + b"M" + struct.pack("<H", k) + b"t" + put(k)
                     for k in range(1000))  # fmt: skip
    sets = (b"}(" + b"".join(get(k) + b"N" for k in range(1000)) + b"u") * 300
    return _with_keys(parts, b"](" + sets + b"e")


@bomb("one long tuple as a key, again and again")
def _one_long_key() -> bytes:
    return _with_keys(b"(" + b"N" * 900 + b"t" + put(0), b"}" + (get(0) + b"Ns") * 300_000)


@bomb("two equal long texts as keys")
def _equal_texts() -> bytes:
    parts = text("k" * 1_000_000) + put(0) + text("k" * 1_000_000) + put(1)
    return _with_keys(parts, b"}" + get(0) + b"Ns" + (get(1) + b"Ns") * 300_000)


@bomb("two equal long bytes in sets")
def _equal_bytes() -> bytes:
    one = b"B" + struct.pack("<I", 1_000_000) + b"k" * 1_000_000
    return _with_keys(one + put(0) + one + put(1),
                      b"\x8f(" + get(0) + get(1) * 300_000 + b"\x90")  # fmt: skip


@bomb("tuples that hold long texts as keys")
def _texts_in_tuples() -> bytes:
    one = text("k" * 1_000_000) + b"\x85"
    return _with_keys(one + put(0) + one + put(1),
                      b"}" + get(0) + b"Ns" + (get(1) + b"Ns") * 300_000)  # fmt: skip


@bomb("complex keys with one hash")
def _complex_keys() -> bytes:
    make = name("builtins.complex") + put(0)
    keys = b"".join(
        get(0) + real(float(5 - 1000003 * k)) + real(float(k)) + b"\x86RN" for k in range(1, 30_000)
    )
    return archive(program(make, b"}(", keys, b"u"))


# The constants of CPython's hash of tuples (xxHash), and what undoes two of them.
_MASK = (1 << 64) - 1
_FIRST, _SECOND, _FIFTH = 11400714785074694791, 14029467366897019727, 2870177450012600261
_UNDO_FIRST, _UNDO_SECOND = pow(_FIRST, -1, 1 << 64), pow(_SECOND, -1, 1 << 64)


def _completed(first: int, target: int) -> int | None:
    """The second member of a pair of small numbers so that the pair's hash is `target`."""

    def rotated(value, by):
        return (value << by | value >> (64 - by)) & _MASK

    state = rotated(_FIFTH + first * _SECOND & _MASK, 31) * _FIRST & _MASK
    wanted = target - (2 ^ (_FIFTH ^ 3527539)) & _MASK
    wanted = rotated(wanted * _UNDO_FIRST & _MASK, 33)
    second = (wanted - state) * _UNDO_SECOND & _MASK
    return second if second < 1 << 60 else None


@functools.cache
def colliding_pairs(count: int) -> list[tuple[int, int]]:
    """Pairs of numbers below 2**60 that all have the same hash (CPython's xxHash of tuples)."""
    found: list[tuple[int, int]] = []
    first = 0
    while len(found) < count:
        first += 1
        second = _completed(first, 1 << 40)
        if second is not None:
            found.append((first, second))
    return found


def _pairs() -> bytes:
    return b"".join(number(a) + number(b) + b"\x86N" for a, b in colliding_pairs(60_000))


@bomb("pairs with one hash as keys")
def _pair_keys() -> bytes:
    return archive(program(b"}(", _pairs(), b"u"))


@bomb("pairs with one hash in a set")
def _pair_sets() -> bytes:
    pairs = b"".join(number(a) + number(b) + b"\x86" for a, b in colliding_pairs(60_000))
    return archive(program(b"\x8f(", pairs, b"\x90"))


@bomb("pairs with one hash, called into a set")
def _pair_calls() -> bytes:
    pairs = b"".join(number(a) + number(b) + b"\x86" for a, b in colliding_pairs(60_000))
    return archive(program(name("builtins.frozenset"), b"](", pairs, b"e\x85R"))


@bomb("pairs with one hash, added one by one")
def _pair_items() -> bytes:
    items = b"".join(number(a) + number(b) + b"\x86Ns" for a, b in colliding_pairs(60_000))
    return archive(program(b"}", items))


@bomb("frozensets with one hash as keys")
def _frozen_keys() -> bytes:
    one = b"(" + b"".join(number(k) for k in range(900)) + b"\x91" + put(0)
    return _with_keys(one, b"}" + (b"(" + get(0) * 900 + b"tNs") * 3000)


@bomb("colliding numbers")
def _numbers() -> bytes:
    keys = b"".join(number(k * ((1 << 61) - 1)) + b"N" for k in range(30_000))
    return archive(program(b"}(", keys, b"u"))


@bomb("duplicate keys")
def _duplicates() -> bytes:
    return archive(program(b"}(" + (text("k") + b"N") * 200_000 + b"u"))


# A dict of 2**18 slots looks for a key at slot ``hash & mask``, then at ``5 * slot + 1`` plus what
# is left of the hash, until that is used up: from there on all keys follow one path.
_SLOTS = 1 << 18


def _path(length: int) -> list[int]:
    """Slots in the order of the search, from 0 on."""
    found = [0]
    while len(found) < length:
        found.append((5 * found[-1] + 1) % _SLOTS)
    return found


def _end(key: int, taken: set[int]) -> int | None:
    """Where the search for a key joins the path, if all slots before are taken."""
    slot, rest = key % _SLOTS, key
    while rest:
        if slot not in taken:
            return None
        rest >>= 5
        slot = (5 * slot + rest + 1) % _SLOTS
    return slot


def slow_number(path: list[int]) -> int:
    """A number that a dict of the numbers of a path looks for along all of it, nearly."""
    taken, first = set(path), set(path[: len(path) // 10])
    chance = random.Random(0)
    while True:
        key = chance.getrandbits(59)
        if _end(key, taken) in first:
            return key


def _slow(fill: bytes, use: bytes) -> bytes:
    path = _path(150_000)
    one = number(slow_number(path)) + put(0)
    filling = b"".join(b"J" + struct.pack("<i", slot) + fill for slot in path)
    return archive(program(one, b"}(" + filling + b"u", use))


@bomb("a number on a long path, put again and again")
def _slow_numbers() -> bytes:
    return _slow(b"N", b"(" + (get(0) + b"N") * 200_000 + b"u")


@bomb("a number on a long path, put one by one")
def _slow_number() -> bytes:
    return _slow(b"N", (get(0) + b"Ns") * 200_000)


@bomb("places of the memo on a long path")
def _slow_places() -> bytes:
    high = 1 << 30
    path = [high + slot for slot in _path(150_000)]
    keeps = b"".join(b"r" + struct.pack("<I", slot) for slot in path)
    return archive(program(b"N", keeps, b"(", get(path[-1]) * 500_000, b"t"))
