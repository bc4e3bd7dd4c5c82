"""State dicts with dictionaries and lists inside, as one dictionary of dotted names."""

from __future__ import annotations

from collections.abc import Mapping

from rushlight.tensor.tensor import Tensor


def _is_leaf(value) -> bool:
    """Whether an entry is stored as one: all but dictionaries, and lists with such or tensors."""
    if isinstance(value, Mapping):
        return False
    if not isinstance(value, list):
        return True
    return all(_is_leaf(each) and not isinstance(each, Tensor) for each in value)


def flattened(state_dict) -> tuple[dict, dict]:
    """(entries by dotted name, keys from the top down by dotted name)."""
    entries: dict = {}
    paths: dict = {}

    def visit(path, value):
        if _is_leaf(value):
            name = ".".join(map(str, path))
            if name in entries:
                raise ValueError(f"two entries of the state dict have the name {name!r}")
            entries[name], paths[name] = value, path
            return
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, each in items:
            visit((*path, key), each)

    for key, value in state_dict.items():
        visit((key,), value)
    return entries, paths


def written_path(path) -> tuple:
    """A path as files hold it: keys as text, positions in lists as numbers."""
    return tuple(key if type(key) is int else str(key) for key in path)


def put(state_dict, path, value) -> None:
    """Set the entry at a path; dictionaries and lists on the way are there or are made."""
    target = state_dict
    for key, following in zip(path, path[1:], strict=False):
        made: dict | list = [] if type(following) is int else {}
        if isinstance(target, list):
            _lengthen(target, key)
            if target[key] is None:
                target[key] = made
            target = target[key]
        else:
            target = target.setdefault(key, made)
    if isinstance(target, list):
        _lengthen(target, path[-1])
    target[path[-1]] = value


def _lengthen(target, index):
    target.extend([None] * (index + 1 - len(target)))
