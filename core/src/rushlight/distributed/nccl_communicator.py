"""Flat arrays of GPUs over NCCL: every operation is put on a stream of the group's own.

That stream waits for the current one, which later waits for it: the process does not wait at all.
"""

from __future__ import annotations

import contextlib

from rushlight.distributed.communicators import adjacent
from rushlight.distributed.errors import DistStoreError
from rushlight.distributed.watchdog import watchdog
from rushlight.machine import np
from rushlight.machine.cuda import runtime


class Enqueued:
    """An operation that is put on a stream: complete when its event has happened."""

    __slots__ = ("bytes", "current", "event", "followed", "peer")

    def __init__(self, current, peer=None, nbytes=0):
        self.current, self.followed, self.peer, self.bytes = current, False, peer, nbytes
        self.event = None

    def record(self, stream) -> Enqueued:
        """It is complete when the stream's work so far is."""
        self.event = self.current.event_create(False, runtime.streams.device_of(stream))
        self.current.event_record(self.event, stream)
        return self

    def ended(self) -> bool:
        """Whether the device has done it."""
        return self.event is not None and self.current.event_query(self.event)

    def happened(self) -> bool:
        """Whether it is complete, or later work of the current stream waits for it."""
        return self.followed or self.ended()

    def __del__(self):
        with contextlib.suppress(Exception):  # at the end of the interpreter
            self.current.event_destroy(self.event)


def introduced(group, key: str, ranks):
    """A name of NCCL's for some ranks of a group, once all have come; DistStoreError names those
    that have not within the group's timeout."""
    store, own = group.store, group.rank()
    store.set(f"{key}/{own}", b"1")
    try:
        store.wait([f"{key}/{rank}" for rank in ranks], group.timeout)
    except (DistStoreError, RuntimeError) as error:
        missing = [group.ranks[r] for r in ranks if not store.check([f"{key}/{r}"])]
        raise DistStoreError(
            f"[Rank {group.world_rank}] NCCL: after {group.timeout.total_seconds():g} s ranks "
            f"{missing} have not called the first operation on tensors of GPUs"
        ) from error
    if own == ranks[0]:
        store.set(f"{key}/name", runtime.current().nccl().unique_id())
    return store.get(f"{key}/name")


