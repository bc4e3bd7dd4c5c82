"""What a store over TCP says on the wire, and the process that keeps the keys.

A request is a line of JSON that names a method of `HashStore`, its keys and numbers, followed by
the bytes of its values; the answer has the same form. Nothing that arrives is unpickled or run.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from datetime import timedelta

from rushlight.distributed.errors import DistStoreError, QueueEmptyError
from rushlight.distributed.stores import HashStore

# Method -> how many of its last arguments are values, sent as bytes.
METHODS = {
    HashStore.set.__name__: 1,
    HashStore.get.__name__: 0,
    HashStore.add.__name__: 0,
    HashStore.append.__name__: 1,
    HashStore.compare_set.__name__: 2,
    HashStore.delete_key.__name__: 0,
    HashStore.check.__name__: 0,
    HashStore.wait.__name__: 0,
    HashStore.num_keys.__name__: 0,
    HashStore.list_keys.__name__: 0,
    HashStore.queue_push.__name__: 1,
    HashStore.queue_pop.__name__: 0,
    HashStore.queue_len.__name__: 0,
}
ERRORS = {"DistStoreError": DistStoreError, "QueueEmptyError": QueueEmptyError}
_LARGEST = 1 << 31  # bytes of one value


def send(connection, head, values=()):
    """Write one message."""
    text = json.dumps([head, [len(value) for value in values]]).encode()
    connection.sendall(text + b"\n" + b"".join(values))


def receive(stream):
    """Read one message: its head and its values."""
    line = stream.readline(1 << 24)
    if not line:
        raise ConnectionError("the connection was closed")
    head, lengths = json.loads(line)
    if any(not 0 <= length <= _LARGEST for length in lengths):
        raise ConnectionError("a message of the store announces an impossible length")
    return head, [stream.read(length) for length in lengths]


class Server(threading.Thread):
    """Answers requests, one thread a connection, from the keys of one `HashStore`."""

    def __init__(self, listener):
        super().__init__(daemon=True, name="rushlight-tcp-store")
        self.listener, self.keys = listener, HashStore()
        self.port = listener.getsockname()[1]

    def run(self):
        """Accept connections until the server is stopped."""
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
                (name, seconds, *arguments), values = receive(stream)
                try:
                    result = self._answer(name, seconds, arguments, values)
                except (DistStoreError, ValueError, TypeError) as error:
                    send(connection, [type(error).__name__, str(error)])
                    continue
                if isinstance(result, bytes):
                    send(connection, ["ok", None], [result])
                else:
                    send(connection, ["ok", result])

    def _answer(self, name, seconds, arguments, values):
        if name not in METHODS:
            raise ValueError(f"a store has no method {name!r}")
        view = _View(self.keys, timedelta(seconds=seconds))
        return getattr(view, name)(*arguments, *values)


class _View(HashStore):
    """The server's keys, with the timeout of one client."""

    def __init__(self, store, timeout):
        self._keys, self._changed, self._timeout = store._keys, store._changed, timeout


def listen(host, port):
    """A socket on all interfaces, or on the loopback one alone where that is what is named."""
    if host in ("127.0.0.1", "localhost"):
        return socket.create_server(("127.0.0.1", port), backlog=1024)
    return socket.create_server(("", port), backlog=1024)
