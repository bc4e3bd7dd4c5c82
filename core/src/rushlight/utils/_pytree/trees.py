"""Nested structures of lists, tuples, dicts and registered classes, as flat lists and back."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rushlight.utils._pytree.kinds import NAMED, SUPPORTED_NODES, kind_of

PyTree: TypeAlias = Any
Context: TypeAlias = Any
BUILTIN_TYPES = {tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque}
STANDARD_DICT_TYPES = {dict, OrderedDict, defaultdict}


@dataclass
class TreeSpec:
    """How a structure is built: the class of its root, what that class keeps, and its children."""

    type: Any
    context: Any
    children_specs: list = field(default_factory=list)

    def is_leaf(self) -> bool:
        """Whether it stands for a single value."""
        return self.type is None

    @property
    def num_leaves(self) -> int:
        """How many values it holds."""
        return 1 if self.type is None else sum(c.num_leaves for c in self.children_specs)

    @property
    def num_children(self) -> int:
        """How many children the root has."""
        return len(self.children_specs)

    @property
    def num_nodes(self) -> int:
        """How many nodes there are, leaves counted."""
        return 1 + sum(c.num_nodes for c in self.children_specs)

    def unflatten(self, leaves: Iterable) -> Any:
        """The structure with these values in it."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: Any) -> list:
        """What stands in `tree` where this structure has values. Raises ValueError where it has
        another form."""
        return _flatten_up_to(tree, self)

    def children(self) -> list[TreeSpec]:
        """The structures of the children."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self.children_specs[index]

    def __repr__(self, indent: int = 0):
        if self.type is None:
            return "*"
        inner = indent + 2
        children = f",\n{' ' * inner}".join(c.__repr__(inner) for c in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    """The structure of a single value."""

    def __init__(self):
        super().__init__(None, None, [])

    def __repr__(self, indent: int = 0):
        return "*"


def _get_node_type(tree: Any) -> type:
    """The class that a structure's root is registered as."""
    return kind_of(tree)[0]


def tree_flatten(tree: Any, is_leaf: Callable | None = None) -> tuple[list, TreeSpec]:
    """The values of a structure in order, and how to build it again."""
    leaves: list = []
    return leaves, _flatten(tree, is_leaf, leaves)


