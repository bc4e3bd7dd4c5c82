"""The instructions that bombs are written in, and the register of their builders."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

MANY = 3000  # how often a bomb repeats what it does

BUILDERS: dict[str, Callable[[], bytes]] = {}


def bomb(label):
    """Registers a builder under what it builds."""

    def keep(function):
        BUILDERS[label] = function
        return function

    return keep


def text(value: str) -> bytes:
    """Pushes a text."""
    data = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def number(value: int) -> bytes:
    """Pushes a number."""
    if 0 <= value < 1 << 16:
        return b"M" + struct.pack("<H", value)
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def real(value: float) -> bytes:
    """Pushes a float."""
    return b"G" + struct.pack(">d", value)


def put(slot: int) -> bytes:
    """Keeps the value on top, and drops it."""
    return b"r" + struct.pack("<I", slot) + b"0"


def get(slot: int) -> bytes:
    """Pushes what was kept."""
    return b"j" + struct.pack("<I", slot)


def name(full: str) -> bytes:
    """Pushes the object behind a name."""
    module, _, attribute = full.rpartition(".")
    return f"c{module}\n{attribute}\n".encode()


def numbers(values) -> bytes:
    """Pushes a tuple of numbers."""
    return b"(" + b"".join(map(number, values)) + b"t"


def program(*parts: bytes) -> bytes:
    """A whole pickle of instructions."""
    return b"\x80\x02" + b"".join(parts) + b"."


def archive(data: bytes, storages=(b"\1" * 64,), method=zipfile.ZIP_STORED) -> bytes:
    """A checkpoint around a pickle."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        file.writestr("a/data.pkl", data)
        for key, storage in enumerate(storages):
            file.writestr(f"a/data/{key}", storage)
        file.writestr("a/version", "3\n")
    return buffer.getvalue()


def storage(kind: str, count: int, key: int = 0) -> bytes:
    """Pushes a storage."""
    return (
        b"(" + text("storage") + name(f"torch.{kind}") + text(str(key)) + text("cpu")
        + number(count) + b"tQ"
    )  # fmt: skip


def tensor(stored: bytes, size, stride, metadata: bytes = b"") -> bytes:
    """Pushes a tensor over a storage."""
    return (
        name("torch._utils._rebuild_tensor_v2") + b"(" + stored + number(0) + numbers(size)
        + numbers(stride) + b"\x89" + name("collections.OrderedDict") + b")R" + metadata + b"tR"
    )  # fmt: skip
