"""Every name that a restricted load allows, called thousands of times on large shared objects."""

from __future__ import annotations

import functools
import importlib
import itertools
import struct
from collections.abc import Callable, Iterator

from bombs.assembler import (
    MANY,
    archive,
    get,
    name,
    number,
    program,
    put,
    real,
    storage,
    tensor,
    text,
)

_HALF = 1 << 19  # bytes of a text
_SOME = 1 << 17  # members of a container


def _each(after: bytes = b"") -> bytes:
    """Numbers, each with something behind it."""
    return b"".join(b"J" + struct.pack("<i", k) + after for k in range(_SOME // 2))


def _nested() -> bytes:
    """Four levels of lists of the same thousand: 10**12 numbers in all."""
    parts = b"](" + real(1.0) * 1000 + b"e" + put(90)
    for level in range(91, 94):
        parts += b"](" + get(level - 1) * 1000 + b"e" + put(level)
    return parts + get(93)


SHARED: dict[str, bytes] = {
    "a list": b"](" + b"N" * _SOME + b"e",
    "a list of numbers": b"](" + _each() + b"e",
    "a tuple": b"(" + b"N" * _SOME + b"t",
    "a short tuple in a list": b"](" + (b"(" + b"N" * 900 + b"t") + b"e",
    "a set": b"\x8f(" + _each() + b"\x90",
    "a dict": b"}(" + _each(b"N") + b"u",
    "pairs": b"](" + _each(b"N\x86") + b"e",
    "a text": text("a" * _HALF),
    "a text beyond latin1": text("\u1234" * (_HALF // 3)),
    "bytes": b"B" + struct.pack("<I", _HALF) + b"a" * _HALF,
    "a bytearray": b"\x96" + struct.pack("<Q", _HALF) + b"a" * _HALF,
    "nested lists": _nested(),
    "a long number": b"\x8b" + struct.pack("<I", _HALF) + b"\x01" * _HALF,
    "2**33": number(1 << 33),
    "16384": number(16384),
    "10**6": number(10**6),
    "a tensor": tensor(storage("FloatStorage", 16), (16,), (1,)),
    "an expanded tensor": tensor(storage("FloatStorage", 16), (1 << 33,), (0,)),
    "an expanded index": tensor(storage("LongStorage", 8), (2, 1 << 30), (0, 0)),
    "a storage": storage("FloatStorage", 16),
}  # fmt: skip
_WAYS = {
    "": (b"\x85", b"R"),
    " twice": (b"2\x86", b"R"),
    " as latin1": (text("latin1") + b"\x86", b"R"),
    " three times": (b"22\x87", b"R"),
    " before a tensor": (get(2) + b"\x86", b"R"),
    " before two tensors": (get(2) + get(2) + b"\x87", b"R"),
    " by NEWOBJ": (b"\x85", b"\x81"),
    " by NEWOBJ_EX": (b"\x85}", b"\x92"),
}


def allowed_names() -> list[str]:
    """Every name that a restricted load finds."""
    safe_globals = importlib.import_module("rushlight.serialization.safe_globals")
    return sorted({f"{module}.{found}" for module, found in safe_globals.FIXED})


def _calls(called: str, label: str, arguments: bytes, how: bytes) -> bytes:
    """The results of calls of a name on one object, kept in a list."""
    once = get(0) + get(1) + arguments + how
    head = name(called) + put(0) + SHARED[label] + put(1) + SHARED["an expanded tensor"] + put(2)
    return archive(program(head, b"](", once * MANY, b"e"))


def every_call(names=None) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Calls of every name by every instruction that makes objects, on every shared object."""
    for called in allowed_names() if names is None else names:
        for label, (way, (arguments, how)) in itertools.product(SHARED, _WAYS.items()):
            yield (
                f"{called}: {label}{way}",
                functools.partial(_calls, called, label, arguments, how),
            )
