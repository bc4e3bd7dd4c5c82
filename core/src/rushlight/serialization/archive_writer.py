"""The zip archive of a checkpoint, written: stored entries whose data start at multiples of 64.

PKWARE's APPNOTE 6.3, sections 4.3.7 (header of an entry), 4.3.12 (directory), 4.3.14 to 4.3.16
(its end) and 4.5.3 (64-bit sizes). Times are the format's first day, so that the same object gives
the same bytes. A large entry of a real file is written and summed in one pass, its header after it;
other files get one byte after the other, so that they need no more than ``write``.
"""

from __future__ import annotations

import io
import os
import struct

from rushlight.kernels.copying import checksum as sums

ALIGNMENT = 64
_FULL, _FULL_COUNT = 0xFFFFFFFF, 0xFFFF  # what a field says when a longer one has the number
_LIMIT, _COUNT_LIMIT = _FULL, _FULL_COUNT  # from which on it does
_FIRST_DAY = 33  # 1980-01-01
_PAD = 0x4246  # the extra field with which PyTorch aligns
_UTF8 = 0x800


def _short(number):
    return number if number < _LIMIT else _FULL


def put(file, data):
    """Write all of `data`; unbuffered files may take less at a time."""
    done = file.write(data)
    while isinstance(done, int) and done < len(data):
        done += file.write(data[done:])


class ArchiveWriter:
    """Entries of the folder `name`; `size` is that of all storages, about."""

    def __init__(self, file, name, size):
        self.file, self.name, self.at = file, name, 0
        self.directory: list = []
        self.descriptor, self.size = None, size
        if type(file) is io.BufferedWriter and hasattr(os, "pwrite"):
            file.flush()
            self.descriptor, self.origin = file.fileno(), file.tell()

    def write(self, entry, data):
        """Add one entry: bytes, or a memoryview of bytes."""
        name = f"{self.name}/{entry}".encode()
        size = len(data)
        long = struct.pack("<HHQQ", 1, 16, size, size) if size >= _LIMIT else b""
        padding = -(self.at + 30 + len(name) + len(long) + 4) % ALIGNMENT
        extra = long + struct.pack("<HH", _PAD, padding) + b"Z" * padding
        start = self.at + 30 + len(name) + len(extra)
        written = None
        if self.descriptor is not None and sums.compiled(size, self.size):
            written = self._write_through(start, data)
        checksum = sums.crc32(data, 0, self.size) if written is None else written
        flags = 0 if name.isascii() else _UTF8
        common = struct.pack(
            "<HHHHHIIIHH", 45 if long else 20, flags, 0, 0, _FIRST_DAY, checksum,
            _short(size), _short(size), len(name), len(extra),
        )  # fmt: skip
        put(self.file, b"PK\x03\x04" + common + name + extra)
        self.directory.append((name, flags, checksum, size, self.at))
        self.at = start + size
        if written is None:
            put(self.file, data)
        else:
            self.file.seek(self.origin + self.at)

    def _write_through(self, start, data):
        """Write and sum the data of an entry whose header is still to come."""
        self.file.flush()
        place = self.origin + start
        checksum = sums.write(self.descriptor, place, data)
        if checksum is None:  # a full disk, most likely: Python's call raises what is wrong
            done = 0
            while done < len(data):
                done += os.pwrite(self.descriptor, data[done:], place + done)
        return checksum

    def close(self):
        """Write the directory and its end."""
        rows = []
        for name, flags, checksum, size, at in self.directory:
            long = [number for number in (size, size, at) if number >= _LIMIT]
            extra = struct.pack(f"<HH{len(long)}Q", 1, 8 * len(long), *long) if long else b""
            head = struct.pack(
                "<HHHHHHIIIHHHHHII", 45, 45 if long else 20, flags, 0, 0, _FIRST_DAY, checksum,
                _short(size), _short(size), len(name), len(extra), 0, 0, 0, 0,
                _short(at),
            )  # fmt: skip
            rows.append(b"PK\x01\x02" + head + name + extra)
        table, count = b"".join(rows), len(rows)
        end = b""
        if max(self.at, len(table)) >= _LIMIT or count >= _COUNT_LIMIT:
            place = self.at + len(table)
            end = b"PK\x06\x06" + struct.pack(
                "<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, len(table), self.at
            )
            end += b"PK\x06\x07" + struct.pack("<IQI", 0, place, 1)
            count = min(count, _FULL_COUNT)
        last = struct.pack("<HHHHIIH", 0, 0, count, count, _short(len(table)), _short(self.at), 0)
        put(self.file, table + end + b"PK\x05\x06" + last)
