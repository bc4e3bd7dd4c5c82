# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from concurrent.futures._base import Future
from os import PathLike
from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str
from rushlight.distributed.process_group import ProcessGroup
from typing import Any

from rushlight.distributed.checkpoint.metadata import BytesStorageMetadata as BytesStorageMetadata
from rushlight.distributed.checkpoint.loading import CheckpointException as CheckpointException
from rushlight.distributed.checkpoint.metadata import ChunkStorageMetadata as ChunkStorageMetadata
from rushlight.distributed.checkpoint.loading import DefaultLoadPlanner as DefaultLoadPlanner
from rushlight.distributed.checkpoint.loading import DefaultSavePlanner as DefaultSavePlanner
from rushlight.distributed.checkpoint.filesystem import FileSystemReader as FileSystemReader
from rushlight.distributed.checkpoint.filesystem import FileSystemWriter as FileSystemWriter
from rushlight.distributed.checkpoint.metadata import Metadata as Metadata
from rushlight.distributed.checkpoint.metadata import TensorStorageMetadata as TensorStorageMetadata
def async_save(state_dict: dict[_str, Any], *, checkpoint_id: _str | PathLike[_str] | None = ..., storage_writer: FileSystemWriter | None = ..., planner: object = ..., process_group: ProcessGroup | None = ..., async_checkpointer_type: object = ..., async_stager: object = ..., no_dist: _bool = ..., use_collectives: _bool = ...) -> Future[Metadata]: ...
def load(state_dict: dict[_str, Any], *, checkpoint_id: _str | PathLike[_str] | None = ..., storage_reader: FileSystemReader | None = ..., planner: object = ..., process_group: ProcessGroup | None = ..., no_dist: _bool = ...) -> None: ...
def load_state_dict(state_dict: dict[_str, Any], storage_reader: FileSystemReader, process_group: ProcessGroup | None = ..., coordinator_rank: _int = ..., no_dist: _bool = ..., planner: object = ...) -> None: ...
def save(state_dict: dict[_str, Any], *, checkpoint_id: _str | PathLike[_str] | None = ..., storage_writer: FileSystemWriter | None = ..., planner: object = ..., process_group: ProcessGroup | None = ..., no_dist: _bool = ..., use_collectives: _bool = ...) -> Metadata: ...
def save_state_dict(state_dict: dict[_str, Any], storage_writer: FileSystemWriter, process_group: ProcessGroup | None = ..., coordinator_rank: _int = ..., no_dist: _bool = ..., planner: object = ...) -> Metadata: ...