class NCCLCommunicator:
    """The ranks of a group that exchange arrays of one GPU each."""

    watch = staticmethod(watchdog.watch)

    def __init__(self, group, device: int, key: str):
        self.group, self.device, self.key = group, device, f"{key}/{group.key}"
        self.rank, self.size = group.rank(), group.size()
        self.current = runtime.current()
        self.library = self.current.nccl()
        self.stream = self.current.stream_create(device)
        self.pairs: dict = {}  # of this rank with another: their own communicators
        self.unrecorded: list | None = (
            None  # within `together`: messages that are not on the stream
        )
        self.all = self._made(self.key, range(self.size))

    def _made(self, key, ranks):
        name = introduced(self.group, key, ranks)
        return self.library.communicator(len(ranks), name, ranks.index(self.rank), self.device)

    # -- what is put on the stream ----------------------------------------------------------------

    @contextlib.contextmanager
    def _ordered(self, *arrays):
        """Calls within it come after the current stream's work, and keep the arrays' memory."""
        ready = Enqueued(self.current).record(runtime.streams.current(self.device))
        self.current.stream_wait_event(self.stream, ready.event)
        for array in arrays:
            array.block.used_by(self.stream)
        with self.library.together():
            yield

    def _done(self, peer=None, nbytes=0):
        made = Enqueued(self.current, peer, nbytes)
        if self.unrecorded is None:
            made.record(self.stream)
        else:
            self.unrecorded.append(made)
        return [made]

    def follow_on(self, requests) -> bool:
        """Let later work of the current stream wait for requests, and take them as complete."""
        now = runtime.streams.current(self.device)
        for request in requests:
            if request.event is None:
                raise RuntimeError("wait(): a message of batch_isend_irecv that has not started")
            self.current.stream_wait_event(now, request.event)
            request.followed = True
        return True

    @staticmethod
    def test(requests) -> bool:
        """Whether all requests are complete."""
        return all(request.happened() for request in requests)

    @staticmethod
    def test_receives(requests):
        """The sender and the bytes of a message that is there, else None."""
        (request,) = requests
        return (request.peer, request.bytes) if request.happened() else None

    # -- collectives ------------------------------------------------------------------------------

    def reduce(self, array, operation, root=None) -> list:
        """Reduce `array`, on all ranks or on `root` alone."""
        place, count, kind = array.address, array.size, array.dtype
        with self._ordered(array):
            if root is None:
                self.all.all_reduce(place, place, count, kind, operation, self.stream)
            else:
                self.all.reduce(place, place, count, kind, operation, root, self.stream)
        return self._done()

    def broadcast(self, array, root) -> list:
        """Fill `array` with the root's."""
        with self._ordered(array):
            self.all.broadcast(array.address, array.nbytes, root, self.stream)
        return self._done()

    def all_gather(self, outputs, array) -> list:
        """Fill the `outputs`, one a rank and equally long, with the ranks' arrays."""
        if adjacent(outputs):
            with self._ordered(*outputs, array):
                self.all.all_gather(array.address, outputs[0].address, array.nbytes, self.stream)
            return self._done()
        np.copyto(outputs[self.rank], array)
        with self._ordered(*outputs):
            for root, output in enumerate(outputs):
                self.all.broadcast(output.address, output.nbytes, root, self.stream)
        return self._done()

    def reduce_scatter(self, output, inputs, operation) -> list:
        """Fill `output` with this rank's part of the reduced inputs, one a rank."""
        kind, equal = output.dtype, len({each.size for each in inputs}) == 1
        if equal and adjacent(inputs):
            with self._ordered(output, *inputs):
                self.all.reduce_scatter(
                    inputs[0].address, output.address, output.size, kind, operation, self.stream
                )
            return self._done()
        with self._ordered(output, *inputs):
            for root, each in enumerate(inputs):
                self.all.reduce(
                    each.address, output.address, each.size, kind, operation, root, self.stream
                )
        return self._done()

    # -- messages ---------------------------------------------------------------------------------

    def exchange(self, sends, receives, tag) -> list:
        """Send arrays to and receive arrays from ranks: lists of (array, rank)."""
        with self._ordered(*(array for array, _ in (*sends, *receives))):
            for array, peer in receives:
                self.all.receive(array.address, array.nbytes, peer, self.stream)
            for array, peer in sends:
                self.all.send(array.address, array.nbytes, peer, self.stream)
        return self._done()

    def meet(self, peers) -> None:
        """Make the communicators with some ranks, in an order that is the same on all ranks."""
        for peer in sorted({*peers} - {*self.pairs}, key=self._pair):
            low, high = ranks = self._pair(peer)
            self.pairs[peer] = self._made(f"{self.key}/{low}-{high}", ranks)

    def _pair(self, peer):
        return (min(self.rank, peer), max(self.rank, peer))

    def send(self, array, peer, tag) -> list:
        """Send bytes to a rank, which receives them; tags are of no consequence."""
        self.meet([peer])
        with self._ordered(array):
            other = self._pair(peer).index(peer)
            self.pairs[peer].send(array.address, array.nbytes, other, self.stream)
        return self._done(peer, array.nbytes)

    def receive(self, array, peer, tag) -> list:
        """Receive bytes from a rank."""
        if peer is None:
            raise NotImplementedError("recv: NCCL needs the rank that sends: name it in `src`")
        self.meet([peer])
        with self._ordered(array):
            other = self._pair(peer).index(peer)
            self.pairs[peer].receive(array.address, array.nbytes, other, self.stream)
        return self._done(peer, array.nbytes)

    @contextlib.contextmanager
    def together(self):
        """Messages within it start together, whatever their order."""
        self.unrecorded = []
        try:
            # NCCL puts them on the stream when the outermost group ends.
            with self.library.together():
                yield
            for request in self.unrecorded:
                request.record(self.stream)
        finally:
            self.unrecorded = None

    def error(self) -> str | None:
        """What has gone wrong in the background, if anything has."""
        found = [each.error() for each in (self.all, *self.pairs.values())]
        return next((each for each in found if each), None)

    def free(self) -> None:
        """Give the communicators up, once their work is done."""
        self.current.stream_synchronize(self.stream)
        for each in (self.all, *self.pairs.values()):
            each.free()
        self.current.stream_destroy(self.stream)
