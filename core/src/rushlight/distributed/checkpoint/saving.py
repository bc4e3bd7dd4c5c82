"""Saving state dicts by all ranks together, at once or while training goes on."""

from __future__ import annotations

import copy
import uuid
from concurrent.futures import Future, ThreadPoolExecutor

from rushlight.distributed import objects
from rushlight.distributed.checkpoint import planning
from rushlight.distributed.checkpoint.filesystem import FileSystemWriter, storage
from rushlight.distributed.checkpoint.flattening import flattened, written_path
from rushlight.distributed.checkpoint.metadata import Metadata, StorageMeta
from rushlight.distributed.groups import default_group
from rushlight.distributed.initialization import new_group
from rushlight.distributed.queries import is_initialized
from rushlight.tensor.tensor import Tensor

_VERSION = "1.0.0"


class _Alone:
    """The ranks of a saving by one process."""

    rank, size = 0, 1

    def gather(self, value):
        """The values of all ranks."""
        return [value]

    def scatter(self, values):
        """This rank's one of rank 0's values."""
        return values[0]


class _Together:
    """The ranks of a saving by a group."""

    def __init__(self, group):
        self.group, self.rank, self.size = group, group.rank(), group.size()

    def gather(self, value):
        """The values of all ranks on rank 0, elsewhere None."""
        every = [None] * self.size if self.rank == 0 else None
        objects.gather_object(value, every, group=self.group, group_dst=0)
        return every

    def scatter(self, values):
        """This rank's one of rank 0's values; an error among them is raised on every rank."""
        out = [None]
        objects.scatter_object_list(out, values, group=self.group, group_src=0)
        return out[0]


def ranks_of(process_group, no_dist):
    """The ranks that take part: all by default, this process where there is no group."""
    if no_dist or not is_initialized():
        return _Alone()
    return _Together(default_group() if process_group is None else process_group)


def resolve(state_dict):
    """A state dict with those of its objects that have one."""
    return {
        key: value.state_dict()
        if hasattr(value, "state_dict") and not isinstance(value, Tensor)
        else value
        for key, value in state_dict.items()
    }


def save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None,
         no_dist=False, use_collectives=True) -> Metadata:  # fmt: skip
    """Save a state dict into the folder `checkpoint_id`, all ranks together.

    Tensors that all ranks have are written once, by a rank that has little to write. Objects with a
    ``state_dict`` (modules, optimizers) are saved by it. The folder is one that PyTorch's
    ``distributed.checkpoint`` reads; the checkpoint that it held before stays whole until the new
    one is.
    """
    _check_planner("save", planner)
    ranks = ranks_of(process_group, no_dist)
    own = resolve(state_dict)
    writer = storage("save", FileSystemWriter, storage_writer, checkpoint_id)
    return _saved(own, writer, ranks)


def _check_planner(operation, planner):
    if planner is not None and not getattr(planner, "default", False):
        raise NotImplementedError(
            f"checkpoint.{operation}: planners of one's own are not available; leave planner out"
        )


def _saved(state_dict, writer, ranks):
    entries, paths = flattened(state_dict)
    plan = planning.described(entries, ranks.rank == 0)
    plans = ranks.gather((plan, {name: written_path(path) for name, path in paths.items()}))
    shares = identity = None
    if ranks.rank == 0:
        writer.prepare()
        identity = str(uuid.uuid4())
        names = [writer.file_name(rank, identity) for rank in range(ranks.size)]
        shares = list(zip(planning.dealt([p for p, _ in plans]), names, strict=True))
    keys, file_name = ranks.scatter(shares)
    parts = [(key, _part(entries[key[0]], key[1])) for key in keys]
    stored = writer.write(file_name, parts) if parts else []
    every = ranks.gather(stored)
    whole = None
    if ranks.rank == 0:
        whole = _metadata(plans, every, writer, identity)
        writer.finish(whole)
    return ranks.scatter(None if whole is None else [whole] * ranks.size)


def _part(value, offsets):
    if offsets is None:
        return value
    found = dict((tuple(start), part) for start, part in planning.pieces(value))[offsets]
    return found.detach().clone()  # of a view, its elements alone


def _metadata(plans, every, writer, identity):
    merged = planning.merged([plan for plan, _ in plans])
    storage = {
        planning.index_of(name, offsets, merged[name]): info
        for stored in every
        for (name, offsets), info in stored
    }
    paths: dict = {}
    for _, of_rank in plans:
        paths.update(of_rank)
    about = StorageMeta(str(writer.path), identity)
    return Metadata(merged, paths, storage, about, _VERSION)


# -- while training goes on -----------------------------------------------------------------------

_groups: dict = {}


def async_save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None,
               process_group=None, async_checkpointer_type=None, async_stager=None, no_dist=False,
               use_collectives=True) -> Future[Metadata]:  # fmt: skip
    """Copy a state dict and save the copy in a thread; returns a future of the metadata.

    The state dict may be changed as soon as this returns. Start the next saving when the future is
    done.
    """
    _check_planner("async_save", planner)
    if async_stager is not None:
        raise NotImplementedError("checkpoint.async_save: leave async_stager out")
    writer = storage("save", FileSystemWriter, storage_writer, checkpoint_id)
    # Collectives of two threads in one group would meet in different orders.
    ranks = ranks_of(process_group, no_dist)
    if isinstance(ranks, _Together):
        ranks = _Together(_own_group(ranks.group))
    copied = {key: _copied(value) for key, value in resolve(state_dict).items()}
    pool = ThreadPoolExecutor(1, thread_name_prefix="rushlight-checkpoint")
    future = pool.submit(_saved, copied, writer, ranks)
    pool.shutdown(wait=False)
    return future


def _own_group(group):
    """A group of the same ranks for the thread, whose calls have an order of their own."""
    if group.key not in _groups:
        _groups[group.key] = new_group(group.ranks, use_local_synchronization=True)
    return _groups[group.key]


def _copied(value):
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_copied(each) for each in value]
    return copy.deepcopy(value)
