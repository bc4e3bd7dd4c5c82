"""Groups of processes: who belongs to them, what was done in them, and the job they are part of."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from rushlight.distributed.works import Work
from rushlight.machine import np

if TYPE_CHECKING:
    from rushlight.distributed.process_group import ProcessGroup

default_pg_timeout = timedelta(minutes=30)


class GroupMember:
    """The group of all processes, and what stands for not belonging to a group."""

    WORLD: Any = None
    NON_GROUP_MEMBER = -100


class _Group(type):
    @property
    def WORLD(cls):  # noqa: N802 - PyTorch's name
        """The group of all processes, or None."""
        return GroupMember.WORLD

    @WORLD.setter
    def WORLD(cls, value):  # noqa: N802
        GroupMember.WORLD = value


class group(metaclass=_Group):  # noqa: N801 - PyTorch's name
    """``group.WORLD``: the group of all processes, None before init_process_group."""


class Job:
    """All that this process knows of the processes it works with."""

    def __init__(self):
        self.groups: dict[str, RankGroup] = {}
        self.generation = 0  # of groups of all processes, made one after the other
        self.count = 0  # of groups made by all processes
        self.local_counts: dict[tuple, int] = {}
        self.control = self.server = self.mpi = None
        self.membership: tuple[int, int] | None = None  # of MPI's world, once it runs
        self.process = os.getpid()
        self.failure: str | None = None  # why this process is about to end
        # Kept as counts, since those are what a rank that leaves can tell others.
        # By group and by pair: operations issued and completed here, for ranks that leave.
        self.issued: dict[str, int] = {}
        self.completed: dict[str, int] = {}

    def done(self) -> Completed:
        """What is complete here."""
        return Completed(self.completed, self.membership)


class Completed:
    """Counts of complete operations; those that this rank has no part in count as complete."""

    def __init__(self, counts, membership):
        self.counts, self.rank = counts, None if membership is None else membership[0]

    def get(self, key: str, otherwise: int) -> int:
        """How many operations of a group, or messages of a pair, are complete here."""
        if "|" in key:  # group|from|to
            concerned = key.endswith(f"|{self.rank}")
            return self.counts.get(key, 0) if concerned else otherwise
        return self.counts.get(key, otherwise)


job = Job()


class RankGroup:
    """Some processes of the job and the operations that go on among them."""

    device_carrier: Any  # the class of what carries arrays of GPUs

    def __init__(self, communicator, ranks, name, backend, timeout, store=None, description=""):
        self.communicator, self.ranks, self.group_name = communicator, list(ranks), name
        self.backend, self.timeout, self.group_desc = backend, timeout, description or "undefined"
        self.store = store
        self.rank_of = {rank: place for place, rank in enumerate(self.ranks)}
        self.number = 0  # of collectives issued
        self.monitored = 0  # of monitored barriers
        self.outstanding: set[Work] = set()
        self.world_rank = self.ranks[communicator.rank]
        self.key = f"{name}#{job.generation}"  # no two groups of a job have the same
        self.of_devices: dict = {}  # what carries arrays of each GPU
        job.issued[self.key] = job.completed[self.key] = 0

    def rank(self) -> int:
        """This process's rank in the group."""
        return self.communicator.rank

    def size(self) -> int:
        """How many processes belong to it."""
        return self.communicator.size

    def name(self) -> str:
        """The name of the backend."""
        return str(self.backend)

    def get_group_store(self):
        """The store that the group was made with."""
        return self.store

    def set_timeout(self, timeout: timedelta) -> None:
        """Choose how long operations may take."""
        self.timeout = timeout

    def _get_sequence_number_for_group(self) -> int:
        return self.number

    # -- what carries arrays ----------------------------------------------------------------------

    def carrier(self, operation: str, array):
        """The communicator for an array: MPI's for the CPU, NCCL's for a GPU, made when it is first
        asked for, by all ranks."""
        if type(array) is np.ndarray or self.size() == 1:
            return self.communicator
        device = array.device
        if device not in self.of_devices:
            if "cuda:nccl" not in self.backend.config:
                raise NotImplementedError(
                    f"{operation}: a tensor on cuda:{device} in a group of backend "
                    f"{str(self.backend)!r}, which carries tensors of the CPU: send "
                    "`tensor.cpu()`, or make the group with backend='nccl'"
                )
            key = f"nccl{len(self.of_devices)}"
            self.of_devices[device] = self.device_carrier(self, device, key)
        return self.of_devices[device]

    def free(self) -> None:
        """Give up all that carries arrays."""
        for each in (*self.of_devices.values(), self.communicator):
            each.free()

    # -- operations that go on ------------------------------------------------------------------

    def start(self, work: Work) -> Work:
        """Note that a collective was issued; every rank issues them in the same order."""
        self.number += 1
        work._number = self.number
        job.issued[self.key] = self.number
        return self.follow(work)

    def follow(self, work: Work) -> Work:
        """Let an operation advance until it is complete."""
        if self.outstanding:
            for other in list(self.outstanding):
                self.advance(other)
        self.outstanding.add(work)
        if work._carrier.watch is not None:
            work._carrier.watch(work)
        self.advance(work)
        return work

    def advance(self, work: Work) -> None:
        """Complete an operation whose requests are."""
        if work not in self.outstanding:
            return
        try:
            ready = work.ready()
        except Exception as error:
            work.give_up(RuntimeError(f"{work.described()} failed: {error}"))
            return
        if ready:
            self.outstanding.discard(work)
            self._count(work)
            work.complete()

    def _count(self, work):
        if work._peers is None:
            job.completed[self.key] += 1
        else:
            for key, _, _ in work._peers:
                job.completed[key] = job.completed.get(key, 0) + 1
        if job.control is not None and job.control.left:
            job.control.settle()

    def message(self, sender: int, receiver: int) -> list:
        """The number of one more message between ranks of the group, and whose it is."""
        key = f"{self.key}|{self.ranks[sender]}|{self.ranks[receiver]}"
        number = job.issued[key] = job.issued.get(key, 0) + 1
        other = receiver if sender == self.rank() else sender
        return [(key, number, self.ranks[other])]

    # -- ranks that are gone --------------------------------------------------------------------

    def obstacle(self, work: Work) -> str | None:
        """Why an operation cannot end: a rank is gone or has left; None if nothing is known."""
        control = job.control
        if control is None or not (control.gone or control.left):
            return None
        concerned = self.ranks if work._peers is None else [peer for _, _, peer in work._peers]
        for rank in concerned:
            if rank in control.gone:
                return f"cannot end: rank {rank} is gone ({control.gone[rank]})"
            # Who has left may have done its part before: its counts tell.
            if rank in control.left:
                reason = self._left_early(work, rank, control.left[rank])
                if reason is not None:
                    return reason
        return None

    def _left_early(self, work, rank, issued):
        if work._peers is None:
            if issued.get(self.key, 0) >= work._number:
                return None
            count = issued.get(self.key, 0)
            return f"cannot end: rank {rank} has left the job after {count} operations of the group"
        for key, number, peer in work._peers:
            if peer == rank and key.endswith(f"|{self.world_rank}") and issued.get(key, 0) < number:
                return f"cannot end: rank {rank} has left the job and sends no more"
        return None

    def absent(self, work: Work) -> str:
        """Where the other ranks are, as far as is known: for the message of a timeout."""
        others = [rank for rank in self.ranks if rank != self.world_rank]
        return f"; it waits for ranks among {others}"


def default_group() -> ProcessGroup:
    """The group of all processes; ValueError where there is none."""
    if GroupMember.WORLD is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    return GroupMember.WORLD


def resolved(group) -> ProcessGroup | None:
    """The group meant by an argument; None where this process does not belong to it."""
    if group is None:
        return default_group()
    if group is GroupMember.NON_GROUP_MEMBER or group == GroupMember.NON_GROUP_MEMBER:
        return None
    if not isinstance(group, RankGroup):
        raise TypeError(
            f"group must be a ProcessGroup or None, got {type(group).__name__} ({group!r})"
        )
    if group.group_name not in job.groups:
        raise ValueError(f"process group {group.group_name!r} was destroyed")
    return cast("ProcessGroup", group)
