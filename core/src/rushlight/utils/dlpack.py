"""Exchange of memory with other libraries through DLPack capsules."""

from __future__ import annotations

from rushlight.ops.creation.tensors import from_dlpack


def to_dlpack(tensor) -> object:
    """A DLPack capsule of the tensor's memory, for another library's ``from_dlpack``."""
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
