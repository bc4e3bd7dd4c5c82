"""The two layouts of n-grams in KenLM's binary files, in place: hash tables with linear probing,
and a trie of reversed n-grams in packed bits.

In both a search begins at the unigram of the last word and goes on with the words before it, the
nearest first. All integers are little-endian. Every position is checked before it is read: a
damaged file gives an error.
"""

from __future__ import annotations

import bisect
import mmap
import struct
from typing import NamedTuple, Protocol

import numpy as np

__all__ = ["Area", "Header", "ProbingTables", "Tables", "TrieTables"]

MASK = 2**64 - 1
Weights = tuple[float, float]  # logarithms to base 10 of the probability and of the backoff
Node = tuple[int, int]  # where longer n-grams are found: a hash and 0, or a range of entries
FLOAT = struct.Struct("<f")
PAIR = struct.Struct("<2f")
WORD = struct.Struct("<QI")


class Header(NamedTuple):
    """What the header of a file says.

    `kind` is 0 for probing, 2 for a trie; 1 more of a trie says that weights are quantized, 2 more
    that pointers are compressed. `counts` are the n-grams of each order, `end` is
    where the header ends.
    """

    kind: int
    multiplier: float
    counts: tuple[int, ...]
    end: int


class Area:
    """The bytes of a file."""

    def __init__(self, memory: mmap.mmap, path: str):
        self.memory = memory
        self.path = path

    def damaged(self, reason: str) -> ValueError:
        """The error that says so."""
        return ValueError(f"{self.path} is a damaged binary file of KenLM: {reason}")

    def unpacked(self, form: struct.Struct, at: int) -> tuple[float, ...]:
        """The numbers at byte `at`."""
        if not 0 <= at <= len(self.memory) - form.size:
            raise self.damaged(f"it ends before byte {at + form.size}")
        return form.unpack_from(self.memory, at)

    def bits(self, at: int, offset: int, width: int) -> int:
        """The integer of `width` <= 57 bits, `offset` bits behind byte `at`."""
        first = at + (offset >> 3)
        return int.from_bytes(self.memory[first : first + 8], "little") >> (offset & 7) & (
            (1 << width) - 1
        )

    def expect(self, end: int) -> None:
        """The tables end at byte `end`, which must be there."""
        if end > len(self.memory):
            raise self.damaged(
                f"by its header it has {end} bytes at least, but it has {len(self.memory)}"
            )


class Tables(Protocol):
    """Where n-grams are found."""

    def number(self, hashed: int) -> int:
        """The number of the word with that hash; 0 if there is none."""

    def unigram(self, word: int) -> tuple[Weights, Node]:
        """Weights of a word, and where n-grams that end with it are."""

    def middle(self, level: int, word: int, node: Node) -> tuple[Weights, Node] | None:
        """Weights of the n-gram of order ``level + 2`` with `word` before those of `node`."""

    def longest(self, word: int, node: Node) -> float | None:
        """The same for the highest order, whose n-grams have no backoff."""


class HashTable(NamedTuple):
    """Entries of `width` bytes, a key of 64 bits first; an empty one has key 0."""

    area: Area
    start: int
    buckets: int
    width: int

    def find(self, key: int) -> int | None:
        """The byte where the entry with `key` begins."""
        at = key % self.buckets
        memory, wanted = self.area.memory, key.to_bytes(8, "little")
        for _ in range(self.buckets):
            begin = self.start + at * self.width
            found = memory[begin : begin + 8]
            if found == wanted:
                return begin
            if not any(found):
                return None
            at = at + 1 if at + 1 < self.buckets else 0
        raise self.area.damaged("a hash table has no empty entry")


