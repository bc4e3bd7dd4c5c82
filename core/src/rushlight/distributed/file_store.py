"""The store that all processes keep together in a file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from rushlight.distributed.errors import DistStoreError
from rushlight.distributed.stores import Keys, Store, as_bytes

if TYPE_CHECKING:
    from os import PathLike

_ADD = b"+"  # the record of an addition


class FileStore(Store):
    """A store in a file that all processes can open and lock: one machine, or a shared disk.

    The file holds every change one after the other. The last user of `world_size` removes it.
    """

    def __init__(self, file_name: str | PathLike[str], world_size: int = -1):
        super().__init__()
        self.path, self._world_size = os.fspath(file_name), world_size
        self._change(lambda keys: (_ADD, "refcount/", b"1"))

    def _change(self, choose):
        """Read all under a lock, append what `choose` says of the keys, and apply it."""
        with open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            keys = self._read(file)
            record = choose(keys)
            if record is None:
                return None
            fields = [as_bytes(field) for field in record]
            file.seek(0, os.SEEK_END)
            file.write(b"".join(struct.pack("<I", len(f)) + f for f in fields))
            file.flush()
            return _apply(keys, fields)

    @staticmethod
    def _read(file):
        file.seek(0)
        data, place, keys, fields = file.read(), 0, Keys(), []
        while place < len(data):
            (length,) = struct.unpack_from("<I", data, place)
            fields.append(data[place + 4 : place + 4 + length])
            place += 4 + length
            if len(fields) == 3:
                _apply(keys, fields)
                fields = []
        return keys

    def _keys(self):
        with open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return self._read(file)

    def set(self, key, value) -> None:
        """Set the value of a key."""
        self._change(lambda keys: ("set", key, as_bytes(value)))

    def add(self, key, value: int) -> int:
        """Add to a number that starts as 0; returns the sum."""
        return self._change(lambda keys: (_ADD, key, str(value)))

    def append(self, key, value) -> None:
        """Lengthen the value of a key."""
        self._change(lambda keys: ("append", key, as_bytes(value)))

    def compare_set(self, key, expected_value, desired_value) -> bytes:
        """Set a key that has the expected value; returns what it has then."""
        found = []

        def choose(keys):
            before = keys.values.get(key)
            wanted = as_bytes(expected_value), as_bytes(desired_value)
            found.append(keys.compare_set(key, *wanted))
            return None if keys.values.get(key) == before else ("set", key, found[0])

        self._change(choose)
        return found[0]

    def delete_key(self, key) -> bool:
        """Forget a key; returns whether it was there."""
        return bool(self._change(lambda keys: ("delete", key, b"") if key in keys.values else None))

    def check(self, keys) -> bool:
        """Whether all keys are there."""
        values = self._keys().values
        return all(key in values for key in keys)

    def get(self, key) -> bytes:
        """The value of a key, waiting until there is one."""
        self.wait([key])
        return self._keys().values[key]

    def wait(self, keys, timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        seconds = self._seconds(timeout)
        end = time.monotonic() + seconds
        while not self.check(keys):
            if time.monotonic() > end:
                raise DistStoreError(f"wait timeout after {round(seconds * 1000)}ms, keys: {keys}")
            time.sleep(0.01)

    def num_keys(self) -> int:
        """How many keys there are, the count of users among them."""
        return len(self._keys().values)

    def list_keys(self) -> list:
        """All keys but the count of users."""
        return [key for key in self._keys().values if key != "refcount/"]

    def has_extended_api(self) -> bool:
        """False: there are no queues."""
        return False

    def queue_push(self, key, value):
        """Not available in files."""
        raise NotImplementedError("FileStore has no queues; use TCPStore or HashStore")

    queue_pop = queue_len = queue_push

    def close(self) -> None:
        """Give the store up; the last of `world_size` users removes the file."""
        if self.add("users gone/", 1) == self._world_size:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)


def _apply(keys, fields):
    name, key, value = fields
    key = key.decode()
    if name == _ADD:
        return keys.add(key, int(value))
    if name == b"delete":
        return keys.delete(key)
    return keys.set(key, value) if name == b"set" else keys.append(key, value)
