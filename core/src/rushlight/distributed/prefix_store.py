"""Part of a store: the keys with one prefix."""

from __future__ import annotations

from datetime import timedelta

from rushlight.distributed.stores import Store


class PrefixStore(Store):
    """A store whose keys begin with a prefix and a slash in another store."""

    def __init__(self, prefix: str, store: Store):
        super().__init__()
        self.prefix, self.underlying_store = prefix, store

    def _of(self, key):
        return f"{self.prefix}/{key}"

    @property
    def timeout(self) -> timedelta:
        """How long the store behind waits."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Choose how long the store behind waits."""
        self.underlying_store.set_timeout(timeout)

    def set(self, key, value) -> None:
        """Set the value of a key."""
        self.underlying_store.set(self._of(key), value)

    def get(self, key) -> bytes:
        """The value of a key, waiting until there is one."""
        return self.underlying_store.get(self._of(key))

    def add(self, key, value: int) -> int:
        """Add to a number that starts as 0; returns the sum."""
        return self.underlying_store.add(self._of(key), value)

    def append(self, key, value) -> None:
        """Lengthen the value of a key."""
        self.underlying_store.append(self._of(key), value)

    def compare_set(self, key, expected_value, desired_value) -> bytes:
        """Set a key that has the expected value; returns what it has then."""
        return self.underlying_store.compare_set(self._of(key), expected_value, desired_value)

    def delete_key(self, key) -> bool:
        """Forget a key; returns whether it was there."""
        return self.underlying_store.delete_key(self._of(key))

    def check(self, keys) -> bool:
        """Whether all keys are there."""
        return self.underlying_store.check([self._of(key) for key in keys])

    def wait(self, keys, *timeout) -> None:
        """Wait until all keys are there."""
        self.underlying_store.wait([self._of(key) for key in keys], *timeout)

    def num_keys(self) -> int:
        """How many keys the store behind has, whatever their prefix."""
        return self.underlying_store.num_keys()

    def list_keys(self) -> list:
        """The keys with this prefix, without it."""
        start = self.prefix + "/"
        keys = self.underlying_store.list_keys()
        return [key.removeprefix(start) for key in keys if key.startswith(start)]

    def has_extended_api(self) -> bool:
        """As the store behind says."""
        return self.underlying_store.has_extended_api()

    def queue_push(self, key, value) -> None:
        """Add a value to the end of a queue."""
        self.underlying_store.queue_push(self._of(key), value)

    def queue_pop(self, key, block: bool = True) -> bytes:
        """Take the first value of a queue."""
        return self.underlying_store.queue_pop(self._of(key), block)

    def queue_len(self, key) -> int:
        """How many values a queue has."""
        return self.underlying_store.queue_len(self._of(key))

    def clone(self) -> PrefixStore:
        """A store over the same keys, for another thread."""
        return PrefixStore(self.prefix, self.underlying_store.clone())
