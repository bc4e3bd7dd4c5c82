"""What a checkpoint says of its contents: the classes that PyTorch's ``.metadata`` files hold."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

from rushlight.serialization.save import _Layout
from rushlight.tensor.layout import strided
from rushlight.tensor.memory_format import contiguous_format
from rushlight.tensor.shape import Size

__all__ = [
    "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta",
    "TensorProperties", "TensorStorageMetadata",
]  # fmt: skip


class _MEM_FORMAT_ENCODING(enum.Enum):  # noqa: N801 - PyTorch's name, which files hold
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class TensorProperties:
    """The dtype of a tensor, and what else there is beside its size."""

    dtype: Any
    layout: Any = strided
    requires_grad: bool = False
    memory_format: Any = contiguous_format
    pin_memory: bool = False

    def __getstate__(self):
        code = _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT
        layout = _Layout("strided")
        return self.dtype, layout, self.requires_grad, code, self.pin_memory

    def __setstate__(self, state):
        self.dtype, self.layout, self.requires_grad, _, self.pin_memory = state
        self.memory_format = contiguous_format


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor that is stored as one: where it begins and how large it is."""

    offsets: Size
    sizes: Size


@dataclass
class TensorStorageMetadata:
    """A tensor, in one or several chunks."""

    properties: TensorProperties
    size: Size
    chunks: list


@dataclass
class BytesStorageMetadata:
    """Any other object."""


@dataclass(frozen=True)
class MetadataIndex:
    """The key of what is stored: the name of an entry, and the offsets of a chunk."""

    fqn: str
    offset: Any = None
    index: int | None = field(default=None, compare=False, hash=False)


@dataclass
class StorageMeta:
    """Which saving a checkpoint comes from."""

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list = field(default_factory=list)


@dataclass
class Metadata:
    """All entries of a checkpoint by name, and where each is stored."""

    state_dict_metadata: dict
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None
