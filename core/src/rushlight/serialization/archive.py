"""The zip archive of a checkpoint, read by its directory: offsets are checked, nothing is copied.

Entries of checkpoints are stored, not compressed, so no entry can be larger than the file. The
format is PKWARE's APPNOTE 6.3, with its 64-bit extension.
"""

from __future__ import annotations

import io
import os
import struct
import sys
import threading
import zlib

from rushlight.kernels.copying import checksum as sums
from rushlight.machine import np

_END, _END64, _LOCATOR64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_PARALLEL = 8 << 20  # bytes from which on an entry is read by several threads
_PIECE = 4 << 20
_ENTRY = 310  # bytes of an entry's objects: its name, its place, its numbers, in a dict that grows
_LONGEST_ORDER = 16


class Damaged(Exception):
    """What is wrong with a file; the caller adds its name."""


class Entry:
    """Where one entry's bytes are."""

    __slots__ = ("checksum", "method", "offset", "packed", "size")

    def __init__(self, offset, size, packed, checksum, method):
        self.offset, self.size, self.packed = offset, size, packed
        self.checksum, self.method = checksum, method


class Archive:
    """The entries of a checkpoint by their names under its one folder; of a TorchScript program
    where that is what is asked for."""

    def __init__(self, file, budget, program=False):
        self.file, self.lock, self.budget = file, threading.Lock(), budget
        self.size = file.seek(0, os.SEEK_END)
        try:
            self.descriptor = file.fileno() if isinstance(file, io.BufferedReader) else None
        except (OSError, AttributeError):
            self.descriptor = None
        self.entries = self._directory()
        heads = [n for n in self.entries if n.endswith("/data.pkl") and n.count("/") == 1]
        if len(heads) != 1:
            raise Damaged("it is a zip file but no checkpoint: it has no data.pkl")
        self.folder = heads[0][: -len("data.pkl")]
        if (self.folder + "constants.pkl" in self.entries) is not program:
            if program:
                raise Damaged("it is a checkpoint and holds no program; use rushlight.load")
            raise Damaged("it holds a TorchScript program; read it with rushlight.jit.load")
        self.swap, self._mapping = False, None
        if self.folder + "byteorder" in self.entries:
            if self.entry("byteorder").size > _LONGEST_ORDER:
                raise Damaged(f"its byte order has {self.entry('byteorder').size} bytes")
            order = bytes(self.read("byteorder")).decode("ascii", "replace")
            if order not in ("little", "big"):
                raise Damaged(f"its byte order is {order[:20]!r}")
            self.swap = order != sys.byteorder

    # ---------------------------------------------------------------------------------- directory
    def _at(self, offset, count):
        if offset < 0 or offset + count > self.size:
            raise Damaged("its directory points outside of the file")
        self.file.seek(offset)
        data = self.file.read(count)
        if len(data) != count:
            raise Damaged("it ends early")
        return data

    def _end(self):
        """Position of the end record, number of entries, size and offset of the directory."""
        tail = min(self.size, 65_557)
        data = self._at(self.size - tail, tail)
        found = data.rfind(_END)
        if found < 0 or found + 22 > len(data):
            raise Damaged("it has no zip directory: not a checkpoint, or cut off")
        position = self.size - tail + found
        count, size, offset = struct.unpack("<HII", data[found + 10 : found + 20])
        if found >= 20 and data[found - 20 : found - 16] == _LOCATOR64:
            position = struct.unpack("<Q", data[found - 12 : found - 4])[0]
            record = self._at(position, 56)
            if record[:4] != _END64:
                raise Damaged("its 64-bit zip directory is missing")
            count, size, offset = struct.unpack("<QQQ", record[32:56])
        return position, count, size, offset

    def _directory(self):
        position, count, size, offset = self._end()
        base = position - size - offset  # what precedes the archive in the file
        if base < 0 or count * 46 > size:
            raise Damaged("its zip directory does not fit into the file")
        if count * _ENTRY + size > self.budget.left:
            raise Damaged(f"its directory lists {count} entries, too many for its size")
        self.budget.charge(count * _ENTRY)
        with self.budget.passing(size):
            return self._entries(self._at(position - size, size), count, size, base)

    def _entries(self, data, count, size, base):
        """The entries of a directory of `size` bytes."""
        entries, at, total = {}, 0, 0
        for _ in range(count):
            if data[at : at + 4] != b"PK\x01\x02" or at + 46 > size:
                raise Damaged("its zip directory is damaged")
            flags, method = struct.unpack_from("<HH", data, at + 8)
            checksum, packed, plain, name_size, extra_size, note_size = struct.unpack_from(
                "<IIIHHH", data, at + 16
            )
            start = struct.unpack_from("<I", data, at + 42)[0]
            name = data[at + 46 : at + 46 + name_size].decode("utf-8", "replace")
            extra = data[at + 46 + name_size : at + 46 + name_size + extra_size]
            plain, packed, start = _wide(extra, plain, packed, start)
            if name in entries:
                raise Damaged(f"it has two entries {name[:80]!r}")
            if flags & 1:
                raise Damaged(f"entry {name[:80]!r} is encrypted")
            if method == 0 and plain != packed:
                raise Damaged(f"entry {name[:80]!r} has two sizes")
            total += packed
            entries[name] = Entry(base + start, plain, packed, checksum, method)
            at += 46 + name_size + extra_size + note_size
        if total > self.size:
            raise Damaged("its entries overlap: they are larger than the file together")
        return entries

    def entry(self, name):
        """The entry of a name under the archive's folder, which must be stored as it is."""
        found = self.entries.get(self.folder + name)
        if found is None:
            raise Damaged(f"entry {name[:80]} is missing")
        if found.method != 0:
            raise Damaged(f"entry {name[:80]} is compressed, which checkpoints never are")
        return found

    def start(self, name):
        """Where the bytes of an entry begin."""
        found = self.entry(name)
        return self._first_byte(name, found, found.size)

    def _first_byte(self, name, found, count):
        """Where the `count` bytes of an entry begin."""
        with self.lock:
            header = self._at(found.offset, 30)
        if header[:4] != b"PK\x03\x04":
            raise Damaged(f"entry {name[:80]} is not where the directory says")
        name_size, extra_size = struct.unpack_from("<HH", header, 26)
        start = found.offset + 30 + name_size + extra_size
        if start + count > self.size:
            raise Damaged(f"entry {name[:80]} ends early")
        return start

    # ---------------------------------------------------------------------------------- contents
    def read_into(self, offset, target):
        """Fill a memoryview from a position in the file."""
        done = 0
        if self.descriptor is not None:
            while done < len(target):
                got = os.preadv(self.descriptor, [target[done:]], offset + done)
                if not got:
                    raise Damaged("it ends early")
                done += got
            return
        with self.lock:
            self.file.seek(offset)
            while done < len(target):
                got = _read_some(self.file, target[done:])
                if not got:
                    raise Damaged("it ends early")
                done += got

    def _checked(self, offset, target):
        """Fill a piece; its checksum."""
        checksum = 0
        for at in range(0, len(target), 1 << 20):  # while the bytes are in the cache
            piece = target[at : at + (1 << 20)]
            self.read_into(offset + at, piece)
            checksum = zlib.crc32(piece, checksum)
        return checksum

    def fill(self, name, target):
        """The first ``len(target)`` bytes of an entry; all of it is checked."""
        entry, start = self.entry(name), self.start(name)
        size = len(target)
        checksum = None
        if self.descriptor is not None and sums.compiled(size, self.size):
            checksum = sums.read(self.descriptor, start, target)
        if checksum is None:
            parallel = size >= _PARALLEL and self.descriptor is not None
            checksum = (self._fill_parallel if parallel else self._checked)(start, target)
        scratch = memoryview(bytearray(min(entry.size - size, 1 << 20)))
        for at in range(size, entry.size, 1 << 20):
            piece = scratch[: min(entry.size - at, 1 << 20)]
            self.read_into(start + at, piece)
            checksum = zlib.crc32(piece, checksum)
        if checksum != entry.checksum:
            raise Damaged(f"the checksum of entry {name[:80]} is wrong")

    def _fill_parallel(self, start, target):
        from concurrent.futures import ThreadPoolExecutor

        starts = range(0, len(target), _PIECE)
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            found = pool.map(lambda at: self._checked(start + at, target[at : at + _PIECE]), starts)
            checksum = 0
            for at, piece in zip(starts, found, strict=True):
                checksum = sums.combine(checksum, piece, min(_PIECE, len(target) - at))
        return checksum

    def read(self, name):
        """All bytes of a small entry, checked."""
        data = bytearray(self.entry(name).size)
        self.fill(name, memoryview(data))
        return data

    def unpacked(self, name, most):
        """All bytes of a small entry, compressed or not: at most `most`."""
        found = self.entries.get(self.folder + name)
        if found is None or found.method == 0:
            found = self.entry(name)
            if found.size > most:
                raise Damaged(f"entry {name[:80]} has {found.size} bytes, at most {most} may be")
            return bytes(self.read(name))
        if found.method != zlib.DEFLATED:
            raise Damaged(f"entry {name[:80]} is compressed in an unknown way")
        packed = memoryview(bytearray(found.packed))
        self.read_into(self._first_byte(name, found, found.packed), packed)
        try:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most + 1)
        except zlib.error as error:
            raise Damaged(f"entry {name[:80]} cannot be unpacked: {error}") from None
        if len(data) > most:
            raise Damaged(f"entry {name[:80]} has more than {most} bytes")
        if zlib.crc32(data) != found.checksum:
            raise Damaged(f"the checksum of entry {name[:80]} is wrong")
        return data

    def check(self, name):
        """Compare the checksum of an entry, without keeping its bytes."""
        self.fill(name, memoryview(bytearray(0)))

    def check_all(self):
        """Compare the checksums of all entries."""
        for name in self.entries:
            self.check(name.removeprefix(self.folder))

    def stream(self, name):
        """An entry as a binary file."""
        return io.BufferedReader(_Stream(self, self.start(name), self.entry(name).size), 1 << 16)

    def map(self, name, count):
        """The first `count` bytes of an entry in place: read from the file when touched.

        One mapping serves all entries: a process may have some 65,000, and one that begins where
        the file does can be backed by huge pages.
        """
        start = self.start(name)
        if not count:
            return np.empty(0, np.uint8)
        if self._mapping is None:
            self._mapping = np.asarray(np.memmap(self.file, np.uint8, "c"))
        if start + count > self._mapping.size:
            raise Damaged(f"{name[:80]} ends beyond the file")
        return self._mapping[start : start + count]