class ProbingTables:
    """A hash table for the words, the unigrams, a hash table for each higher order."""

    def __init__(self, area: Area, header: Header):
        self.area, self.counts = area, header.counts
        widths = [16] * (len(header.counts) - 2) + [12]  # the longest have no backoff
        words = self._table(header.end + 8, header.counts[0], 12, header.multiplier)
        self.words, self.unigrams = words, words.start + words.buckets * 12
        at = self.unigrams + 8 * (header.counts[0] + 1)
        self.tables: list[HashTable] = []
        for count, width in zip(header.counts[1:], widths, strict=True):
            table = self._table(at, count, width, header.multiplier)
            self.tables.append(table)
            at += table.buckets * width
        area.expect(at)
        version, self.bound = area.unpacked(struct.Struct("<II"), header.end)
        if version != 0 or self.bound > header.counts[0] + 1:
            raise area.damaged(f"its vocabulary has version {version} and {self.bound} words")

    def _table(self, start: int, count: int, width: int, multiplier: float) -> HashTable:
        # In float32, as the builder computes it.
        scaled = int(np.float32(multiplier) * np.float32(count))
        return HashTable(self.area, start, max(count + 1, scaled), width)

    def number(self, hashed: int) -> int:
        """See :class:`Tables`."""
        at = self.words.find(hashed) if hashed else None
        return 0 if at is None else int(self.area.unpacked(WORD, at)[1])

    def unigram(self, word: int) -> tuple[Weights, Node]:
        """See :class:`Tables`."""
        if not 0 <= word <= self.counts[0]:
            raise self.area.damaged(f"there is no word of number {word}")
        return self._weights(self.unigrams + 8 * word), (word, 0)

    def _weights(self, at: int) -> Weights:
        probability, backoff = self.area.unpacked(PAIR, at)
        return -abs(probability), backoff  # the sign says whether longer n-grams end with this one

    def middle(self, level: int, word: int, node: Node) -> tuple[Weights, Node] | None:
        """See :class:`Tables`."""
        key = _combined(node[0], word)
        at = self.tables[level].find(key)
        return None if at is None else (self._weights(at + 8), (key, 0))

    def longest(self, word: int, node: Node) -> float | None:
        """See :class:`Tables`."""
        at = self.tables[-1].find(_combined(node[0], word))
        return None if at is None else -abs(self.area.unpacked(FLOAT, at + 8)[0])


def _combined(node: int, word: int) -> int:
    """The key of an n-gram with one word more; the constants are the format's."""
    return (node * 8978948897894561157 & MASK) ^ ((1 + word) * 17894857484156487943 & MASK)


class Level(NamedTuple):
    """N-grams of one order in a trie: entries of `bits` bits, the word first (`word_bits`), the
    pointer to the next order last (`pointer_bits`). `quantized` are the tables of probabilities and
    backoffs; `high` says from which entry on pointers have a greater high part."""

    start: int
    entries: int
    bits: int
    word_bits: int
    pointer_bits: int
    quantized: list[np.ndarray]
    high: list[int] | np.ndarray


