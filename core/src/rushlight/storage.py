"""The memory behind tensors, under PyTorch's path: ``rushlight.storage.UntypedStorage``."""

from __future__ import annotations

from rushlight.ops.storages import StorageType, TypedStorage, UntypedStorage

__all__ = ["StorageType", "TypedStorage", "UntypedStorage"]
