"""Arguments and results of transformed functions as flat lists of tensors."""

from __future__ import annotations

from collections import OrderedDict, defaultdict

from rushlight.dtypes import COMPLEX
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


def check_real(leaves, name, what):
    """Raise RuntimeError where one of a Jacobian's inputs or outputs is complex."""
    for number, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor) and leaf._dtype.category == COMPLEX:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened "
                f"input idx: {number}"
            )


def map_tensors(tree, change):
    """The structure with every tensor in it replaced by ``change(tensor)``."""
    leaves, spec = tree_flatten(tree)
    return tree_unflatten([change(v) if isinstance(v, Tensor) else v for v in leaves], spec)


def unwrapped(aux, change):
    """What a function gives beside its result: tensors, each by ``change(tensor)``."""
    leaves, spec = tree_flatten(aux)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return tree_unflatten([change(leaf) for leaf in leaves], spec)


_DICTS = (dict, OrderedDict, defaultdict)


def prefix_leaves(prefix, spec: TreeSpec):
    """A structure's leading part, such as ``in_dims``, spread over all leaves below each of its
    own; None where the two do not fit."""
    if prefix is None or not isinstance(prefix, (tuple, list, dict)):
        return [prefix] * spec.num_leaves
    if spec.is_leaf():
        return None
    _, own = tree_flatten(prefix, is_leaf=lambda v: v is not prefix)
    if own.num_children != spec.num_children or not _alike(own, spec):
        return None
    children = list(prefix.values() if isinstance(prefix, dict) else prefix)
    found = []
    for child, below in zip(children, spec.children_specs, strict=True):
        part = prefix_leaves(child, below)
        if part is None:
            return None
        found += part
    return found


def _alike(own, spec):
    """Whether two roots are of one kind: a dict of any class fits one with the same keys."""
    if own.type in _DICTS and spec.type in _DICTS:
        return set(_keys(own)) == set(_keys(spec))
    return own.type is spec.type and own.context == spec.context


def _keys(spec):
    return spec.context[1] if spec.type is defaultdict else spec.context


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
    places = tuple(number % count for number in numbers)
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {places}")
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