def _wide(extra, plain, packed, start):
    """Sizes and offset, from the 64-bit field where the short ones are full."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            field = extra[at + 4 : at + 4 + size]
            numbers = list(struct.unpack(f"<{len(field) // 8}Q", field[: len(field) // 8 * 8]))
            full = [v == 0xFFFFFFFF for v in (plain, packed, start)]
            if sum(full) > len(numbers):
                raise Damaged("its 64-bit sizes are missing")
            wide = iter(numbers)
            return tuple(
                next(wide) if f else v for f, v in zip(full, (plain, packed, start), strict=True)
            )
        at += 4 + size
    return plain, packed, start


def _read_some(file, target):
    """``readinto`` of files that have it, else `read`."""
    if hasattr(file, "readinto"):
        try:
            return file.readinto(target)
        except (io.UnsupportedOperation, NotImplementedError):
            pass
    data = file.read(len(target))
    target[: len(data)] = data
    return len(data)


class _Stream(io.RawIOBase):
    """A part of an archive's file, with a position of its own."""

    def __init__(self, archive, start, size):
        super().__init__()
        self.archive, self.start, self.position, self.left = archive, start, start, size

    def readable(self):
        """It is."""
        return True

    def tell(self):
        """How many bytes were read."""
        return self.position - self.start

    def readinto(self, target):
        """Fill `target` as far as the entry goes."""
        count = min(len(target), self.left)
        self.archive.read_into(self.position, memoryview(target)[:count])
        self.position += count
        self.left -= count
        return count
