"""Event files: records with lengths and checksums, as TensorFlow and TensorBoard read them.

A record is its length (8 bytes), the masked CRC-32C of those, the data, and their masked CRC-32C
(TensorFlow, ``core/lib/io/record_writer``). The data are protocol buffers; what is needed of that
format (https://protobuf.dev/programming-guides/encoding) is written here, without the library.
"""

from __future__ import annotations

import itertools
import os
import socket
import struct
import time
import weakref

from rushlight.machine import np

# ------------------------------------------------------------------------------------------ CRC-32C
_POLYNOMIAL = 0x82F63B78  # Castagnoli's, bits reversed
_LANES = 1024


def _table():
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (_POLYNOMIAL if number & 1 else 0)
        table.append(number)
    return table


_TABLE = _table()


def _times(a, b):
    """The product of two polynomials modulo Castagnoli's, bits reversed."""
    product = 0
    while a:
        if a & 0x80000000:
            product ^= b
        a = a << 1 & 0xFFFFFFFF
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
    return product


def crc32c(data) -> int:
    """The CRC-32C of bytes; long ones are cut into lanes that go side by side."""
    state, length = 0xFFFFFFFF, len(data) // _LANES
    if length >= 8:
        lanes = np.frombuffer(data, np.uint8, length * _LANES).reshape(_LANES, length)
        table = np.array(_TABLE, np.uint32)
        found = np.zeros(_LANES, np.uint32)
        for column in np.ascontiguousarray(lanes.T):
            found = table[(found ^ column) & 0xFF] ^ found >> np.uint32(8)
        power, base, left = 0x80000000, 0x00800000, length  # 1 and x^8
        while left:
            power = _times(power, base) if left & 1 else power
            base, left = _times(base, base), left >> 1
        for lane in found.tolist():
            state = _times(power, state) ^ lane
        data = data[length * _LANES :]
    for byte in data:
        state = _TABLE[(state ^ byte) & 0xFF] ^ state >> 8
    return state ^ 0xFFFFFFFF


def _masked(data):
    found = crc32c(data)
    return struct.pack("<I", ((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    """Bytes as a record."""
    head = struct.pack("<Q", len(data))
    return head + _masked(head) + data + _masked(data)


# --------------------------------------------------------------------------------- protocol buffers
def varint(number: int) -> bytes:
    """A whole number; negative ones as 64-bit two's complement."""
    number &= 0xFFFFFFFFFFFFFFFF
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def integer(field: int, value) -> bytes:
    """A field of a whole number, a bool or an enumeration."""
    return varint(field << 3) + varint(int(value))


def double(field: int, value) -> bytes:
    """A field of a 64-bit float."""
    return varint(field << 3 | 1) + struct.pack("<d", float(value))


def single(field: int, value) -> bytes:
    """A field of a 32-bit float; what it cannot hold is infinite."""
    return varint(field << 3 | 5) + np.float64(value).astype(np.float32).tobytes()


def block(field: int, value) -> bytes:
    """A field of text, bytes or a message."""
    data = value.encode() if isinstance(value, str) else bytes(value)
    return varint(field << 3 | 2) + varint(len(data)) + data


def doubles(field: int, values) -> bytes:
    """A packed field of 64-bit floats."""
    return block(field, np.asarray(values, np.float64).tobytes())


def singles(field: int, values) -> bytes:
    """A packed field of 32-bit floats."""
    return block(field, np.asarray(values, np.float32).tobytes())


def event(wall_time, step=None, *fields: bytes) -> bytes:
    """An event with its time and step."""
    where = b"" if step is None else integer(2, int(step))
    return double(1, wall_time) + where + b"".join(fields)


# -------------------------------------------------------------------------------------------- files
_numbers = itertools.count()


class FileWriter:
    """Writes events to a new file in a folder."""

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self.log_dir = os.fspath(log_dir)
        self.max_queue, self.flush_secs = max_queue, flush_secs
        os.makedirs(self.log_dir, exist_ok=True)
        name = (
            f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}."
            f"{next(_numbers)}{filename_suffix}"
        )
        self.path = os.path.join(self.log_dir, name)
        self._file = open(self.path, "ab")  # noqa: SIM115 - open until close()
        self._closing = weakref.finalize(self, self._file.close)
        self._waiting, self._flushed = 0, time.monotonic()
        self._write(event(time.time(), None, block(3, "brain.Event:2")))
        self.flush()

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def _write(self, data):
        if self._file.closed:
            self._file = open(self.path, "ab")  # noqa: SIM115
            self._closing = weakref.finalize(self, self._file.close)
        self._file.write(record(data))

    def add_event(self, fields: bytes, step=None, walltime=None) -> None:
        """Write an event; it reaches the disk at the latest with `max_queue` others."""
        self._write(event(time.time() if walltime is None else walltime, step, fields))
        self._waiting += 1
        late = time.monotonic() - self._flushed > self.flush_secs
        if self._waiting >= self.max_queue or late:
            self.flush()

    def add_summary(self, summary: bytes, global_step=None, walltime=None) -> None:
        """Write an event with a summary."""
        self.add_event(block(5, summary), global_step, walltime)

    def flush(self) -> None:
        """Hand what is held to the system."""
        if not self._file.closed:
            self._file.flush()
        self._waiting, self._flushed = 0, time.monotonic()

    def close(self) -> None:
        """Write what is held and close the file; a later event opens it again."""
        self._file.close()

    def reopen(self) -> None:
        """Open the file again, behind what it holds."""
        if self._file.closed:
            self._file = open(self.path, "ab")  # noqa: SIM115
            self._closing = weakref.finalize(self, self._file.close)
