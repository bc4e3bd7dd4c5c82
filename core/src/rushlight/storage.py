"""The memory behind tensors, under PyTorch's path: ``rushlight.storage.UntypedStorage``."""

from __future__ import annotations

import io

from rushlight.ops.creation.storages import StorageBase as _StorageBase  # noqa: F401
from rushlight.ops.creation.storages import StorageType, TypedStorage, UntypedStorage

__all__ = ["StorageType", "TypedStorage", "UntypedStorage"]


def _load_from_bytes(data):
    """The storage in bytes that PyTorch's plain pickles hold, in the format of ``load``."""
    from rushlight.serialization import load

    return load(io.BytesIO(data), weights_only=True)
