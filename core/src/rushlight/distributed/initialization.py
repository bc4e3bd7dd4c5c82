"""Making the group of all processes, groups of some, and giving them up."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import socket
from typing import TYPE_CHECKING

from rushlight.distributed import backends, debug, lifetime
from rushlight.distributed.communicators import LocalCommunicator
from rushlight.distributed.errors import DistStoreError
from rushlight.distributed.groups import (
    GroupMember,
    default_group,
    default_pg_timeout,
    job,
    resolved,
)
from rushlight.distributed.mpi_communicator import MPICommunicator
from rushlight.distributed.prefix_store import PrefixStore
from rushlight.distributed.process_group import ProcessGroup
from rushlight.distributed.rendezvous import rendezvous, seconds
from rushlight.distributed.works import abandoned
from rushlight.machine.mpi import startup
from rushlight.machine.mpi.control import Control
from rushlight.machine.mpi.job_server import JobServer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from rushlight.devices import device
    from rushlight.distributed.stores import Store


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | float | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: object = None,
    device_id: device | int | str | None = None,
    _ranks: Sequence[int] | None = None,
) -> None:
    """Make the group of all processes; each of them calls it.

    Args:
        backend: ``"gloo"`` or ``"mpi"``, both served by MPI, for tensors of the CPU; ``"nccl"`` for
            those of GPUs (tensors of the CPU go by MPI then, too); ``"cpu:gloo,cuda:nccl"``. By
            default ``"gloo"``, and NCCL for tensors of GPUs where it is there.
        init_method: ``env://`` (default; MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, or what
            ``srun``, ``jsrun``, ``pbsdsh`` or ``mpiexec`` sets), ``tcp://host:port`` or ``file:///path``.
        timeout: a timedelta, how long the start and every operation may take; 30 minutes.
        world_size, rank: how many processes there are, and which of them this is.
        store: instead of `init_method`, with `rank` and `world_size`.
        group_name, pg_options, device_id: of no consequence.

    Several processes need ``rushlight[mpi]``: ImportError without it. MPI starts once a process:
    after :func:`destroy_process_group` the same processes may make a group again, with the ranks
    they had.
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    chosen = backends.chosen(backend)
    limit = default_pg_timeout if timeout is None else seconds(timeout)
    debug.set_debug_level_from_env()
    if rank >= 0 and world_size > 1:
        _check_membership(rank, world_size)
    store, rank, world_size = _found(chosen, init_method, store, rank, world_size, limit)
    if not 0 <= rank < world_size:
        raise ValueError(f"init_process_group: rank {rank} is not in 0 .. {world_size - 1}")
    if world_size == 1:
        communicator = LocalCommunicator()
    else:
        communicator = _connected(store, rank, world_size, limit)
        job.generation += 1
    job.count = 0
    GroupMember.WORLD = job.groups["0"] = ProcessGroup(
        communicator, range(world_size), "0", chosen, limit, store, "default_pg"
    )


def _found(backend, init_method, store, rank, world_size, timeout):
    """The store, this process's rank and the number of processes."""
    if store is not None:
        if init_method is not None:
            raise ValueError("Cannot specify both init_method and store.")
        if world_size < 1:
            raise ValueError("world_size must be positive if using store")
        if rank < 0:
            raise ValueError("rank must be non-negative if using store")
        store.set_timeout(timeout)
        return store, rank, world_size
    if backend == "mpi" and init_method is None and startup.launched() is None:
        if rank < 0 and world_size < 0 and not lifetime.has_variables():
            return None, 0, 1
    url = init_method or "env://"
    return next(iter(rendezvous(url, rank, world_size, timeout=timeout)))


# -- processes become one job of MPI's ------------------------------------------------------------


def _connected(store, rank, size, timeout):
    """The communicator of all processes, MPI being started if it is not."""
    _check_membership(rank, size)
    if job.mpi is None:
        _start_mpi(store, rank, size, timeout)
    job.membership = rank, size
    with lifetime.uninterruptible():
        return MPICommunicator(job.mpi, job.mpi.COMM_WORLD.Dup())


def _start_mpi(store, rank, size, timeout):
    if startup.launched() is not None:
        _check_launched(rank, size)
        server = startup.connected_server()
        if server is not None:
            job.process = os.getpid()
            job.control = Control(rank, size, *server, job.done, served_by=None)
        with lifetime.uninterruptible():
            job.mpi = startup.join_launched()
        lifetime.watch_launched()
        job.mpi.COMM_WORLD.Barrier()
        startup.unlink_shared_memory()
    else:
        startup.check_can_join(startup.load())
        _start(PrefixStore("rushlight", store), rank, size, timeout)


def _check_membership(rank, size):
    if job.membership not in (None, (rank, size)):
        raise RuntimeError(
            f"init_process_group: this process was rank {job.membership[0]} of "
            f"{job.membership[1]} and would become rank {rank} of {size}; MPI starts once a "
            "process: start new processes for other ranks"
        )


