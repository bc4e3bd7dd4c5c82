"""N-gram language models in KenLM's binary files, read where they lie in the file (Heafield, KenLM:
faster and smaller language model queries, 2011). `_kenlm_tables.py` finds the n-grams."""

from __future__ import annotations

import math
import mmap
import os
import struct
from pathlib import Path

from rushlight_audio.models.decoder._kenlm_hash import murmur_hash
from rushlight_audio.models.decoder._kenlm_tables import (
    Area,
    Header,
    ProbingTables,
    Tables,
    TrieTables,
)
from rushlight_audio.models.decoder._language_model import Context, NGrams

__all__ = ["BINARY", "KenLMModel"]

BINARY = b"mmap lm http://kheafield.com/code"
VERSION = BINARY + b" format version 5\n"
# What a build on a little-endian machine writes behind the name: 0, 1 and -1/2 as float32, 1 and
# the greatest number of a word as uint32, padding, 1 as uint64.
SANITY = VERSION.ljust(56, b"\0") + struct.pack("<3f3IQ", 0.0, 1.0, -0.5, 1, 2**32 - 1, 0, 1)
FIXED = struct.Struct("<B3xfI?3xI")  # order, multiplier, kind, has words, version of the tables
ORDERS = range(2, 33)
MOST = 2**48  # n-grams of one order: sizes in bits stay exact and below 2**63
NO_EXTENSION = -0.0  # the backoff of an n-gram that no longer one begins with


class KenLMModel(NGrams):
    """A language model in a binary file as KenLM's `build_binary` writes it: `probing`, and `trie`
    with or without quantization (``-q``, ``-b``) and compressed pointers (``-a``).

    The file is mapped into memory and never read as a whole; it must not change meanwhile.

    Args:
        path: the file.

    Raises:
        ValueError: the file is damaged, of another version of the format, or from a big-endian
            machine. Damage behind the header is found when a score is asked for.
        NotImplementedError: the file was built with rest costs (``-r``).
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = str(path)
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            header = _header(file.read(len(SANITY) + FIXED.size + 8 * ORDERS[-1]), self.path)
            if header.end > size:
                raise self._damaged("it ends inside of its header")
            area = Area(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), self.path)
        self.order = len(header.counts)
        kind = ProbingTables if header.kind == 0 else TrieTables
        self._tables: Tables = kind(area, header)
        self._last: tuple[Context, list[float]] = ((), [])

    def _damaged(self, reason: str) -> ValueError:
        return ValueError(f"{self.path} is a damaged binary file of KenLM: {reason}")

    def number(self, word: str) -> int:
        """The number of a word; 0, that of unknown ones, if the model lacks it."""
        if word in ("<unk>", "<UNK>"):
            return 0
        return self._tables.number(murmur_hash(word.encode()))

    def score(self, context: Context, word: int) -> float:
        """The logarithm to base 10 of the probability of `word` behind `context`."""
        found, node = self._tables.unigram(word)
        total, length = found[0], 1
        for earlier in context[: -self.order : -1]:  # from the last word on, order - 1 of them
            if length == self.order - 1:
                longest = self._tables.longest(earlier, node)
                if longest is not None:
                    total, length = longest, length + 1
                break
            middle = self._tables.middle(length - 1, earlier, node)
            if middle is None:
                break
            (total, _), node = middle
            length += 1
        total += sum(self._backoffs(context)[length - 1 :])
        if math.isnan(total):
            raise self._damaged(f"the score of word {word} behind {context} is no number")
        return total

    def context(self, context: Context, word: int) -> Context:
        """What of `context` and `word` counts for the next word."""
        words = (*context, word)[1 - self.order :]
        backoffs = self._backoffs(words)
        longest = len(backoffs)
        while longest and _without_extension(backoffs[longest - 1]):
            longest -= 1
        return words[len(words) - longest :]

    def _backoffs(self, context: Context) -> list[float]:
        """What backing off costs from the last word of `context`, from the last two, and so on, as
        far as there are n-grams."""
        if self._last[0] == context and context:
            return self._last[1]  # the same for all words behind one context
        found: list[float] = []
        node = (0, 0)
        for length, word in enumerate(context[: -self.order : -1]):
            if length:
                middle = self._tables.middle(length - 1, word, node)
            else:
                middle = self._tables.unigram(word)
            if middle is None:
                break
            (_, backoff), node = middle
            found.append(backoff)
        self._last = (context, found)
        return found


def _without_extension(backoff: float) -> bool:
    return backoff == NO_EXTENSION and math.copysign(1.0, backoff) < 0


def _header(start: bytes, path: str) -> Header:
    """What the beginning of a file says; ValueError if it is none of this version."""
    if start.startswith(BINARY + b" incomplete"):
        raise ValueError(f"{path} is a binary file of KenLM whose building did not end")
    if not start.startswith(VERSION):
        version = start[len(BINARY) : len(BINARY) + 32].split(b"\n")[0].decode("ascii", "replace")
        raise ValueError(
            f"{path} is a binary file of KenLM of{version}; only format version 5 is read: build "
            "it anew from its ARPA file"
        )
    if not start.startswith(SANITY):
        raise ValueError(
            f"{path} is a binary file of KenLM from another kind of machine, or a damaged one: the "
            "numbers behind its name are not those of a little-endian machine"
        )
    damaged = f"{path} is a damaged binary file of KenLM: "
    if len(start) < len(SANITY) + FIXED.size:
        raise ValueError(damaged + "it ends inside of its header")
    order, multiplier, kind, _, version = FIXED.unpack_from(start, len(SANITY))
    if order not in ORDERS:
        raise ValueError(damaged + f"its order must be {ORDERS[0]} to {ORDERS[-1]}, got {order}")
    if kind > 5 or version != (0 if kind < 2 else 1):
        raise ValueError(damaged + f"there are no tables of kind {kind}, version {version}")
    if kind == 1:
        raise NotImplementedError(
            f"{path} is a binary file of KenLM with rest costs, which is not read: build it "
            "without the option -r"
        )
    if not 1.0 <= multiplier < 1e6:
        raise ValueError(damaged + f"its tables are {multiplier} times their entries in size")
    at = len(SANITY) + FIXED.size
    end = at + 8 * order
    if len(start) < end:
        raise ValueError(damaged + "it ends inside of its header")
    counts = struct.unpack_from(f"<{order}Q", start, at)
    if max(counts) > MOST or counts[0] >= 2**32:
        raise ValueError(damaged + f"it counts {max(counts)} n-grams of one order")
    return Header(kind, multiplier, counts, -(-end // 8) * 8)
