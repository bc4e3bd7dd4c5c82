"""What generated code calls to take its arguments apart."""

from __future__ import annotations

from rushlight.utils import _pytree as pytree


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
    if isinstance(spec.context, list) and isinstance(tree, dict):  # by key: other order, no harm
        keys = spec.context if not isinstance(spec.context[-1:], list) else spec.context
        items = [tree[key] for key in keys]
    else:
        items = list(tree)
    if len(items) != spec.num_children:
        raise ValueError(f"{len(items)} items instead of {spec.num_children}")
    for item, child in zip(items, spec.children_specs, strict=True):
        _children(item, child, leaves)
    return leaves
