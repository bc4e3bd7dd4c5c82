"""Checkpoints that several ranks save and load together, in PyTorch's format.

Stands above collectives and serialization. Begin reading at :mod:`.saving` and :mod:`.loading`;
:mod:`.filesystem` has the format, :mod:`.state_dict` the helpers for models and optimizers.

>>> import tempfile
>>> import rushlight.distributed.checkpoint as dcp
>>> folder = tempfile.mkdtemp()
>>> _ = dcp.save({"x": rushlight.ones(2), "step": 3}, checkpoint_id=folder)
>>> state = {"x": rushlight.zeros(2), "step": 0}
>>> dcp.load(state, checkpoint_id=folder)
>>> state
{'x': tensor([1., 1.]), 'step': 3}
"""

from __future__ import annotations

from rushlight.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from rushlight.distributed.checkpoint.loading import (
    CheckpointException,
    DefaultLoadPlanner,
    DefaultSavePlanner,
    load,
)
from rushlight.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from rushlight.distributed.checkpoint.saving import async_save, save
from rushlight.refusals import rest_of


def save_state_dict(state_dict, storage_writer, process_group=None, coordinator_rank=0,
                    no_dist=False, planner=None) -> Metadata:  # fmt: skip
    """The former form of :func:`save`."""
    return save(
        state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist,
        planner=planner,
    )  # fmt: skip


def load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0,
                    no_dist=False, planner=None) -> None:  # fmt: skip
    """The former form of :func:`load`."""
    load(state_dict, storage_reader=storage_reader, planner=planner)


__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner",
    "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter", "Metadata",
    "TensorStorageMetadata", "async_save", "load", "load_state_dict", "save", "save_state_dict",
]  # fmt: skip

__getattr__ = rest_of(__name__, parts="filesystem format_utils metadata state_dict stateful")