def _check_launched(rank, size):
    found = startup.launched()
    if found != (rank, size):
        raise ValueError(
            f"init_process_group: rank {rank} of {size} was asked for, mpiexec started this "
            f"process as rank {found[0]} of {found[1]}"
        )


def _start(store, rank, size, timeout):
    job.process = os.getpid()
    # MPI_Init waits for all ranks without end: let it begin when all are there.
    _arrive(store, rank, size, timeout)
    address, token = _served(store, rank, size)
    job.control = Control(rank, size, address, token, job.done)
    lifetime.watch()
    with lifetime.uninterruptible():
        job.mpi = startup.join(rank, size, address, token)
        job.mpi.COMM_WORLD.Barrier()
    startup.unlink_shared_memory()


def _arrive(store, rank, size, timeout):
    """Return when all ranks have come; raises with the names of those that have not."""
    if store.add(f"arrived/{rank}", 1) > 1:
        raise RuntimeError(
            f"init_process_group: two processes are rank {rank} of {size}, or the store (a file, a "
            "port) is one of an earlier job: give every process its rank and every job its store"
        )
    try:
        store.wait([f"arrived/{each}" for each in range(size)], timeout)
    except (DistStoreError, RuntimeError) as error:
        missing = [each for each in range(size) if not store.check([f"arrived/{each}"])]
        raise DistStoreError(
            f"[Rank {rank}] init_process_group timed out after {timeout.total_seconds():g} s: "
            f"{size - len(missing)}/{size} ranks have come, missing are {missing}"
        ) from error


def _served(store, rank, size):
    """Where the job's server is and what it wants to hear; rank 0 starts it."""
    if rank == 0:
        token = secrets.token_hex(16)
        host = _own_address(store)
        job.server = JobServer(size, "127.0.0.1" if host == "127.0.0.1" else "", token)
        job.server.start()
        told = [host, startup.host_name(), job.server.port, token]
        store.set("server", json.dumps(told))
    host, machine, port, token = json.loads(store.get("server"))
    # Within a machine the loopback address works, whatever the machine's name resolves to.
    same = machine == startup.host_name()
    return ("127.0.0.1" if same else host, port), token


def _own_address(store):
    """Rank 0's address for others: as the store names it, else the name of the machine."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    host = getattr(store, "host", None)
    if host is None:
        return socket.gethostname()
    return "127.0.0.1" if host in ("localhost", "127.0.0.1") else host


# -- groups of some -------------------------------------------------------------------------------


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | float | None = None,
    backend: str | None = None,
    pg_options: object = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: device | int | str | None = None,
    sort_ranks: bool = True,
) -> ProcessGroup | int:
    """A group of some ranks (all by default), which every process of the job calls for.

    Those that are not in it get ``GroupMember.NON_GROUP_MEMBER``. With `use_local_synchronization`
    members alone call. `sort_ranks=False` keeps the order of `ranks` as that of ranks in the group.
    """
    world = default_group()
    members = _members(world, ranks, sort_ranks)
    name = _name(members, use_local_synchronization)
    if world.world_rank not in members:
        return GroupMember.NON_GROUP_MEMBER
    chosen = world.backend if backend is None else backends.chosen(backend)
    limit = world.timeout if timeout is None else seconds(timeout)
    communicator = _part(world, members, name)
    made = ProcessGroup(communicator, members, name, chosen, limit, world.store, group_desc or "")
    job.groups[name] = made
    return made


def _members(world, ranks, sort):
    if ranks is None:
        return list(world.ranks)
    members = sorted(ranks) if sort else list(ranks)
    if len(set(members)) != len(members):
        raise ValueError(f"new_group: ranks {members} name a rank twice")
    if not members:
        raise ValueError("new_group: ranks is empty; expected at least one rank")
    for rank in members:
        if rank not in world.rank_of:
            raise ValueError(
                f"new_group: the new group's rank {rank} should be within the world_size set by "
                f"`init_process_group` ({world.size()})"
            )
    return members


def _name(members, local):
    if not local:
        job.count += 1
        return str(job.count)
    place = tuple(members)
    number = job.local_counts[place] = job.local_counts.get(place, 0) + 1
    return hashlib.sha1(f"{place}{number}".encode(), usedforsecurity=False).hexdigest()


def _part(world, members, name):
    if world.size() == 1:
        return LocalCommunicator()
    comm = world.communicator.comm
    tag = int.from_bytes(hashlib.sha1(name.encode(), usedforsecurity=False).digest()[:3], "big")
    with lifetime.uninterruptible():
        chosen = comm.group.Incl(members)
        made = comm.Create_group(chosen, tag)
        chosen.Free()
        return MPICommunicator(world.communicator.MPI, made)


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Give up a group, or with the group of all processes all groups."""
    world = default_group()
    found = resolved(group)
    if found is None:
        raise ValueError("Invalid process group specified: this process does not belong to it")
    doomed = list(job.groups.values()) if found is world else [found]
    for each in reversed(doomed):
        if each.outstanding:
            abandoned.append(each.outstanding)
        else:
            each.free()
        del job.groups[each.group_name]
    if found is world:
        GroupMember.WORLD = None
        job.local_counts.clear()
