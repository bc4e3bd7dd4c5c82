# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _int
from rushlight._words import _layout
from rushlight._words import _memory_format
from rushlight._words import _str
from rushlight.tensor.shape import Size
from typing import Any

class BytesStorageMetadata:
    def __init__(self) -> None: ...
class ChunkStorageMetadata:
    def __init__(self, offsets: Size, sizes: Size) -> None: ...
    offsets: Size
    sizes: Size
class Metadata:
    planner_data: Any
    storage_data: Any
    storage_meta: Any
    version: Any
    def __init__(self, state_dict_metadata: dict[Any, Any], planner_data: object = ..., storage_data: object = ..., storage_meta: StorageMeta | None = ..., version: _str | None = ...) -> None: ...
    state_dict_metadata: dict[Any, Any]
class MetadataIndex:
    offset: Any
    index: Any
    def __init__(self, fqn: _str, offset: Any = ..., index: _int | None = ...) -> None: ...
    fqn: _str
class StorageMeta:
    checkpoint_id: Any
    save_id: Any
    load_id: Any
    def __init__(self, checkpoint_id: Any = ..., save_id: _str | None = ..., load_id: _str | None = ..., modules: list[Any] = ...) -> None: ...
    modules: list[Any]
class TensorProperties:
    layout: _layout
    requires_grad: _bool
    memory_format: Any
    pin_memory: _bool
    def __init__(self, dtype: _dtype, layout: _layout = ..., requires_grad: _bool = ..., memory_format: _memory_format = ..., pin_memory: _bool = ...) -> None: ...
    dtype: Any
class TensorStorageMetadata:
    def __init__(self, properties: TensorProperties, size: Size, chunks: list[Any]) -> None: ...
    properties: TensorProperties
    size: Size
    chunks: list[Any]
