"""The store that one process keeps and all others reach over TCP.

A request is a line of JSON that names a method of `HashStore`, its keys and numbers, followed by
the bytes of its values; the answer has the same form. Nothing that arrives is unpickled or run.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from datetime import timedelta

from rushlight.distributed.errors import DistNetworkError, DistStoreError, QueueEmptyError
from rushlight.distributed.stores import HashStore, Store, as_bytes, default_timeout

# Method -> how many of its last arguments are values, sent as bytes.
_METHODS = {
    "set": 1, "get": 0, "add": 0, "append": 1, "compare_set": 2, "delete_key": 0, "check": 0,
    "wait": 0, "num_keys": 0, "list_keys": 0, "queue_push": 1, "queue_pop": 0, "queue_len": 0,
}  # fmt: skip
_ERRORS = {"DistStoreError": DistStoreError, "QueueEmptyError": QueueEmptyError}
_LARGEST = 1 << 31  # bytes of one value


def _send(connection, head, values=()):
    text = json.dumps([head, [len(value) for value in values]]).encode()
    connection.sendall(text + b"\n" + b"".join(values))


def _receive(stream):
    line = stream.readline(1 << 24)
    if not line:
        raise ConnectionError("the connection was closed")
    head, lengths = json.loads(line)
    if any(not 0 <= length <= _LARGEST for length in lengths):
        raise ConnectionError("a message of the store announces an impossible length")
    return head, [stream.read(length) for length in lengths]


class _Server(threading.Thread):
    """Answers requests, one thread a connection, from the keys of one `HashStore`."""

    def __init__(self, listener):
        super().__init__(daemon=True, name="rushlight-tcp-store")
        self.listener, self.keys = listener, HashStore()
        self.port = listener.getsockname()[1]

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def stop(self):
        """Accept nobody any more."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _serve(self, connection):
        stream = connection.makefile("rb")
        with contextlib.suppress(OSError, ValueError, KeyError), connection, stream:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                (name, seconds, *arguments), values = _receive(stream)
                try:
                    result = self._answer(name, seconds, arguments, values)
                except (DistStoreError, ValueError, TypeError) as error:
                    _send(connection, [type(error).__name__, str(error)])
                    continue
                if isinstance(result, bytes):
                    _send(connection, ["ok", None], [result])
                else:
                    _send(connection, ["ok", result])

    def _answer(self, name, seconds, arguments, values):
        if name not in _METHODS:
            raise ValueError(f"a store has no method {name!r}")
        view = _View(self.keys, timedelta(seconds=seconds))
        return getattr(view, name)(*arguments, *values)


class _View(HashStore):
    """The server's keys, with the timeout of one client."""

    def __init__(self, store, timeout):
        self._keys, self._changed, self._timeout = store._keys, store._changed, timeout


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
        self._server = self._connection = self._stream = None
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
                listener = _listen(host, port)
            except OSError as error:
                raise DistNetworkError(
                    f"TCPStore: the server cannot listen on port {port} ({error.strerror}); another"
                    " program uses it, or an earlier run has not ended: choose another MASTER_PORT"
                ) from error
        server = _Server(listener)
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

    def _ask(self, name, *arguments, seconds=None):
        count = _METHODS[name]
        values = [as_bytes(v) for v in arguments[len(arguments) - count :]]
        plain = arguments[: len(arguments) - count]
        seconds = self._seconds(None) if seconds is None else seconds
        with self._lock:
            try:
                _send(self._connection, [name, seconds, *plain], values)
                (kind, result), found = _receive(self._stream)
            except (OSError, ValueError) as error:
                raise DistNetworkError(
                    f"TCPStore: the connection to {self.host}:{self.port} is lost ({error}): the "
                    "process that keeps the store (rank 0) has ended"
                ) from error
        if kind != "ok":
            raise _ERRORS.get(kind, RuntimeError)(result)
        return found[0] if found else result

    def wait(self, keys, timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        self._ask("wait", list(keys), seconds=self._seconds(timeout))

    def check(self, keys) -> bool:
        """Whether all keys are there."""
        return self._ask("check", list(keys))

    def queue_pop(self, key, block: bool = True) -> bytes:
        """Take the first value of a queue; QueueEmptyError where there is none and not `block`."""
        return self._ask("queue_pop", key, block)

    def num_keys(self) -> int:
        """How many keys there are."""
        return self._ask("num_keys")

    def list_keys(self) -> list:
        """All keys but the count of users."""
        return [key for key in self._ask("list_keys") if key != "init/"]

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


def _listen(host, port):
    """A socket on all interfaces, or on the loopback one alone where that is what is named."""
    if host in ("127.0.0.1", "localhost"):
        return socket.create_server(("127.0.0.1", port), backlog=1024)
    return socket.create_server(("", port), backlog=1024)


def _asking(name):
    def ask(self, *arguments):
        return self._ask(name, *arguments)

    ask.__name__, ask.__doc__ = name, getattr(HashStore, name).__doc__
    return ask


for _name in _METHODS:
    if _name not in vars(TCPStore):
        setattr(TCPStore, _name, _asking(_name))
