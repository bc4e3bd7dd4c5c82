"""Arguments and results of transformed functions as flat lists of tensors."""

from __future__ import annotations

from rushlight.tensor.tensor import Tensor
from rushlight.utils._pytree import TreeSpec, tree_flatten, tree_unflatten


def flat_tensors(tree, name, what):
    """The leaves of a structure that must all be tensors, and the structure."""
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{name}: Expected {what} to be a Tensor or a nested structure of Tensors, got "
                f"an element of type {type(leaf).__name__}"
            )
    return leaves, spec


def map_tensors(tree, change):
    """The structure with every tensor in it replaced by ``change(tensor)``."""
    leaves, spec = tree_flatten(tree)
    return tree_unflatten([change(v) if isinstance(v, Tensor) else v for v in leaves], spec)


def prefix_leaves(prefix, spec: TreeSpec):
    """A structure's leading part, such as ``in_dims``, spread over all leaves below each of its
    own; None where the two do not fit."""
    if spec.is_leaf():
        return None if isinstance(prefix, (tuple, list, dict)) else [prefix]
    if prefix is None or not isinstance(prefix, (tuple, list, dict)):
        return [prefix] * spec.num_leaves
    leaves, own = tree_flatten(prefix, is_leaf=lambda v: v is None or isinstance(v, int))
    if own.is_leaf():
        return [leaves[0]] * spec.num_leaves
    alike = own.type is spec.type or {own.type, spec.type} <= {tuple, list}
    if not alike or own.num_children != spec.num_children:
        return None
    if isinstance(prefix, dict):
        children = list(prefix.values())
    else:
        children = list(prefix)
    found = []
    for child, below in zip(children, spec.children_specs, strict=True):
        part = prefix_leaves(child, below)
        if part is None:
            return None
        found += part
    return found


def argument(args, argnums):
    """The chosen arguments: one, or a tuple of them."""
    count = len(args)
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for number in numbers:
        if not -count <= number < count:
            raise RuntimeError(
                f"Got argnum={number}, but only {count} positional inputs; expected an argnum "
                f"from {-count} to {count - 1}"
            )
    if isinstance(argnums, int):
        return args[argnums]
    return tuple(args[n] for n in numbers)


def with_argument(args, argnums, chosen):
    """All arguments with the chosen ones replaced."""
    found = list(args)
    if isinstance(argnums, int):
        found[argnums] = chosen
    else:
        for number, value in zip(argnums, chosen, strict=True):
            found[number] = value
    return found


def check_argnums(name, argnums):
    """Raise TypeError or RuntimeError unless `argnums` is an int or a tuple of different ints."""
    if isinstance(argnums, int):
        return
    if not isinstance(argnums, tuple) or not all(isinstance(n, int) for n in argnums):
        raise RuntimeError(f"{name}: argnums must be int or Tuple[int, ...], got {argnums!r}")
    if not argnums:
        raise RuntimeError(f"{name}: argnums must be non-empty")
    if len(set(argnums)) != len(argnums):
        raise RuntimeError(f"{name}: argnums elements must be unique, got {argnums}")
