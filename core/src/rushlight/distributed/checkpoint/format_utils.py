"""Checkpoints of ranks as one file of ``save``, and back."""

from __future__ import annotations

from rushlight import serialization
from rushlight.distributed.checkpoint.filesystem import FileSystemReader
from rushlight.distributed.checkpoint.flattening import put
from rushlight.distributed.checkpoint.loading import whole_tensor
from rushlight.distributed.checkpoint.metadata import BytesStorageMetadata, MetadataIndex
from rushlight.distributed.checkpoint.saving import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir, torch_save_path) -> None:
    """Write all of a checkpoint folder into one file that ``load`` reads."""
    reader = FileSystemReader(dcp_checkpoint_dir)
    whole = reader.read_metadata()
    state_dict: dict = {}
    for name, entry in whole.state_dict_metadata.items():
        if isinstance(entry, BytesStorageMetadata):
            value = reader.read(whole.storage_data[MetadataIndex(name)])
        else:
            value = whole_tensor(name, whole, reader)
        put(state_dict, (whole.planner_data or {}).get(name, (name,)), value)
    serialization.save(state_dict, torch_save_path)


def torch_save_to_dcp(torch_save_path, dcp_checkpoint_dir) -> None:
    """Write a state dict that ``save`` wrote as a checkpoint folder."""
    state_dict = serialization.load(torch_save_path, weights_only=True)
    save(state_dict, checkpoint_id=dcp_checkpoint_dir, no_dist=True)
