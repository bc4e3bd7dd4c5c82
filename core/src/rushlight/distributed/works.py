"""Operations that go on: waiting for them, and what is said when they cannot end."""

from __future__ import annotations

import os
import time

from rushlight.distributed.errors import DistBackendError
from rushlight.futures import Future

_SPINS = 300  # tests before others get the processor: some 100 microseconds
_YIELDS = 3000  # tests after which the thread sleeps between two of them
_NAP = 5e-5
abandoned: list = []  # operations given up: MPI may still write into their arrays


class Work:
    """An operation of several processes that was started.

    It advances whenever its process waits or asks for any operation of the group. Get one by
    ``async_op=True``, :func:`isend` or :func:`irecv`.
    """

    def __init__(self, group, name, requests, finish=None, result=(), shape=None, peers=None):
        self._group, self._name, self._requests = group, name, requests
        self._held = None
        self._carrier = group.communicator
        self._finish, self._result, self._shape = finish, list(result), shape
        self._peers = peers  # of messages: [(key, number, rank)], see `ProcessGroup.message`
        self._error = None
        self._done = False
        self._future = None
        self._number = 0

    def by(self, carrier) -> Work:
        """The same operation, as one of another communicator than the group's for the CPU."""
        self._carrier = carrier
        return self

    def holding(self, arrays) -> Work:
        """The same operation, which keeps what it was made with until it is complete: mpi4py's
        requests of some collectives leave the array that is sent to its owner, who may be gone."""
        self._held = arrays
        return self

    def is_completed(self) -> bool:
        """Whether the operation has ended, successfully or not."""
        if not self._done and self._error is None:
            self._group.advance(self)
        return self._done or self._error is not None

    def is_success(self) -> bool:
        """Whether the operation has ended successfully."""
        return self._done

    def exception(self):
        """The error by which the operation ended, or None."""
        return self._error

    def wait(self, timeout=None) -> bool:
        """Return True when the operation is complete.

        timeout: a timedelta; the group's by default. Raises DistBackendError when it is over, or
            when a rank that takes part is gone.

        Of GPUs' tensors, and without `timeout`, it returns at once: what this thread does later
        with its current stream waits for the operation, as in PyTorch.
        """
        if timeout is None and not self.is_completed():
            if self._carrier.follow_on(self._requests):
                self._group.advance(self)
        if not self.is_completed():
            seconds = (timeout or self._group.timeout).total_seconds()
            self._poll(seconds)
        if self._error is not None:
            raise self._error
        return True

    def _poll(self, seconds):
        # MPI's own waits cannot be given up, and spin: here a deadline, ranks that are gone and
        # other processes of the same cores are looked after between two tests.
        end = time.monotonic() + seconds if seconds > 0 else float("inf")
        spins = 0
        while not self.is_completed():
            spins += 1
            if spins > _SPINS:
                if spins % 64 == 0:
                    self._look_around(end, seconds)
                if spins > _YIELDS:
                    time.sleep(_NAP)
                else:
                    os.sched_yield()

    def _look_around(self, end, seconds):
        reason = self._group.obstacle(self)
        if reason is None and time.monotonic() > end:
            reason = f"timed out after {seconds:g} s{self._group.absent(self)}"
        # Once more: the last piece may have come after the rank that sent it had left.
        if reason is not None and not self.is_completed():
            self.give_up(DistBackendError(f"{self.described()} {reason}"))

    def give_up(self, error: BaseException) -> None:
        """End by an error; the arrays stay, since MPI may still use them."""
        self._error = error
        abandoned.append((self._requests, self._held, self._finish, self._result))
        self._group.outstanding.discard(self)
        if self._future is not None:
            self._future.set_exception(error)

    def described(self) -> str:
        """Rank, operation, number and shape, for messages."""
        group = self._group
        shape = "" if self._shape is None else f" of {self._shape}"
        return (
            f"[Rank {group.world_rank}] {self._name}{shape}, number {self._number} in group "
            f"{group.group_name!r} of {group.size()} ranks,"
        )

    def ready(self) -> bool:
        """Whether all requests are complete."""
        return self._carrier.test(self._requests)

    def complete(self) -> None:
        """What remains to be done once all requests are complete."""
        finish, self._finish = self._finish, None
        self._requests = self._held = None
        if finish is not None:
            finish()
        self._done = True
        if self._future is not None:
            self._future.set_result(self._result)

    def result(self) -> list:
        """The tensors that the operation fills."""
        return self._result

    def synchronize(self) -> None:
        """As `wait`."""
        self.wait()

    def source_rank(self) -> int:
        """From which rank a message came, in the whole job."""
        raise RuntimeError(f"{self._name}: source_rank() may only be called on a receive")

    def get_future(self) -> Future:
        """A future of the tensors that the operation fills."""
        if self._future is None:
            self._future = Future()
            self._future._advance = self._bring
            if self._error is not None:
                self._future.set_exception(self._error)
            elif self._done:
                self._future.set_result(self._result)
        return self._future

    def _bring(self, wait):
        if not wait:
            self.is_completed()
        else:
            try:
                self.wait()
            except DistBackendError:
                return  # the future has it


class Receive(Work):
    """A message that is to come."""

    source = -1
    expected = 0  # bytes

    def ready(self) -> bool:
        """Whether the message is there; then from whom it came, and whether it is of the size."""
        found = self._carrier.test_receives(self._requests)
        if found is None:
            return False
        sender, count = found
        self.source = self._group.ranks[sender]
        if not self._peers:
            self._peers = self._group.message(sender, self._group.rank())
        if count != self.expected:
            raise ValueError(
                f"rank {self.source} sent {count} bytes, the tensor has {self.expected}: sender "
                "and receiver must name tensors of one shape and dtype"
            )
        return True

    def source_rank(self) -> int:
        """From which rank the message came, in the whole job."""
        if not self._done:
            raise RuntimeError("recv: source_rank() may only be called once it is complete")
        return self.source
