"""Nested structures of lists, tuples, dicts and registered classes, as flat lists and back."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """How a class is taken apart and put together: functions of an instance, and of its children
    and context. The second names are PyTorch's."""

    flatten: Callable
    unflatten: Callable

    @property
    def flatten_fn(self) -> Callable:
        """`flatten`."""
        return self.flatten

    @property
    def unflatten_fn(self) -> Callable:
        """`unflatten`."""
        return self.unflatten


SUPPORTED_NODES: dict[type, Kind] = {}
PyTree = Any


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

    def __repr__(self):
        if self.type is None:
            return "*"
        children = ", ".join(map(repr, self.children_specs))
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    """The structure of a single value."""

    def __init__(self):
        super().__init__(None, None, [])


def register_pytree_node(
    cls: type,
    flatten_fn: Callable,
    unflatten_fn: Callable,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
) -> None:
    """Look into objects of a class: ``flatten_fn(x)`` gives ``(children, context)`` and
    ``unflatten_fn(children, context)`` builds one. The remaining arguments are for writing
    structures to files, which is not done here."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = Kind(flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node


def _is_named(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


_NAMED = Kind(lambda x: (list(x), type(x)), lambda children, kind: kind(*children))


def _kind_of(value):
    if _is_named(value):
        return namedtuple, _NAMED
    return type(value), SUPPORTED_NODES.get(type(value))


def _from_dict(kind):
    return Kind(
        lambda x: (list(x.values()), list(x)),
        lambda children, keys: kind(zip(keys, children, strict=True)),
    )


SUPPORTED_NODES |= {
    list: Kind(lambda x: (list(x), None), lambda children, _: list(children)),
    tuple: Kind(lambda x: (list(x), None), lambda children, _: tuple(children)),
    dict: _from_dict(dict),
    OrderedDict: _from_dict(OrderedDict),
    defaultdict: Kind(
        lambda x: (list(x.values()), [x.default_factory, list(x)]),
        lambda children, c: defaultdict(c[0], zip(c[1], children, strict=True)),
    ),
    deque: Kind(
        lambda x: (list(x), x.maxlen), lambda children, longest: deque(children, maxlen=longest)
    ),
}


def _get_node_type(tree: Any) -> type:
    """The class that a structure's root is registered as."""
    return _kind_of(tree)[0]


def tree_flatten(tree: Any, is_leaf: Callable | None = None) -> tuple[list, TreeSpec]:
    """The values of a structure in order, and how to build it again."""
    leaves: list = []
    return leaves, _flatten(tree, is_leaf, leaves)


def _flatten(tree, is_leaf, leaves):
    cls, kind = _kind_of(tree)
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
    kind = _NAMED if spec.type is namedtuple else SUPPORTED_NODES[spec.type]
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
    others = [_flatten_up_to(rest, spec) for rest in rests]
    return tree_unflatten(map(func, leaves, *others), spec)


def _flatten_up_to(tree, spec):
    if spec.type is None:
        return [tree]
    cls, kind = _kind_of(tree)
    if cls is not spec.type:
        raise ValueError(
            f"tree_map: structures differ: a {cls.__name__} where there is a {spec.type.__name__}"
        )
    children, context = kind.flatten(tree)
    if len(children) != len(spec.children_specs) or context != spec.context and cls is not deque:
        raise ValueError(
            f"tree_map: structures differ: a {cls.__name__} with {context or len(children)} where "
            f"there is one with {spec.context or len(spec.children_specs)}"
        )
    pairs = zip(children, spec.children_specs, strict=True)
    return [leaf for child, form in pairs for leaf in _flatten_up_to(child, form)]


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
