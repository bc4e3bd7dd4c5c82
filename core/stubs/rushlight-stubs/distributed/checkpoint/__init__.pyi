# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from concurrent.futures._base import Future
from rushlight._words import _bool
from rushlight._words import _int
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
def async_save(state_dict: Any, *, checkpoint_id: Any = ..., storage_writer: Any = ..., planner: Any = ..., process_group: Any = ..., async_checkpointer_type: Any = ..., async_stager: Any = ..., no_dist: _bool = ..., use_collectives: _bool = ...) -> Future: ...
def load(state_dict: Any, *, checkpoint_id: Any = ..., storage_reader: Any = ..., planner: Any = ..., process_group: Any = ..., no_dist: _bool = ...) -> None: ...
def load_state_dict(state_dict: Any, storage_reader: Any, process_group: Any = ..., coordinator_rank: _int = ..., no_dist: _bool = ..., planner: Any = ...) -> None: ...
def save(state_dict: Any, *, checkpoint_id: Any = ..., storage_writer: Any = ..., planner: Any = ..., process_group: Any = ..., no_dist: _bool = ..., use_collectives: _bool = ...) -> Metadata: ...
def save_state_dict(state_dict: Any, storage_writer: Any, process_group: Any = ..., coordinator_rank: _int = ..., no_dist: _bool = ..., planner: Any = ...) -> Metadata: ...