def _flatten(tree, is_leaf, leaves):
    cls, kind = kind_of(tree)
    if kind is None or is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return LeafSpec()
    children, context = kind.flatten(tree)
    return TreeSpec(cls, context, [_flatten(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves: Iterable, treespec: TreeSpec) -> Any:
    """The structure `treespec` describes with the values of `leaves`."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but "
            f"got item of type {type(treespec)}."
        )
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec "
            f"refers to a pytree that holds {treespec.num_leaves} items ({treespec})."
        )
    return _unflatten(iter(leaves), treespec)


def _unflatten(leaves, spec):
    if spec.type is None:
        return next(leaves)
    children = [_unflatten(leaves, child) for child in spec.children_specs]
    kind = NAMED if spec.type is namedtuple else SUPPORTED_NODES[spec.type]
    return kind.unflatten(children, spec.context)


def tree_iter(tree: Any, is_leaf: Callable | None = None):
    """The values of a structure, one after the other."""
    yield from tree_flatten(tree, is_leaf)[0]


def tree_leaves(tree: Any, is_leaf: Callable | None = None) -> list:
    """The values of a structure in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable | None = None) -> TreeSpec:
    """How a structure is built."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable, tree: Any, *rests: Any, is_leaf: Callable | None = None) -> Any:
    """The structure with ``func(value, ...)`` for every value; `rests` are structures of the same
    form, whose values are the further arguments."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return tree_unflatten(map(func, leaves, *others), spec)


def _flatten_up_to(tree, spec):
    if spec.type is None:
        return [tree]
    cls, kind = kind_of(tree)
    if cls is not spec.type and not {cls, spec.type} <= STANDARD_DICT_TYPES:
        name = getattr(spec.type, "__name__", spec.type)
        raise ValueError(f"tree_map: structures differ: a {cls.__name__} where there is a {name}")
    children, context = _children_like(tree, spec, kind)
    if len(children) != len(spec.children_specs) or context != spec.context:
        raise ValueError(
            f"tree_map: structures differ: a {cls.__name__} with {context or len(children)} where "
            f"there is one with {spec.context or len(spec.children_specs)}"
        )
    pairs = zip(children, spec.children_specs, strict=True)
    return [leaf for child, form in pairs for leaf in _flatten_up_to(child, form)]


def _children_like(tree, spec, kind):
    """The children and context; those of dicts in the order of the keys of `spec`, and without
    what does not belong to the form: the factory of a defaultdict, the length of a deque."""
    if spec.type is deque:
        return list(tree), spec.context
    if spec.type not in STANDARD_DICT_TYPES:
        return kind.flatten(tree)
    keys = spec.context[1] if spec.type is defaultdict else spec.context
    if len(tree) != len(keys) or any(key not in tree for key in keys):
        return list(tree.values()), list(tree)
    return [tree[key] for key in keys], spec.context


def tree_map_(func: Callable, tree: Any, *rests: Any, is_leaf: Callable | None = None) -> Any:
    """Call ``func(value, ...)`` for every value and return the structure as it was."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(types, /, func: Callable, tree: Any, is_leaf: Callable | None = None) -> Any:
    """`tree_map` for the values of some types (or those a function picks); others stay."""
    picks = types if callable(types) and not isinstance(types, type) else None

    def call(value):
        wanted = isinstance(value, types) if picks is None else picks(value)
        return func(value) if wanted else value

    return tree_map(call, tree, is_leaf=is_leaf)


def tree_all(pred: Callable, tree: Any, is_leaf: Callable | None = None) -> bool:
    """Whether ``pred(value)`` holds for every value."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable, tree: Any, is_leaf: Callable | None = None) -> bool:
    """Whether ``pred(value)`` holds for some value."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(types, /, pred: Callable, tree: Any, is_leaf: Callable | None = None) -> bool:
    """Whether ``pred(value)`` holds for every value of some types."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, types))


def tree_any_only(types, /, pred: Callable, tree: Any, is_leaf: Callable | None = None) -> bool:
    """Whether ``pred(value)`` holds for some value of some types."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, types))


def tree_map_only_(types, /, func: Callable, tree: Any, is_leaf: Callable | None = None) -> Any:
    """Call ``func(value)`` for the values of some types and return the structure as it was."""
    tree_map_only(types, func, tree, is_leaf=is_leaf)
    return tree


def map_only(types, /) -> Callable:
    """A decorator: the function for values of some types, others stay as they are."""
    picks = types if callable(types) and not isinstance(types, type) else None

    def decorate(func):
        def call(value):
            wanted = isinstance(value, types) if picks is None else picks(value)
            return func(value) if wanted else value

        return call

    return decorate


def tree_is_leaf(tree: Any, is_leaf: Callable | None = None) -> bool:
    """Whether something is a value and not a structure."""
    return (is_leaf is not None and bool(is_leaf(tree))) or kind_of(tree)[1] is None


_is_leaf = tree_is_leaf


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list:
    """The values in the arguments of a call."""
    return tree_leaves(args) + tree_leaves(kwargs)


def treespec_leaf() -> LeafSpec:
    """The structure of a single value."""
    return LeafSpec()


def treespec_tuple(iterable: Iterable = (), /) -> TreeSpec:
    """The structure of a tuple of structures."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping=(), /, **kwargs) -> TreeSpec:
    """The structure of a dict of structures."""
    found = dict(mapping, **kwargs)
    return TreeSpec(dict, list(found), list(found.values()))


def _broadcast_to_and_flatten(
    tree: Any, treespec: TreeSpec, is_leaf: Callable | None = None
) -> list | None:
    """A value for each leaf of `treespec`, where `tree` has one for it or for a structure that it
    is in; None where the forms do not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or kind_of(tree)[0] is not treespec.type:
        return None
    children, context = kind_of(tree)[1].flatten(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    found: list = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        values = _broadcast_to_and_flatten(child, spec, is_leaf)
        if values is None:
            return None
        found += values
    return found
