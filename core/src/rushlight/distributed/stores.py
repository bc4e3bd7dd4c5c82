"""Stores: small values by key that all processes of a job see."""

from __future__ import annotations

import contextlib
import threading
from datetime import timedelta

from rushlight.distributed.errors import DistStoreError, QueueEmptyError

default_timeout = timedelta(seconds=300)


def as_bytes(value) -> bytes:
    """What is kept of a value: text as UTF-8."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(f"a store keeps str or bytes, got {type(value).__name__}")


class Store:
    """Values by key. Derive from it and define ``set``, ``get``, ``add``, ``wait``... yourself.

    ``get`` and ``wait`` block until the keys are there and raise DistStoreError after `timeout`.
    """

    def __init__(self):
        self._timeout = default_timeout

    @property
    def timeout(self) -> timedelta:
        """How long ``get`` and ``wait`` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Choose how long ``get`` and ``wait`` wait."""
        self._timeout = timeout

    def _seconds(self, timeout):
        return (self._timeout if timeout is None else timeout).total_seconds()

    def multi_get(self, keys) -> list:
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys, values) -> None:
        """Set several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Whether ``append``, ``multi_get`` and ``multi_set`` are there."""
        return True

    def barrier(self, key, world_size, timeout=None) -> None:
        """Return when `world_size` callers have come to `key`."""
        if self.add(f"{key}/arrived", 1) >= world_size:
            self.set(f"{key}/all", b"1")
        self.wait([f"{key}/all"], *(() if timeout is None else (timeout,)))

    def clone(self) -> Store:
        """A store over the same keys, for another thread."""
        return self


class Keys:
    """What a store does to its keys, in one process; every method is called under `changed`."""

    def __init__(self):
        self.values: dict[str, bytes] = {}
        self.queues: dict[str, list[bytes]] = {}

    def set(self, key: str, value: bytes) -> None:
        """Set a value."""
        self.values[key] = value

    def add(self, key: str, amount: int) -> int:
        """Add to a number, 0 at first; the new number."""
        total = int(self.values.get(key, b"0")) + amount
        self.values[key] = str(total).encode()
        return total

    def append(self, key: str, value: bytes) -> None:
        """Lengthen a value."""
        self.values[key] = self.values.get(key, b"") + value

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        """Replace a value that is as expected, or set one where `expected` is empty."""
        present = self.values.get(key)
        if present is None and expected:
            return expected
        if present is None or present == expected:
            self.values[key] = present = desired
        return present

    def delete(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        return self.values.pop(key, None) is not None

    def push(self, key: str, value: bytes) -> None:
        """Add to the end of a queue."""
        self.queues.setdefault(key, []).append(value)

    def pop(self, key: str) -> bytes | None:
        """The first of a queue, or None."""
        queue = self.queues.get(key)
        return queue.pop(0) if queue else None


class HashStore(Store):
    """A store of one process, for its threads.

    >>> store = rushlight.distributed.HashStore()
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    def __init__(self):
        super().__init__()
        self._keys = Keys()
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def _changing(self):
        with self._changed:
            yield self._keys
            self._changed.notify_all()

    def set(self, key, value) -> None:
        """Set the value of a key."""
        with self._changing() as keys:
            keys.set(key, as_bytes(value))

    def get(self, key) -> bytes:
        """The value of a key, waiting until there is one."""
        with self._changed:
            self._wait([key], self._seconds(None))
            return self._keys.values[key]

    def add(self, key, value: int) -> int:
        """Add to a number that starts as 0; returns the sum."""
        with self._changing() as keys:
            return keys.add(key, value)

    def append(self, key, value) -> None:
        """Lengthen the value of a key."""
        with self._changing() as keys:
            keys.append(key, as_bytes(value))

    def compare_set(self, key, expected_value, desired_value) -> bytes:
        """Set a key that has the expected value; returns what it has then."""
        with self._changing() as keys:
            return keys.compare_set(key, as_bytes(expected_value), as_bytes(desired_value))

    def delete_key(self, key) -> bool:
        """Forget a key; returns whether it was there."""
        with self._changing() as keys:
            return keys.delete(key)

    def check(self, keys) -> bool:
        """Whether all keys are there."""
        with self._changed:
            return all(key in self._keys.values for key in keys)

    def wait(self, keys, timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        with self._changed:
            self._wait(keys, self._seconds(timeout))

    def _wait(self, keys, seconds):
        values = self._keys.values
        if not self._changed.wait_for(lambda: all(key in values for key in keys), seconds):
            raise DistStoreError(f"wait timeout after {round(seconds * 1000)}ms, keys: {keys}")

    def num_keys(self) -> int:
        """How many keys there are."""
        with self._changed:
            return len(self._keys.values)

    def list_keys(self) -> list:
        """All keys."""
        with self._changed:
            return list(self._keys.values)

    def queue_push(self, key, value) -> None:
        """Add a value to the end of a queue."""
        with self._changing() as keys:
            keys.push(key, as_bytes(value))

    def queue_pop(self, key, block: bool = True) -> bytes:
        """Take the first value of a queue; QueueEmptyError where there is none and not `block`."""
        with self._changed:
            queues, seconds = self._keys.queues, self._seconds(None) if block else 0
            if not self._changed.wait_for(lambda: queues.get(key), seconds):
                if block:
                    raise DistStoreError(f"wait timeout after {round(seconds * 1000)}ms: {key}")
                raise QueueEmptyError("queue is empty")
            return self._keys.pop(key)

    def queue_len(self, key) -> int:
        """How many values a queue has."""
        with self._changed:
            return len(self._keys.queues.get(key, ()))
