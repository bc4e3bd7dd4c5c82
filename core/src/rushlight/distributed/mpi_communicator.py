"""Flat arrays over MPI: every operation is one of MPI's that does not block, or several pieces."""

from __future__ import annotations

from rushlight.distributed import communicators
from rushlight.distributed.communicators import HostCommunicator, adjacent, pieces
from rushlight.machine import np
from rushlight.machine.arrays import strided


class MPICommunicator(HostCommunicator):
    """A group of MPI's processes. Objects of its own carry what is no collective of MPI's."""

    def __init__(self, MPI, comm):
        self.MPI, self.comm = MPI, comm
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        self.direct = comm.Dup()  # for `exchange`, whose tags users do not choose
        self.direct.Set_errhandler(MPI.ERRORS_RETURN)
        self.rank, self.size = comm.rank, comm.size
        self.types = {
            np.dtype(name): getattr(MPI, mpi)
            for name, mpi in (
                ("uint8", "UINT8_T"), ("int8", "INT8_T"), ("uint16", "UINT16_T"),
                ("int16", "INT16_T"), ("uint32", "UINT32_T"), ("int32", "INT32_T"),
                ("uint64", "UINT64_T"), ("int64", "INT64_T"), ("float32", "FLOAT"),
                ("float64", "DOUBLE"),
            )
        }  # fmt: skip
        self.test = MPI.Request.Testall

    def _typed(self, array):
        return [array, array.size, self.types[array.dtype]]

    def reduce(self, array, operation, root=None) -> list:
        """Reduce `array`, on all ranks or on `root` alone."""
        op, here = getattr(self.MPI, operation), self.MPI.IN_PLACE
        if root is None:
            return [self.comm.Iallreduce(here, self._typed(p), op) for p in pieces(array)]
        if self.rank == root:
            return [self.comm.Ireduce(here, self._typed(p), op, root) for p in pieces(array)]
        return [self.comm.Ireduce(self._typed(p), None, op, root) for p in pieces(array)]

    def broadcast(self, array, root) -> list:
        """Fill `array` with the root's."""
        whole = array.view(np.uint8)
        return [self.comm.Ibcast(self._bytes(p), root) for p in pieces(whole)]

    def _bytes(self, array):
        return [array, array.size, self.MPI.BYTE]

    def all_gather(self, outputs, array) -> list:
        """Fill the `outputs`, one a rank and equally long, with the ranks' arrays."""
        # One call of MPI's where it may fill one array, else a broadcast of each rank's.
        if adjacent(outputs) and outputs[0].nbytes * self.size <= communicators.LIMIT:
            whole = _joined(outputs).view(np.uint8)
            sent = array.view(np.uint8)
            count = sent.size
            receive = [whole, count, self.MPI.BYTE]
            return [self.comm.Iallgather(self._bytes(sent), receive)]
        np.copyto(outputs[self.rank], array)
        return [request for root in range(self.size)
                for request in self.broadcast(outputs[root], root)]  # fmt: skip

    def reduce_scatter(self, output, inputs, operation) -> list:
        """Fill `output` with this rank's part of the reduced inputs, one a rank."""
        op = getattr(self.MPI, operation)
        if adjacent(inputs) and sum(each.size for each in inputs) <= communicators.LIMIT:
            counts = [each.size for each in inputs]
            sent, received = self._typed(_joined(inputs)), self._typed(output)
            return [self.comm.Ireduce_scatter(sent, received, counts, op)]
        np.copyto(output, inputs[self.rank])
        own = [*inputs[: self.rank], output, *inputs[self.rank + 1 :]]
        return [request for root in range(self.size)
                for request in self.reduce(own[root], operation, root)]  # fmt: skip

    def exchange(self, sends, receives, tag) -> list:
        """Send arrays to and receive arrays from ranks: lists of (array, rank)."""
        requests = []
        # Receives first: what arrives then goes to its array at once, not through MPI's buffers.
        for array, peer in receives:
            requests += self._receive(self.direct, array.view(np.uint8), peer, tag)
        for array, peer in sends:
            requests += self._send(self.direct, array.view(np.uint8), peer, tag)
        return requests

    def _send(self, comm, array, peer, tag):
        return [comm.Isend(self._bytes(p), peer, tag) for p in pieces(array)]

    def _receive(self, comm, array, peer, tag):
        return [comm.Irecv(self._bytes(p), peer, tag) for p in pieces(array)]

    def barrier(self) -> list:
        """Complete when all ranks have called."""
        return [self.comm.Ibarrier()]

    def send(self, array, peer, tag) -> list:
        """Send bytes to a rank, which receives them with the same tag."""
        return self._send(self.comm, array, peer, tag)

    def receive(self, array, peer, tag) -> list:
        """Receive bytes from a rank, or from any where `peer` is None."""
        if peer is None:
            if array.size > communicators.LIMIT:
                raise NotImplementedError(
                    f"recv: {array.size} bytes from any rank; name the rank in `src` for messages "
                    f"of more than {communicators.LIMIT} bytes"
                )
            peer = self.MPI.ANY_SOURCE
        return self._receive(self.comm, array, peer, tag)

    def test_receives(self, requests):
        """The sender and the bytes of a message whose pieces are all there, else None."""
        statuses = [self.MPI.Status() for _ in requests]
        if not self.MPI.Request.Testall(requests, statuses):
            return None
        count = sum(status.Get_count(self.MPI.BYTE) for status in statuses)
        return statuses[0].Get_source(), count

    def free(self) -> None:
        """Give the communicator up."""
        self.direct.Free()
        self.comm.Free()


def _joined(arrays):
    """Adjacent arrays as one."""
    first = arrays[0]
    count = sum(each.size for each in arrays)
    return strided(first, (count,), (first.itemsize,))
