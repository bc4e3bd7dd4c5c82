"""Loading checkpoints into the tensors of state dicts, each rank what it has."""

from __future__ import annotations

from rushlight.distributed.checkpoint import planning
from rushlight.distributed.checkpoint.filesystem import FileSystemReader, storage
from rushlight.distributed.checkpoint.flattening import flattened, put
from rushlight.distributed.checkpoint.metadata import BytesStorageMetadata, MetadataIndex
from rushlight.distributed.checkpoint.saving import resolve
from rushlight.ops.creation.tensors import empty
from rushlight.tensor.tensor import Tensor


class CheckpointException(RuntimeError):
    """A checkpoint does not hold what is asked for."""


class DefaultSavePlanner:
    """The way in which checkpoints are saved; its options are of no consequence."""

    default = True

    def __init__(self, **options):
        self.options = options


class DefaultLoadPlanner:
    """The way in which checkpoints are loaded.

    allow_partial_load: leave entries that the checkpoint lacks as they are.
    """

    default = True

    def __init__(
        self, flatten_state_dict=True, flatten_sharded_tensors=True, allow_partial_load=False
    ):
        self.allow_partial_load = allow_partial_load


def load(state_dict, *, checkpoint_id=None, storage_reader=None, planner=None, process_group=None,
         no_dist=False) -> None:  # fmt: skip
    """Load a checkpoint into the tensors of a state dict; other entries are replaced.

    Entries of the checkpoint that the state dict has not are left alone; one that the checkpoint
    lacks is an error. Ranks may be more or fewer than those that saved. Objects with a
    ``state_dict`` load it. Objects that are no tensors are unpickled with ``weights_only=True``.
    """
    if planner is not None and not getattr(planner, "default", False):
        raise NotImplementedError("checkpoint.load: use DefaultLoadPlanner or leave planner out")
    reader = storage("load", FileSystemReader, storage_reader, checkpoint_id)
    partial = getattr(planner, "allow_partial_load", False)
    own = resolve(state_dict)
    _fill(own, reader, partial)
    for key, value in state_dict.items():
        if hasattr(value, "load_state_dict") and not isinstance(value, Tensor):
            value.load_state_dict(own[key])
        else:
            state_dict[key] = own[key]


def _fill(state_dict, reader, partial):
    entries, paths = flattened(state_dict)
    whole = reader.read_metadata()
    missing = [name for name in entries if name not in whole.state_dict_metadata]
    if missing and not partial:
        raise CheckpointException(
            f"Missing key in checkpoint state_dict: {', '.join(missing[:5])}"
            + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            + "; pass planner=DefaultLoadPlanner(allow_partial_load=True) to leave them as they are"
        )
    for name, value in entries.items():
        entry = whole.state_dict_metadata.get(name)
        if entry is None:
            continue
        if isinstance(entry, BytesStorageMetadata):
            put(state_dict, paths[name], reader.read(whole.storage_data[MetadataIndex(name)]))
        elif isinstance(value, Tensor):
            planning.fill(value, name, entry, whole.storage_data, reader.read)
        else:
            put(state_dict, paths[name], whole_tensor(name, whole, reader))


def whole_tensor(name, whole, reader):
    """A stored tensor, all chunks of it."""
    entry = whole.state_dict_metadata[name]
    target = empty(tuple(entry.size), dtype=entry.properties.dtype)
    planning.fill(target, name, entry, whole.storage_data, reader.read)
    return target
