"""Which rank writes what, and which stored chunks make up a tensor."""

from __future__ import annotations

from rushlight.autograd.mode import no_grad
from rushlight.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import Tensor


def pieces(value) -> list:
    """The parts of a tensor that this process has: (offsets, tensor of one part)."""
    if hasattr(value, "_local_piece"):  # a tensor that ranks share
        return value._local_piece()
    return [((0,) * value.dim(), value)]


def described(entries, coordinator: bool) -> list:
    """What this process could write: (name, offsets, bytes, description) of each part; objects that
    are no tensors by one process alone."""
    found: list = []
    for name, value in entries.items():
        if not isinstance(value, Tensor):
            if coordinator:
                found.append((name, None, 0, BytesStorageMetadata()))
            continue
        properties = TensorProperties(value.dtype)
        size = Size(value.shape)
        for offsets, part in pieces(value):
            chunk = ChunkStorageMetadata(Size(offsets), Size(part.shape))
            entry = TensorStorageMetadata(properties, size, [chunk])
            nbytes = part.numel() * part.dtype.itemsize
            found.append((name, tuple(offsets), nbytes, entry))
    return found


def dealt(plans) -> list:
    """For each rank the keys (name, offsets) that it writes: what several could write goes to the
    one of them that has least to write."""
    holders: dict = {}
    sizes: dict = {}
    for rank, plan in enumerate(plans):
        for name, offsets, nbytes, _ in plan:
            holders.setdefault((name, offsets), []).append(rank)
            sizes[name, offsets] = nbytes
    loads = [0] * len(plans)
    shares: list[list] = [[] for _ in plans]
    for key in sorted(holders, key=lambda key: (-sizes[key], str(key))):
        rank = min(holders[key], key=lambda rank: (loads[rank], rank))
        loads[rank] += sizes[key]
        shares[rank].append(key)
    return shares


def merged(plans) -> dict:
    """The descriptions of all ranks by name, each chunk once."""
    found: dict = {}
    for plan in plans:
        for name, offsets, _, entry in plan:
            known = found.get(name)
            if known is None:
                found[name] = entry
            elif offsets is not None:
                starts = [tuple(chunk.offsets) for chunk in known.chunks]
                if offsets not in starts:
                    known.chunks.extend(entry.chunks)
    return found


def index_of(name, offsets, entry) -> MetadataIndex:
    """The key of a stored part."""
    if offsets is None:
        return MetadataIndex(name)
    starts = [tuple(chunk.offsets) for chunk in entry.chunks]
    return MetadataIndex(name, Size(offsets), starts.index(tuple(offsets)))


def fill(target, name, entry, stored, read) -> None:
    """Fill a tensor, or the part of it that this process has, from stored chunks."""
    if tuple(entry.size) != tuple(target.shape):
        raise ValueError(
            f"Size mismatch between saved {tuple(entry.size)} and current: {tuple(target.shape)} "
            f"for {name}"
        )
    for offsets, part in pieces(target):
        for chunk in entry.chunks:
            common = _overlap(offsets, part.shape, chunk.offsets, chunk.sizes)
            if common is not None:
                into, origin = common
                found = read(stored[MetadataIndex(name, Size(chunk.offsets))])
                with no_grad():
                    part.detach()[into].copy_(found[origin])


def _overlap(offsets, sizes, others, other_sizes):
    """Where two boxes have elements in common: the slices of each, or None."""
    into, origin = [], []
    for start, size, other, other_size in zip(offsets, sizes, others, other_sizes, strict=True):
        low, high = max(start, other), min(start + size, other + other_size)
        if low >= high:
            return None
        into.append(slice(low - start, high - start))
        origin.append(slice(low - other, high - other))
    return tuple(into) or ..., tuple(origin) or ...
