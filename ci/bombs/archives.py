"""Archives whose entries share their bytes or are compressed, and files of the old format."""

from __future__ import annotations

import pickle
import struct
import zipfile
import zlib

from bombs.assembler import archive, bomb, name, number, program, storage, tensor, text
from bombs.forms import sparse


def deflated(count: int, size: int) -> bytes:
    """An archive with a compressed storage that says how long it would be."""
    return archive(program(b"](", storage("ByteStorage", size) * count, b"e"), (b"\0" * size,),
                   zipfile.ZIP_DEFLATED)  # fmt: skip


@bomb("a deflated storage")
def _deflated() -> bytes:
    return deflated(1, 1 << 28)


@bomb("a deflated pickle")
def _deflated_pickle() -> bytes:
    return archive(program(b"N" * (1 << 27)), (), zipfile.ZIP_DEFLATED)


def directory(names, offset: int, size: int, checksum: int) -> bytes:
    """Entries of a zip directory for the same bytes."""
    return b"".join(
        b"PK\x01\x02"
        + struct.pack("<HHHHHHIIIHHHHHII", 20, 20, 0, 0, 0, 33, checksum, size, size, len(found),
                      0, 0, 0, 0, 0, offset) + found
        for found in names
    )  # fmt: skip


def handmade(pickled: bytes, content: bytes, names) -> bytes:
    """An archive whose entries beside the pickle all are the same bytes."""
    parts, rows = b"", b""
    for label, data in ((b"a/data.pkl", pickled), (b"a/data/0", content)):
        row = (zlib.crc32(data), len(data), len(data), len(label), 0)
        if label == b"a/data.pkl":
            rows = directory((label,), 0, len(data), row[0])
        else:
            rows += directory(names, len(parts), len(data), row[0])
        parts += b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, *row) + label + data
    count = min(len(names) + 1, 0xFFFF)
    long = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, len(names) + 1,
                                       len(names) + 1, len(rows), len(parts))  # fmt: skip
    long += b"PK\x06\x07" + struct.pack("<IQI", 0, len(parts) + len(rows), 1)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(rows), len(parts), 0)
    return parts + rows + long + b"PK\x05\x06" + end


@bomb("entries that share their bytes")
def _overlap() -> bytes:
    names = [b"a/data/%d" % k for k in range(3000)]
    made = b"".join(storage("ByteStorage", 1 << 18, k) for k in range(3000))
    return handmade(program(b"](", made, b"e"), b"\0" * (1 << 18), names)


@bomb("entries that share their bytes, declared short")
def _overlap_short() -> bytes:
    names = [b"a/data/%d" % k for k in range(3000)]
    made = b"".join(storage("ByteStorage", 1, k) for k in range(3000))
    return handmade(program(b"](", made, b"e"), b"\0" * (1 << 18), names)


@bomb("a directory of empty entries")
def _entries() -> bytes:
    return handmade(program(b"N"), b"", [b"%x" % k for k in range(230_000)])


@bomb("a directory of empty entries, and objects")
def _entries_and_objects() -> bytes:
    made = program(b"](", b"(" + b"N" * 100 + b"l", b"]" * 400_000 + b"l", b"e")
    return handmade(made, b"", [b"%x" % k for k in range(130_000)])


# ----------------------------------------------------------------------------------- the old format
def old(pickled: bytes, keys=(), storages: bytes = b"") -> bytes:
    """A file of the format from before PyTorch 1.6."""
    facts = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}
    head = b"".join(pickle.dumps(v, 2) for v in (0x1950A86A20F9469CFC6C, 1001, facts))
    return head + pickled + pickle.dumps(list(keys), 2) + storages


def _old_storage(kind: str, count: int, key: str) -> bytes:
    return (
        b"(" + text("storage") + name(f"torch.{kind}") + text(key) + text("cpu") + number(count)
        + b"NtQ"
    )  # fmt: skip


@bomb("old: storages without bytes")
def _old_large() -> bytes:
    return old(program(b"](", _old_storage("FloatStorage", 1 << 34, "1"), b"e"), ["1"])


@bomb("old: many storages without bytes")
def _old_many() -> bytes:
    made = b"".join(_old_storage("FloatStorage", 1 << 16, str(k)) for k in range(3000))
    return old(program(b"](", made, b"e"), map(str, range(3000)))


@bomb("old: COO with one index for all")
def _old_coo() -> bytes:
    index = tensor(_old_storage("LongStorage", 8, "1"), (2, 1 << 28), (0, 0))
    values = tensor(_old_storage("FloatStorage", 16, "2"), (1 << 28,), (0,))
    made = sparse("sparse_coo", index + values, (1 << 60, 1 << 60))
    stored = struct.pack("<q", 8) + b"\0" * 64 + struct.pack("<q", 16) + b"\0" * 64
    return old(program(made), ["1", "2"], stored)


@bomb("old: three pickles that each spend the budget")
def _old_budget() -> bytes:
    lists = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2)
    facts = b"\x80\x02}" + text("x") + b"(" + b"]" * 300_000 + b"ls."
    data = b"\x80\x02(" + b"]" * 300_000 + b"l."
    return lists + facts + data + b"\x80\x02(" + b"]" * 300_000 + b"l."
