"""The store that one process keeps and all others reach over TCP."""

from __future__ import annotations

import socket
import threading
import time
from datetime import timedelta
from typing import Any

from rushlight.distributed.errors import DistNetworkError, DistStoreError
from rushlight.distributed.stores import HashStore, Store, as_bytes, default_timeout
from rushlight.distributed.tcp_store_server import ERRORS, METHODS, Server, listen, receive, send


class TCPStore(Store):
    """A store kept by one process (`is_master`) that the others reach at `host_name` and `port`.

    Args:
        port: 0 lets the master choose; ``store.port`` tells.
        world_size: how many users the master waits for, itself among them (`wait_for_workers`).
        timeout: of connecting, ``get`` and ``wait``; 5 minutes by default.
        multi_tenant: a second master of this process at the same port uses the first one's keys.
        master_listen_fd: the descriptor of a listening socket that the master takes over.
        use_libuv: of no consequence here.

    Raises DistNetworkError where nothing answers in time.
    """

    _servers: dict = {}

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = default_timeout,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ):
        super().__init__()
        self.host, self._timeout, self.libuvBackend = host_name, timeout, use_libuv
        self._lock = threading.Lock()
        self._server: Any = None
        self._connection: Any = None
        self._stream: Any = None
        self._shares = multi_tenant
        if is_master:
            self._server = self._served(host_name, port, multi_tenant, master_listen_fd)
            port = self._server.port
        self.port = port
        self._connect()
        if wait_for_workers and world_size is not None and world_size > 0:
            self._wait_for_workers(world_size, is_master)

    @classmethod
    def _served(cls, host, port, shared, descriptor):
        if shared and port in cls._servers:
            return cls._servers[port]
        if descriptor is not None:
            listener = socket.socket(fileno=descriptor)
        else:
            try:
                listener = listen(host, port)
            except OSError as error:
                raise DistNetworkError(
                    f"TCPStore: the server cannot listen on port {port} ({error.strerror}); another"
                    " program uses it, or an earlier run has not ended: choose another MASTER_PORT"
                ) from error
        server = Server(listener)
        server.start()
        if shared:
            cls._servers[server.port] = server
        return server

    def _connect(self):
        host = "127.0.0.1" if self._server is not None else self.host
        end = time.monotonic() + self._timeout.total_seconds()
        while True:
            try:
                self._connection = socket.create_connection((host, self.port), timeout=5)
                break
            except OSError as error:
                if time.monotonic() > end:
                    raise DistNetworkError(
                        f"TCPStore: nothing answers at {self.host}:{self.port} after "
                        f"{self._timeout.total_seconds():g} s ({error}); is rank 0 running, and "
                        "are MASTER_ADDR and MASTER_PORT its address?"
                    ) from error
                time.sleep(0.02)
        self._connection.settimeout(None)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._connection.makefile("rb")

    def _wait_for_workers(self, world_size, is_master):
        count = self.add("init/", 1)
        end = time.monotonic() + self._timeout.total_seconds()
        while is_master and count < world_size:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {self._timeout.total_seconds():g} seconds waiting for "
                    f"clients. {count}/{world_size} clients joined."
                )
            time.sleep(0.01)
            count = self.add("init/", 0)

    def _ask(self, method, *arguments, seconds=None):
        name = method.__name__
        count = METHODS[name]
        values = [as_bytes(v) for v in arguments[len(arguments) - count :]]
        plain = arguments[: len(arguments) - count]
        seconds = self._seconds(None) if seconds is None else seconds
        with self._lock:
            try:
                send(self._connection, [name, seconds, *plain], values)
                (kind, result), found = receive(self._stream)
            except (OSError, ValueError) as error:
                raise DistNetworkError(
                    f"TCPStore: the connection to {self.host}:{self.port} is lost ({error}): the "
                    "process that keeps the store (rank 0) has ended"
                ) from error
        if kind != "ok":
            raise ERRORS.get(kind, RuntimeError)(result)
        return found[0] if found else result

    def set(self, key, value) -> None:
        """Set the value of a key."""
        self._ask(HashStore.set, key, value)

    def get(self, key) -> bytes:
        """The value of a key, waiting until there is one."""
        return self._ask(HashStore.get, key)

    def add(self, key, value: int) -> int:
        """Add to a number that starts as 0; returns the sum."""
        return self._ask(HashStore.add, key, value)

    def append(self, key, value) -> None:
        """Lengthen the value of a key."""
        self._ask(HashStore.append, key, value)

    def compare_set(self, key, expected_value, desired_value) -> bytes:
        """Set a key that has the expected value; returns what it has then."""
        return self._ask(HashStore.compare_set, key, expected_value, desired_value)

    def delete_key(self, key) -> bool:
        """Forget a key; returns whether it was there."""
        return self._ask(HashStore.delete_key, key)

    def queue_push(self, key, value) -> None:
        """Add a value to the end of a queue."""
        self._ask(HashStore.queue_push, key, value)

    def queue_len(self, key) -> int:
        """How many values a queue has."""
        return self._ask(HashStore.queue_len, key)

    def wait(self, keys, timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        self._ask(HashStore.wait, list(keys), seconds=self._seconds(timeout))

    def check(self, keys) -> bool:
        """Whether all keys are there."""
        return self._ask(HashStore.check, list(keys))

    def queue_pop(self, key, block: bool = True) -> bytes:
        """Take the first value of a queue; QueueEmptyError where there is none and not `block`."""
        return self._ask(HashStore.queue_pop, key, block)

    def num_keys(self) -> int:
        """How many keys there are."""
        return self._ask(HashStore.num_keys)

    def list_keys(self) -> list:
        """All keys but the count of users."""
        return [key for key in self._ask(HashStore.list_keys) if key != "init/"]

    def clone(self) -> TCPStore:
        """A connection of its own to the same keys, for another thread."""
        return TCPStore(self.host, self.port, None, False, self._timeout, False)

    def __del__(self):
        if getattr(self, "_stream", None) is not None:
            self._stream.close()
            self._connection.close()
        # One that may be shared stays: ranks that make a group again find the same keys.
        if getattr(self, "_server", None) is not None and not self._shares:
            self._server.stop()

    def __repr__(self):
        kept = ", kept by this process" if self._server is not None else ""
        return f"TCPStore({self.host}:{self.port}{kept})"

    def __reduce__(self):
        return _reopened, (self.host, self.port, self._timeout)


def _reopened(host, port, timeout):
    return TCPStore(host, port, None, False, timeout, False)
