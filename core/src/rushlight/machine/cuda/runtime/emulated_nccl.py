"""A stand-in for NCCL on the emulator: ranks are processes of one machine with Unix sockets.

It computes at once what NCCL would on its stream, and checks what NCCL leaves undefined: ranks that
make different calls get an error. See :mod:`.nccl` for the members.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
import threading
import time
from multiprocessing.connection import Client, Listener

import numpy as np

from rushlight.machine.cuda.runtime.nccl import OPERATIONS, TYPES

NAME_BYTES = 128  # as of NCCL
LIMIT = 60.0  # seconds for a rank to come
_FOLDS = dict(zip(OPERATIONS, (np.add, np.multiply, np.minimum, np.maximum), strict=True))


class Library:
    """The stand-in: names for jobs, communicators, and groups of calls."""

    def __init__(self, runtime):
        self.runtime = runtime
        self.pending: list | None = None  # messages of a group of calls

    def version(self) -> tuple[int, int, int]:
        """The version that it behaves as."""
        return 2, 28, 9

    def unique_id(self) -> bytes:
        """A name for one communicator."""
        return f"rushlight-nccl-{secrets.token_hex(8)}".encode().ljust(NAME_BYTES, b"\0")

    def communicator(self, size: int, name: bytes, rank: int, device: int) -> Communicator:
        """This rank's part of a communicator; returns when all ranks have called."""
        folder = os.path.join(tempfile.gettempdir(), name.rstrip(b"\0").decode())
        os.makedirs(folder, exist_ok=True)
        return Communicator(self, _peers(folder, rank, size), rank, size)

    @contextlib.contextmanager
    def together(self):
        """Calls within it start together, whatever their order."""
        if self.pending is not None:  # within another
            yield
            return
        self.pending = []
        try:
            yield
            messages = self.pending
        finally:
            self.pending = None
        _deliver(messages)


def _peers(folder, rank, size):
    """Connections to all other ranks: each listens for those of higher ranks."""
    found = {}
    with Listener(os.path.join(folder, str(rank)), "AF_UNIX", backlog=size) as own:
        for other in range(rank):
            found[other] = _reached(os.path.join(folder, str(other)))
            found[other].send(rank)
        for _ in range(rank + 1, size):
            connection = own.accept()
            found[connection.recv()] = connection
    with contextlib.suppress(OSError):  # the last one removes it
        os.rmdir(folder)
    return found


def _reached(path):
    end = time.monotonic() + LIMIT
    while True:
        try:
            return Client(path, "AF_UNIX")
        except (FileNotFoundError, ConnectionRefusedError):
            if time.monotonic() > end:
                raise TimeoutError(f"the stand-in of NCCL: nobody listens at {path}") from None
            time.sleep(0.01)


def _deliver(messages):
    """Send and receive: sends by threads, since a socket holds only so much."""
    sends = [m for m in messages if m[0] == "send"]
    threads = [threading.Thread(target=m[1].send_bytes, args=(m[2],)) for m in sends]
    for thread in threads:
        thread.start()
    for kind, connection, array in messages:
        if kind == "receive":
            connection.recv_bytes_into(array)
    for thread in threads:
        thread.join()


class Communicator:
    """One rank's part of a communicator."""

    def __init__(self, library, peers, rank, size):
        self.library, self.peers, self.rank, self.size = library, peers, rank, size

    def _view(self, address, count, dtype=np.uint8):
        dtype = np.dtype(dtype)
        return self.library.runtime.view(address, (count,), (dtype.itemsize,), dtype)

    def _exchanged(self, call, elements):
        """All ranks' elements, in order; an error where another rank makes another call."""
        told = repr(call).encode()
        for connection in self.peers.values():
            connection.send_bytes(told)
        for other, connection in self.peers.items():
            heard = connection.recv_bytes()
            if heard != told:
                raise RuntimeError(
                    f"NCCL: rank {self.rank} calls {told.decode()}, rank {other} {heard.decode()}"
                )
        rows = np.empty((self.size, elements.size), elements.dtype)
        rows[self.rank] = elements
        messages = [("send", c, elements.view(np.uint8)) for c in self.peers.values()]
        messages += [("receive", c, rows[o].view(np.uint8)) for o, c in self.peers.items()]
        if elements.size:
            _deliver(messages)
        return rows

    def _reduced(self, name, source, count, dtype, operation, *more):
        if np.dtype(dtype) not in TYPES:
            raise TypeError(f"NCCL does not know {dtype}")
        call = (name, count, str(np.dtype(dtype)), operation, *more)
        rows = self._exchanged(call, self._view(source, count, dtype))
        total = rows[0]
        for row in rows[1:]:
            total = _FOLDS[operation](total, row)
        return total

    def _do(self, stream, action):
        self.library.runtime._do(stream, action)

    def all_reduce(self, source, target, count, dtype, operation, stream) -> None:
        """Reduce all ranks' elements, for all; `source` may be `target`."""

        def action():
            found = self._reduced("all_reduce", source, count, dtype, operation)
            self._view(target, count, dtype)[:] = found

        self._do(stream, action)

    def reduce(self, source, target, count, dtype, operation, root, stream) -> None:
        """Reduce all ranks' elements, for the root."""

        def action():
            found = self._reduced("reduce", source, count, dtype, operation, root)
            if self.rank == root:
                self._view(target, count, dtype)[:] = found

        self._do(stream, action)

    def reduce_scatter(self, source, target, count, dtype, operation, stream) -> None:
        """Reduce all ranks' elements and give each rank its `count` of them."""

        def action():
            found = self._reduced("reduce_scatter", source, count * self.size, dtype, operation)
            self._view(target, count, dtype)[:] = found[self.rank * count :][:count]

        self._do(stream, action)

    def broadcast(self, address, count, root, stream) -> None:
        """Bytes of the root to all."""

        def action():
            own = self._view(address, count)
            own[:] = self._exchanged(("broadcast", count, root), own)[root]

        self._do(stream, action)

    def all_gather(self, source, target, count, stream) -> None:
        """Every rank's bytes, one behind the other, to all."""

        def action():
            rows = self._exchanged(("all_gather", count), self._view(source, count))
            self._view(target, count * self.size)[:] = rows.reshape(-1)

        self._do(stream, action)

    def send(self, address, count, peer, stream) -> None:
        """Bytes to a rank, which receives them."""
        self._message("send", address, count, peer, stream)

    def receive(self, address, count, peer, stream) -> None:
        """Bytes from a rank, which sends them."""
        self._message("receive", address, count, peer, stream)

    def _message(self, kind, address, count, peer, stream):
        def action():
            message = (kind, self.peers[peer], self._view(address, count))
            if self.library.pending is not None:
                self.library.pending.append(message)
            else:
                _deliver([message])

        self._do(stream, action)

    def error(self) -> str | None:
        """Nothing goes wrong in the background."""
        return None

    def abort(self) -> None:
        """End calls that wait for ranks which do not come."""
        self.free()

    def free(self) -> None:
        """Give the communicator up."""
        for connection in self.peers.values():
            connection.close()
