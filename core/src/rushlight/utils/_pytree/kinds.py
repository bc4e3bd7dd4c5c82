"""The classes that trees are made of: how each is taken apart, put together, named and written."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """How a class is taken apart and put together: functions of an instance, and of its children
    and context. `with_keys`, where there is one, gives ``(key, child)`` pairs for children. The
    properties are PyTorch's names."""

    flatten: Callable
    unflatten: Callable
    with_keys: Callable | None = None
    type_name: str | None = None  # in files
    write: Callable | None = None  # a context as what JSON can hold, and back
    read: Callable | None = None

    @property
    def flatten_fn(self) -> Callable:
        """`flatten`."""
        return self.flatten

    @property
    def unflatten_fn(self) -> Callable:
        """`unflatten`."""
        return self.unflatten

    @property
    def flatten_with_keys_fn(self) -> Callable | None:
        """`with_keys`."""
        return self.with_keys


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """The step to an element of a list or tuple."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence: Sequence) -> Any:
        """The element."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """The step to a value of a dict."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping) -> Any:
        """The value."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The step to an attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj) -> Any:
        """The attribute."""
        return getattr(obj, self.name)


SUPPORTED_NODES: dict[type, Kind] = {}
CONSTANT_NODES: set[type] = set()


def _numbered(children: Iterable) -> list:
    return [(SequenceKey(i), child) for i, child in enumerate(children)]


def _list_flatten(d: list) -> tuple[list, None]:
    """The elements; there is no context."""
    return list(d), None


def _list_unflatten(values: Iterable, context=None) -> list:
    """A list of elements."""
    return list(values)


def _list_flatten_with_keys(d: list) -> tuple[list, None]:
    """The elements with their steps."""
    return _numbered(d), None


_tuple_flatten, _tuple_flatten_with_keys = _list_flatten, _list_flatten_with_keys


def _tuple_unflatten(values: Iterable, context=None) -> tuple:
    """A tuple of elements."""
    return tuple(values)


def _dict_flatten(d: dict) -> tuple[list, list]:
    """The values, and the keys as context."""
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable, context: list) -> dict:
    """A dict of values and keys."""
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d: dict) -> tuple[list, list]:
    """The values with their steps, and the keys."""
    return [(MappingKey(k), v) for k, v in d.items()], list(d)


_ordereddict_flatten, _ordereddict_flatten_with_keys = _dict_flatten, _dict_flatten_with_keys


def _ordereddict_unflatten(values: Iterable, context: list) -> OrderedDict:
    """An OrderedDict of values and keys."""
    return OrderedDict(zip(context, values, strict=True))


def _defaultdict_flatten(d: defaultdict) -> tuple[list, list]:
    """The values, and the factory and keys as context."""
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_unflatten(values: Iterable, context: list) -> defaultdict:
    """A defaultdict of values, factory and keys."""
    return defaultdict(context[0], zip(context[1], values, strict=True))


def _deque_flatten(d: deque) -> tuple[list, int | None]:
    """The elements, and the greatest length as context."""
    return list(d), d.maxlen


def _deque_unflatten(values: Iterable, context: int | None) -> deque:
    """A deque of elements."""
    return deque(values, maxlen=context)


def _namedtuple_flatten(d: tuple) -> tuple[list, type]:
    """The fields, and the class as context."""
    return list(d), type(d)


def _namedtuple_unflatten(values: Iterable, context: type) -> tuple:
    """A named tuple of its class and fields."""
    return context(*values)


def _namedtuple_flatten_with_keys(d: tuple) -> tuple[list, type]:
    """The fields with their steps, and the class."""
    return [(GetAttrKey(n), v) for n, v in zip(d._fields, d, strict=True)], type(d)


NAMED = Kind(
    _namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys,
    "collections.namedtuple",
)  # fmt: skip

SUPPORTED_NODES |= {
    list: Kind(_list_flatten, _list_unflatten, _list_flatten_with_keys, "builtins.list"),
    tuple: Kind(_tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys, "builtins.tuple"),
    dict: Kind(_dict_flatten, _dict_unflatten, _dict_flatten_with_keys, "builtins.dict"),
    OrderedDict: Kind(
        _ordereddict_flatten, _ordereddict_unflatten, _ordereddict_flatten_with_keys,
        "collections.OrderedDict",
    ),
    defaultdict: Kind(
        _defaultdict_flatten, _defaultdict_unflatten,
        lambda d: (_dict_flatten_with_keys(d)[0], _defaultdict_flatten(d)[1]),
        "collections.defaultdict",
    ),
    deque: Kind(
        _deque_flatten, _deque_unflatten, lambda d: (_numbered(d), d.maxlen), "collections.deque"
    ),
}  # fmt: skip


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class is that of a named tuple."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_namedtuple_instance(obj: object) -> bool:
    """Whether something is a named tuple."""
    return is_namedtuple_class(type(obj))


def kind_of(value):
    """The class that a value is registered as and its kind; None for a value that is a leaf."""
    cls = type(value)
    kind = SUPPORTED_NODES.get(cls)
    if kind is None and isinstance(value, tuple) and hasattr(cls, "_fields"):
        return namedtuple, NAMED
    return cls, kind


def register_pytree_node(
    cls: type,
    flatten_fn: Callable,
    unflatten_fn: Callable,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable | None = None,
    from_dumpable_context: Callable | None = None,
    flatten_with_keys_fn: Callable | None = None,
) -> None:
    """Look into objects of a class.

    flatten_fn: ``flatten_fn(x)`` gives ``(children, context)``.
    unflatten_fn: ``unflatten_fn(children, context)`` builds one.
    serialized_type_name: how `treespec_dumps` names the class.
    to_dumpable_context, from_dumpable_context: a context as what JSON can hold, and back; both or
        neither.
    flatten_with_keys_fn: ``flatten_with_keys_fn(x)`` gives pairs of keys and children, and the
        context; needed by `tree_flatten_with_path`.

    Raises ValueError where the class is registered already, or only one of the two functions for
    contexts is given.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or "
            "registered."
        )
    SUPPORTED_NODES[cls] = Kind(
        flatten_fn, unflatten_fn, flatten_with_keys_fn, serialized_type_name,
        to_dumpable_context, from_dumpable_context,
    )  # fmt: skip


