"""Texts, numbers and containers that grow out of proportion."""

from __future__ import annotations

import struct

from bombs.assembler import archive, bomb, get, name, program, put, text


@bomb("texts from one wide character on")
def _wide() -> bytes:
    return archive(program(b"](", text("\U0001f600" + "a" * 1_000_000) * 20, b"e"))


@bomb("a text of many lines, escaped")
def _escaped() -> bytes:
    return archive(program(b"](", (b"V" + b"\\U0001f600" * 90 + b"\n") * 30_000, b"e"))


@bomb("numbers of thousand digits")
def _digits() -> bytes:
    return archive(program(b"](", (b"I" + b"9" * 1000 + b"\n") * 10_000, b"e"))


@bomb("a long number as a place in the memo")
def _memo() -> bytes:
    return archive(program(b"Np" + b"9" * 1000 + b"\n"))


@bomb("far places in the memo")
def _far_memo() -> bytes:
    return archive(program(b"N", b"".join(b"r" + struct.pack("<I", 1 << 31 | k)
                                          for k in range(300_000))))  # fmt: skip


@bomb("one value kept in places without end")
def _memoized() -> bytes:
    return archive(program(b"N", b"\x94" * 12_000_000))


@bomb("one list, lengthened by itself")
def _doubled() -> bytes:
    half = b"](" + b"N" * 100_000 + b"e" + put(0)
    return archive(program(half, b"](", (get(0)) * 400_000, b"e"))


@bomb("nested tuples")
def _deep() -> bytes:
    return archive(program(b")" + b"\x85" * 1_000_000))


@bomb("nested marks")
def _marks() -> bytes:
    return archive(program(b"(" * 1_000_000))


@bomb("empty sets")
def _sets() -> bytes:
    return archive(program(b"(" + b"\x8f" * 1_000_000 + b"t"))


@bomb("frozensets of nothing much")
def _frozen() -> bytes:
    return archive(program(b"(" + b"(N\x91" * 500_000 + b"t"))


@bomb("empty dicts by calls")
def _dicts() -> bytes:
    made = get(0) + b")R"
    return archive(program(name("collections.OrderedDict"), put(0), b"(", made * 200_000, b"t"))


@bomb("empty objects by NEWOBJ")
def _objects() -> bytes:
    made = get(0) + b")\x81"
    return archive(program(name("collections.Counter"), put(0), b"(", made * 200_000, b"t"))
