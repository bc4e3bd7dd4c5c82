"""Where in a structure each value is: key paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from rushlight.utils._pytree.kinds import kind_of
from rushlight.utils._pytree.trees import LeafSpec, TreeSpec, tree_flatten, tree_unflatten


class KeyEntry(Protocol):
    """A step in a structure, such as `SequenceKey`."""

    def __hash__(self) -> int: ...

    def __eq__(self, other: object) -> bool: ...

    def __str__(self) -> str: ...

    def get(self, parent: Any) -> Any:
        """The child of a parent that the step leads to."""


KeyPath = tuple[KeyEntry, ...]


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The values of a structure with the way to each, and how to build it again.

    >>> tree_flatten_with_path({"a": (2, 3)})[0][1]
    ((MappingKey(key='a'), SequenceKey(idx=1)), 3)
    """
    found = list(_walk((), tree, is_leaf))
    return found, tree_flatten(tree, is_leaf)[1]


def tree_leaves_with_path(tree: Any, is_leaf: Callable | None = None) -> list[tuple[KeyPath, Any]]:
    """The values of a structure with the way to each."""
    return list(_walk((), tree, is_leaf))


def _walk(path, tree, is_leaf) -> Iterable:
    cls, kind = kind_of(tree)
    if kind is None or (is_leaf is not None and is_leaf(tree)):
        yield path, tree
        return
    if kind.with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {cls}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in kind.with_keys(tree)[0]:
        yield from _walk((*path, key), child, is_leaf)


def tree_map_with_path(
    func: Callable, tree: Any, *rests: Any, is_leaf: Callable | None = None
) -> Any:
    """`tree_map` with the way to each value as the first argument of `func`."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    columns = zip(*pairs, strict=True) if pairs else ((), ())
    return tree_unflatten(map(func, *columns, *others), spec)


def keystr(kp: KeyPath) -> str:
    """A way in Python's notation, such as ``['a'][1].weight``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What a way leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


__all__ = [
    "KeyEntry",
    "KeyPath",
    "LeafSpec",
    "key_get",
    "keystr",
    "tree_flatten_with_path",
    "tree_leaves_with_path",
    "tree_map_with_path",
]
