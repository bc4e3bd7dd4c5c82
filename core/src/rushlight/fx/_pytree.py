"""What generated code calls to take its arguments apart."""

from __future__ import annotations

from collections import OrderedDict, deque, namedtuple

from rushlight.utils import _pytree as pytree

_MAPPINGS, _SEQUENCES = (dict, OrderedDict), (list, tuple, deque, namedtuple)


def tree_flatten_spec(tree, spec: pytree.TreeSpec) -> list:
    """The leaves of `tree`, which must be built as `spec` says."""
    try:
        return _children(tree, spec, [])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"tree_flatten_spec(): {tree!r} is not built as {spec}") from error


def _children(tree, spec, leaves):
    if spec.is_leaf():
        leaves.append(tree)
        return leaves
    items = _items(tree, spec)
    if len(items) != spec.num_children:
        raise ValueError(f"{len(items)} items instead of {spec.num_children}")
    for item, child in zip(items, spec.children_specs, strict=True):
        _children(item, child, leaves)
    return leaves


def _items(tree, spec):
    """The children of `tree`; of dicts, lists and tuples whatever their class is."""
    if spec.type in _MAPPINGS and isinstance(tree, dict):  # by key: another order does no harm
        return [tree[key] for key in spec.context]
    kind = pytree.SUPPORTED_NODES.get(spec.type)
    if spec.type in _SEQUENCES or kind is None:
        return list(tree)
    if type(tree) is not spec.type:
        raise TypeError(f"{type(tree).__name__} instead of {spec.type.__name__}")
    items, context = kind.flatten(tree)
    if context != spec.context:
        raise ValueError(f"{context} instead of {spec.context}")
    return items
