"""NCCL as CuPy binds it: arrays at addresses of device memory, from rank to rank.

A :class:`Communicator` of the emulator (:mod:`.emulated_nccl`) has the same members. All calls are
put on a stream and return at once; counts are in elements, sources and targets are addresses.
"""

from __future__ import annotations

import contextlib
import importlib

import ml_dtypes
import numpy as np

OPERATIONS = ("SUM", "PROD", "MIN", "MAX")
TYPES = {
    np.dtype(np.int8): "INT8",
    np.dtype(np.uint8): "UINT8",
    np.dtype(np.int32): "INT32",
    np.dtype(np.uint32): "UINT32",
    np.dtype(np.int64): "INT64",
    np.dtype(np.uint64): "UINT64",
    np.dtype(np.float16): "FLOAT16",
    np.dtype(np.float32): "FLOAT32",
    np.dtype(np.float64): "FLOAT64",
    np.dtype(ml_dtypes.bfloat16): "BFLOAT16",
}


class Library:
    """NCCL: names for jobs, communicators, and groups of calls."""

    def __init__(self, runtime):
        nccl = importlib.import_module("cupy.cuda.nccl")
        if not nccl.available:
            raise ImportError("CuPy was built without NCCL, or nvidia-nccl is not installed")
        self.runtime, self.nccl = runtime, nccl
        self.types = {dtype: getattr(nccl, f"NCCL_{name}") for dtype, name in TYPES.items()}
        self.operations = {name: getattr(nccl, f"NCCL_{name}") for name in OPERATIONS}

    def version(self) -> tuple[int, int, int]:
        """NCCL's version."""
        number = self.nccl.get_version()
        return number // 10000, number // 100 % 100, number % 100

    def unique_id(self) -> bytes:
        """A name for one communicator, which one rank makes and all use."""
        return bytes(self.nccl.get_unique_id())

    def communicator(self, size: int, name: bytes, rank: int, device: int) -> Communicator:
        """This rank's part of a communicator; returns when all ranks have called."""
        with self.runtime.device(device):
            return Communicator(self, self.nccl.NcclCommunicator(size, name, rank))

    @contextlib.contextmanager
    def together(self):
        """Calls within it start together, whatever their order."""
        self.nccl.groupStart()
        try:
            yield
        finally:
            self.nccl.groupEnd()


class Communicator:
    """One rank's part of a communicator."""

    def __init__(self, library, communicator):
        self.library, self.communicator = library, communicator

    def _stream(self, stream):
        return self.library.runtime.stream_pointer(stream)

    def all_reduce(self, source, target, count, dtype, operation, stream) -> None:
        """Reduce all ranks' elements, for all; `source` may be `target`."""
        known = self.library
        self.communicator.allReduce(
            source, target, count, known.types[dtype], known.operations[operation],
            self._stream(stream),
        )  # fmt: skip

    def reduce(self, source, target, count, dtype, operation, root, stream) -> None:
        """Reduce all ranks' elements, for the root."""
        known = self.library
        self.communicator.reduce(
            source, target, count, known.types[dtype], known.operations[operation], root,
            self._stream(stream),
        )  # fmt: skip

    def reduce_scatter(self, source, target, count, dtype, operation, stream) -> None:
        """Reduce all ranks' elements and give each rank its `count` of them."""
        known = self.library
        self.communicator.reduceScatter(
            source, target, count, known.types[dtype], known.operations[operation],
            self._stream(stream),
        )  # fmt: skip

    def broadcast(self, address, count, root, stream) -> None:
        """Bytes of the root to all."""
        kind = self.library.nccl.NCCL_UINT8
        self.communicator.bcast(address, count, kind, root, self._stream(stream))

    def all_gather(self, source, target, count, stream) -> None:
        """Every rank's bytes, one behind the other, to all."""
        kind = self.library.nccl.NCCL_UINT8
        self.communicator.allGather(source, target, count, kind, self._stream(stream))

    def send(self, address, count, peer, stream) -> None:
        """Bytes to a rank, which receives them."""
        kind = self.library.nccl.NCCL_UINT8
        self.communicator.send(address, count, kind, peer, self._stream(stream))

    def receive(self, address, count, peer, stream) -> None:
        """Bytes from a rank, which sends them."""
        kind = self.library.nccl.NCCL_UINT8
        self.communicator.recv(address, count, kind, peer, self._stream(stream))

    def error(self) -> str | None:
        """What has gone wrong in the background, if anything has."""
        try:
            self.communicator.check_async_error()
        except self.library.nccl.NcclError as error:
            return str(error)
        return None

    def abort(self) -> None:
        """End calls that wait for ranks which do not come."""
        self.communicator.abort()

    def free(self) -> None:
        """Give the communicator up."""
        self.communicator.destroy()
