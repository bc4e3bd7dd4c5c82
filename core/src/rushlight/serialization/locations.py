"""Where storages of a checkpoint go: what each kind of location does with them."""

from __future__ import annotations

import operator

from rushlight.tensor.storage import Storage

__all__ = ["default_restore_location", "location_tag", "register_package", "restored"]


def _tag_of_cpu(storage):
    return "cpu"


def _on_cpu(storage, location):
    return storage if location == "cpu" else None


def _on_cuda(storage, location):
    if not location.startswith("cuda"):
        return None
    raise RuntimeError(
        "Attempting to deserialize object on a CUDA device, and the memory of a loaded storage is "
        "on the CPU. Please use rushlight.load with map_location=rushlight.device('cpu') to map "
        "your storages to the CPU."
    )


def _on_meta(storage, location):
    if location != "meta":
        return None
    raise NotImplementedError(
        "default_restore_location: a storage without memory; pass map_location='meta' to load"
    )


_OURS = ((10, _tag_of_cpu, _on_cpu), (20, lambda s: None, _on_cuda), (22, lambda s: None, _on_meta))
_registry = list(_OURS)


def register_package(priority: int, tagger, deserializer) -> None:
    """Add a kind of location, asked in the order of `priority`: ``tagger(storage)`` gives its name
    for a storage that is there, else None; ``deserializer(storage, location)`` a storage for one
    that was saved there, else None."""
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=operator.itemgetter(0))


def location_tag(storage: Storage) -> str:
    """The name of the place where a storage is."""
    for _, tagger, _ in _registry:
        found = tagger(storage)
        if found:
            return found
    raise RuntimeError(f"don't know how to determine data location of {type(storage).__name__}")


def default_restore_location(storage: Storage, location: str) -> Storage:
    """The storage for one that was saved at `location`, by the first kind that knows it: what
    `map_location` functions call for locations they leave alone.

    >>> rushlight.load(path, map_location=lambda storage, location: (
    ...     rushlight.serialization.default_restore_location(storage, "cpu")
    ... ))  # doctest: +SKIP
    """
    for _, _, deserializer in _registry:
        found = deserializer(storage, location)
        if found is not None:
            return found
    raise RuntimeError(
        f"don't know how to restore data location of {type(storage).__name__} (tagged with "
        f"{location})"
    )


def restored(storage, location):
    """What registered kinds of the user do with a storage; None where none knows the place."""
    for row in _registry:
        found = None if row in _OURS else row[2](storage, location)
        if found is not None:
            return found
    return None


def registered() -> bool:
    """Whether there are kinds of the user."""
    return len(_registry) > len(_OURS)