class TrieTables:
    """Sorted hashes of the words; the unigrams; a level for each higher order."""

    def __init__(self, area: Area, header: Header):
        self.area, counts = area, header.counts
        self.counts = counts
        self.quantized, self.compressed = header.kind in (3, 5), header.kind in (4, 5)
        at = header.end + 8 + 8 * counts[0]
        area.expect(at)
        (known,) = area.unpacked(struct.Struct("<Q"), header.end)
        if known > counts[0]:
            raise area.damaged(f"it has {known} hashes of {counts[0]} words")
        self.hashes = np.frombuffer(area.memory, "<u8", int(known), header.end + 8)
        bins, at = self._bins(at)
        self.unigrams = at
        at += 16 * (counts[0] + 2)
        area.expect(at)
        chop = self._chop(at) if self.compressed and len(counts) > 2 else 0
        self.levels: list[Level] = []
        for level, count in enumerate(counts[1:]):
            after = counts[level + 2] if level + 2 < len(counts) else None
            made, at = self._level(at, count, after, bins[level] if bins else [], chop)
            self.levels.append(made)
        area.expect(at)

    def _bins(self, at: int) -> tuple[list[list[np.ndarray]], int]:
        """Tables of quantized weights of each level, and where they end."""
        if not self.quantized:
            return [], at
        self.area.expect(at + 8)
        version, probability, backoff = self.area.memory[at : at + 3]
        if version != 2 or not (1 <= probability <= 25 and 1 <= backoff <= 25):
            raise self.area.damaged(
                f"weights are quantized by version {version} to {probability} and {backoff} bits"
            )
        at += 8
        found: list[list[np.ndarray]] = []
        for level in range(len(self.counts) - 1):
            sizes = [probability, backoff] if level < len(self.counts) - 2 else [probability]
            found.append([])
            for size in sizes:
                self.area.expect(at + (4 << size))
                found[-1].append(np.frombuffer(self.area.memory, "<f4", 1 << size, at))
                at += 4 << size
        return found, at

    def _chop(self, at: int) -> int:
        """The most bits that the tables of compressed pointers take."""
        self.area.expect(at + 2)
        version, bits = self.area.memory[at : at + 2]
        if version != 0:
            raise self.area.damaged(f"pointers are compressed by version {version}")
        return bits

    def _level(
        self, at: int, count: int, after: int | None, bins: list[np.ndarray], chop: int
    ) -> tuple[Level, int]:
        """A level that begins at byte `at`, and where it ends; `after` counts the next one."""
        word_bits = self.counts[0].bit_length()
        high: list[int] | np.ndarray = []
        pointer_bits = 0 if after is None else after.bit_length()
        if after is not None and self.compressed:
            chopped = _chopped(count + 1, after, chop)
            size = (after >> (pointer_bits - chopped)) + 1
            aligned = -(-at // 8) * 8 + 8
            self.area.expect(aligned + 8 * size)
            high = np.frombuffer(self.area.memory, "<u8", size, aligned)
            pointer_bits -= chopped
            at += 8 * (1 + size) + 7
        if bins:
            weight_bits = sum(len(each).bit_length() - 1 for each in bins)
        else:
            weight_bits = 31 if after is None else 63
        bits = word_bits + weight_bits + pointer_bits
        end = at + ((1 + count) * bits + 7) // 8 + 8
        return Level(at, count, bits, word_bits, pointer_bits, bins, high), end

    def number(self, hashed: int) -> int:
        """See :class:`Tables`."""
        at = int(np.searchsorted(self.hashes, np.uint64(hashed)))
        return at + 1 if at < len(self.hashes) and int(self.hashes[at]) == hashed else 0

    def unigram(self, word: int) -> tuple[Weights, Node]:
        """See :class:`Tables`."""
        if not 0 <= word <= self.counts[0]:
            raise self.area.damaged(f"there is no word of number {word}")
        at = self.unigrams + 16 * word
        form = struct.Struct("<2fQ8xQ")
        probability, backoff, begin, end = self.area.unpacked(form, at)
        return (probability, backoff), (int(begin), int(end))

    def _find(self, level: Level, word: int, node: Node) -> int | None:
        """The entry of `word` in the range `node`, whose words are sorted."""
        begin, end = node
        if not begin <= end <= level.entries:
            raise self.area.damaged(f"n-grams {begin} to {end} of {level.entries} follow")
        key = _Words(self.area, level)
        at = bisect.bisect_left(key, word, begin, end)
        return at if at < end and key[at] == word else None

    def middle(self, level: int, word: int, node: Node) -> tuple[Weights, Node] | None:
        """See :class:`Tables`."""
        own = self.levels[level]
        entry = self._find(own, word, node)
        if entry is None:
            return None
        area, at = self.area, entry * own.bits + own.word_bits
        if own.quantized:
            probabilities, backoffs = own.quantized
            width = len(backoffs).bit_length() - 1
            backoff = float(backoffs[area.bits(own.start, at, width)])
            more = len(probabilities).bit_length() - 1
            probability = float(probabilities[area.bits(own.start, at + width, more)])
        else:
            probability = _negative(area.bits(own.start, at, 31))
            backoff = FLOAT.unpack(area.bits(own.start, at + 31, 32).to_bytes(4, "little"))[0]
        return (probability, backoff), (self._pointer(own, entry), self._pointer(own, entry + 1))

    def _pointer(self, level: Level, entry: int) -> int:
        """Where the n-grams that go on from an entry begin in the next level."""
        at = (entry + 1) * level.bits - level.pointer_bits
        low = self.area.bits(level.start, at, level.pointer_bits)
        if not len(level.high):
            return low
        high = int(np.searchsorted(level.high, np.uint64(entry), side="right")) - 1
        return max(high, 0) << level.pointer_bits | low

    def longest(self, word: int, node: Node) -> float | None:
        """See :class:`Tables`."""
        own = self.levels[-1]
        entry = self._find(own, word, node)
        if entry is None:
            return None
        at = entry * own.bits + own.word_bits
        if own.quantized:
            width = len(own.quantized[0]).bit_length() - 1
            return float(own.quantized[0][self.area.bits(own.start, at, width)])
        return _negative(self.area.bits(own.start, at, 31))


class _Words:
    """The words of a level's entries, as :mod:`bisect` asks for them."""

    def __init__(self, area: Area, level: Level):
        self.area, self.level = area, level

    def __len__(self) -> int:
        return self.level.entries

    def __getitem__(self, entry: int) -> int:
        level = self.level
        return self.area.bits(level.start, entry * level.bits, level.word_bits)


def _negative(bits: int) -> float:
    """A float32 without its sign, which is minus."""
    return float(FLOAT.unpack((bits | 1 << 31).to_bytes(4, "little"))[0])


def _chopped(entries: int, after: int, most: int) -> int:
    """How many bits of pointers to `after` n-grams go into a table: as many as make the file the
    smallest, the fewest of those."""
    required = after.bit_length()
    costs = [
        64 * (after >> (required - chop)) - entries * chop
        for chop in range(min(required, most) + 1)
    ]
    return costs.index(min(costs))
