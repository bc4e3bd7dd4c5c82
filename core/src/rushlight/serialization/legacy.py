"""PyTorch's checkpoint format from before version 1.6: pickles one after the other, then storages.

A magic number, a protocol number, facts about the machine, the object, the keys of its storages;
then each storage as a count of elements and its bytes. The elements of a storage come after the
tensors over it, so an object that depends on them - a sparse tensor, whose indices are checked, a
conjugate - needs its pickle to be read a second time.
"""

from __future__ import annotations

import pickle
import struct
import sys

from rushlight.serialization.archive import Damaged, _read_some

MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001


def head(protocol):
    """What stands before the object: magic number, version, facts about this machine."""
    sizes = {"short": 2, "int": 4, "long": 4}
    facts = {
        "protocol_version": _PROTOCOL, "little_endian": sys.byteorder == "little",
        "type_sizes": sizes,
    }  # fmt: skip
    return b"".join(pickle.dumps(value, protocol) for value in (MAGIC, _PROTOCOL, facts))


class LegacyFile:
    """Reads the parts in order; `unpickle(file, size, persistent)` reads one pickle."""

    def __init__(self, file, size, budget):
        self.file, self.end, self.budget = file, file.tell() + size, budget
        self.storages: dict = {}
        self.order = True  # whether the file's numbers are in this machine's byte order
        self.allocate = self.seen_as = None
        self.taken = 0  # bytes of the budget that storages have

    def _left(self):
        return self.end - self.file.tell()

    def load(self, unpickle, unpickle_plain, allocate, seen_as):
        """The object in the file. `allocate(dtype, count, location)` makes a loaded storage,
        `seen_as(storage, dtype)` gives it for tensors of another type than its first one's."""
        self.allocate, self.seen_as = allocate, seen_as
        if unpickle_plain(self.file, self._left(), _no_persistent) != MAGIC:
            raise Damaged("it is no checkpoint: its magic number is wrong")
        if unpickle_plain(self.file, self._left(), _no_persistent) != _PROTOCOL:
            raise Damaged("its protocol version is unknown")
        facts = unpickle_plain(self.file, self._left(), _no_persistent)
        if not isinstance(facts, dict):
            raise Damaged("it does not describe the machine it was written on")
        self.order = facts.get("little_endian", True) == (sys.byteorder == "little")
        start, before = self.file.tell(), self.budget.left
        self.budget.complete = False
        found = unpickle(self.file, self._left(), self.persistent)
        keys = unpickle_plain(self.file, self._left(), _no_persistent)
        if not isinstance(keys, list) or len(set(map(_key, keys))) != len(keys):
            raise Damaged("its list of storages is damaged")
        for key in keys:
            self._fill(_key(key))
        if len(keys) != len(self.storages):
            raise Damaged("a storage is missing")
        self.budget.complete = True
        if self.budget.again:  # something of it depends on elements of storages
            self.budget.left, found = before - self.taken, None
            self.file.seek(start)
            for storage in self.storages.values():
                storage.named = storage.used = 0
            found = unpickle(self.file, self._left(), self.persistent)
        return found

    def persistent(self, pid):
        """A storage, whose bytes come later; or the class of a module with its source."""
        if not isinstance(pid, tuple) or not pid:
            raise pickle.UnpicklingError("a persistent id is no tuple")
        kind = _text(pid[0])
        if kind == "module" and len(pid) == 4:
            return pid[1]
        if kind != "storage" or len(pid) != 6:
            raise pickle.UnpicklingError("an unknown persistent id")
        _, dtype, key, location, count, view = pid
        key = _key(key)
        if key not in self.storages:
            if self.budget.complete:
                raise Damaged("it asks for another storage when it is read again")
            before = self.budget.left
            self.storages[key] = self.allocate(dtype, count, _text(location))
            self.taken += before - self.budget.left
        if view is not None:
            raise NotImplementedError(
                "it holds views of storages, as PyTorch wrote before 0.4; save it again there"
            )
        return self.seen_as(self.storages[key], dtype)

    def _fill(self, key):
        if key not in self.storages:
            raise Damaged("its list of storages names one that no tensor has")
        storage = self.storages[key]
        header = self.file.read(8)
        if len(header) != 8:
            raise Damaged("it ends early")
        count = struct.unpack("<q", header)[0]
        if count != storage.count:
            raise Damaged(f"a storage of {storage.count} elements has {count} in the file")
        size = count * storage.dtype.itemsize
        if size > self._left():
            raise Damaged(f"a storage of {size} bytes is cut off")
        if storage.array is None:  # on the meta device
            self.file.seek(size, 1)
            return
        target = memoryview(storage.array.reshape(-1).view("u1"))
        done = 0
        while done < size:
            got = _read_some(self.file, target[done:])
            if not got:
                raise Damaged("it ends early")
            done += got
        if not self.order:
            storage.array.byteswap(inplace=True)
        storage.filled()


def _text(value):
    if isinstance(value, bytes):
        value = value.decode("ascii")
    if not isinstance(value, str):
        raise pickle.UnpicklingError("a persistent id holds something else than text")
    return value


def _key(value):
    return str(value) if isinstance(value, int) else _text(value)


def _no_persistent(pid):
    raise pickle.UnpicklingError("a persistent id where none belongs")