_register_pytree_node = register_pytree_node


def _deregister_pytree_node(cls: type) -> None:
    """Take a class for a leaf again."""
    del SUPPORTED_NODES[cls]


def register_dataclass(
    cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:  # fmt: skip
    """Look into the fields of a dataclass. Those that are None belong to the structure.

    field_names: the fields that are children, all of those ``__init__`` takes by default; needed
        for a class that is no dataclass.
    drop_field_names: fields that are left out and take their defaults again.
    serialized_type_name: how `treespec_dumps` names the class.

    Raises ValueError for names that are no fields, and for a class that is no dataclass without
    `field_names`.
    """
    names = _field_names(cls, field_names, drop_field_names or [])

    def flatten(obj):
        present = [n for n in names if getattr(obj, n) is not None]
        return [getattr(obj, n) for n in present], [present, [n for n in names if n not in present]]

    def unflatten(values, context):
        present, absent = context
        given = dict(zip(present, values, strict=True)) | dict.fromkeys(absent)
        return cls(**given)

    def with_keys(obj):
        values, context = flatten(obj)
        return [(GetAttrKey(n), v) for n, v in zip(context[0], values, strict=True)], context

    def read(text):
        context = json.loads(text)
        if sorted(name for part in context for name in part) != sorted(names) or len(context) != 2:
            raise ValueError(f"the fields of {cls.__name__} are {names}, not {context}")
        return context

    register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name,
        to_dumpable_context=json.dumps, from_dumpable_context=read, flatten_with_keys_fn=with_keys,
    )  # fmt: skip


def _field_names(cls, wanted, dropped):
    """The fields of a class that are children."""
    if not dataclasses.is_dataclass(cls):
        if wanted is None:
            raise ValueError(
                f"register_dataclass({cls!r}): it is no dataclass; field_names must name the "
                "arguments that it is made with"
            )
        return list(wanted)
    known = [f.name for f in dataclasses.fields(cls) if f.init]
    names = [n for n in known if n not in dropped] if wanted is None else list(wanted)
    unknown = [n for n in (*names, *dropped) if n not in known]
    missing = set(known) - {*names, *dropped}
    if unknown or missing:
        raise ValueError(
            f"register_dataclass({cls.__name__}): field_names and drop_field_names must be the "
            f"fields {known}; unknown {unknown}, missing {sorted(missing)}"
        )
    return names


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The context of an object that belongs to the structure and not to its values."""

    value: Any


def register_constant(cls: type) -> None:
    """Take objects of a class, which must have ``__eq__`` and ``__hash__`` of its own, as a part of
    the structure: they have no children. Raises TypeError without those methods."""
    if cls.__eq__ is object.__eq__ or cls.__hash__ is None:
        raise TypeError(
            f"register_constant({cls}): the class must define `__eq__` and `__hash__`, so that "
            "structures can be compared"
        )
    register_pytree_node(
        cls, lambda x: ([], ConstantNode(x)), lambda _, context: context.value,
        flatten_with_keys_fn=lambda x: ([], ConstantNode(x)),
    )  # fmt: skip
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type) -> bool:
    """Whether a class was given to `register_constant`."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def is_structseq_class(cls: type) -> bool:
    """Whether a class is that of results such as ``time.struct_time``."""
    numbers = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, name, None), int) for name in numbers)
    )


def is_structseq_instance(obj: object) -> bool:
    """Whether something is an instance of such a class."""
    return is_structseq_class(type(obj))


is_namedtuple, is_structseq = is_namedtuple_instance, is_structseq_instance
