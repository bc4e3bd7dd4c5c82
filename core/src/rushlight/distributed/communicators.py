"""How flat arrays get from rank to rank: the interface, and the group of one process.

A method starts an operation and returns its requests; arrays must stay as they are until those are
complete. Ranks are the group's own. Pieces of more than LIMIT elements or bytes are sent one by
one: not every MPI counts beyond 2^31.
"""

from __future__ import annotations

from rushlight.machine import np

LIMIT = 1 << 30


def pieces(array: np.ndarray, limit: int | None = None):
    """An array in pieces of at most LIMIT elements; one, though empty, where it has none."""
    limit = limit or LIMIT
    if array.size <= limit:
        return (array,)
    return [array[start : start + limit] for start in range(0, array.size, limit)]


def adjacent(arrays) -> bool:
    """Whether equally typed flat arrays follow each other in memory."""
    place = arrays[0].ctypes.data
    for array in arrays:
        if array.size and array.ctypes.data != place:
            return False
        place += array.nbytes
    return True


class HostCommunicator:
    """What carries arrays of the CPU."""

    watch = None  # a function that looks after an operation whose process does not wait for it

    @staticmethod
    def follow_on(requests) -> bool:
        """Let later work of the current stream wait for requests, and take them as complete; False
        where the process itself must wait."""
        return False


class LocalCommunicator(HostCommunicator):
    """A group of one process: nothing is sent."""

    rank, size = 0, 1

    def __init__(self):
        self.waiting: list = []  # messages to oneself: (tag, array)

    def reduce(self, array, operation, root=None) -> list:
        """Reduce `array`, on all ranks or on `root` alone."""
        return []

    def broadcast(self, array, root) -> list:
        """Fill `array` with the root's."""
        return []

    def all_gather(self, outputs, array) -> list:
        """Fill the `outputs`, one a rank, with the ranks' arrays."""
        np.copyto(outputs[0], array)
        return []

    def reduce_scatter(self, output, inputs, operation) -> list:
        """Fill `output` with this rank's part of the reduced inputs, one a rank."""
        np.copyto(output, inputs[0])
        return []

    def exchange(self, sends, receives, tag) -> list:
        """Send arrays to and receive arrays from ranks: lists of (array, rank)."""
        for (sent, _), (received, _) in zip(sends, receives, strict=True):
            np.copyto(received, sent)
        return []

    def barrier(self) -> list:
        """Complete when all ranks have called."""
        return []

    def send(self, array, peer, tag) -> list:
        """Send bytes to a rank, which receives them with the same tag."""
        raise ValueError("a group of one process has nobody to send to")

    def receive(self, array, peer, tag) -> list:
        """Receive bytes from a rank, or from any where `peer` is None."""
        raise ValueError("a group of one process has nobody to receive from")

    def free(self) -> None:
        """Give the communicator up."""

    @staticmethod
    def test(requests) -> bool:
        """Whether all requests are complete."""
        return True
