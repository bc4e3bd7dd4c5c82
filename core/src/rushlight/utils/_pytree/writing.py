"""Structures as text: `treespec_dumps` in PyTorch's JSON format, and `treespec_loads`."""

from __future__ import annotations

import builtins
import collections
import importlib
import json
from typing import Any

from rushlight.utils._pytree.kinds import NAMED, SUPPORTED_NODES, Kind
from rushlight.utils._pytree.trees import LeafSpec, TreeSpec

PROTOCOL = 1  # of the format


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON text, which `treespec_loads` and PyTorch read.

    Raises TypeError for what is no structure, ValueError for a protocol other than 1, and
    NotImplementedError for a class that was registered without ``serialized_type_name``.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec "
            f"but got item of type {type(treespec)}."
        )
    if protocol not in (None, PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return json.dumps((PROTOCOL, _described(treespec)))


def _described(spec: TreeSpec) -> dict:
    if spec.type is None:  # a leaf
        return {"type": None, "context": None, "children_spec": []}
    kind = NAMED if spec.type is collections.namedtuple else SUPPORTED_NODES[spec.type]
    if kind.type_name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please pass "
            "serialized_type_name to register_pytree_node."
        )
    return {
        "type": kind.type_name,
        "context": _context_text(spec, kind),
        "children_spec": [_described(child) for child in spec.children_specs],
    }


def _context_text(spec: TreeSpec, kind: Kind) -> Any:
    if kind.write is not None:
        return kind.write(spec.context)
    if spec.type is collections.namedtuple:  # JSON has no classes: the path to import it from
        return json.dumps(_place(spec.context))
    if spec.type is collections.defaultdict:
        factory, keys = spec.context
        return {**_factory(factory), "dict_context": keys}
    try:
        return json.dumps(spec.context)
    except TypeError as error:
        raise TypeError(
            f"Unable to serialize the context of {spec.type}: {error}. Pass to_dumpable_context "
            "and from_dumpable_context to register_pytree_node."
        ) from error


def _place(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _factory(factory) -> dict:
    return {
        "default_factory_module": getattr(factory, "__module__", None),
        "default_factory_name": getattr(factory, "__qualname__", None),
    }


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that `treespec_dumps`, here or in PyTorch, has written.

    Classes are looked up among those that are registered; the class of a named tuple is imported
    only where its module is already loaded or is a plain importable name. Raises
    NotImplementedError for a protocol or a class that is not known.
    """
    protocol, schema = json.loads(serialized)
    if protocol != PROTOCOL:
        raise NotImplementedError(f"Unsupported pytree protocol {protocol}; it must be {PROTOCOL}")
    return _built(schema)


def _built(schema: dict) -> TreeSpec:
    name = schema["type"]
    if name is None:
        return LeafSpec()
    cls, kind = _registered(name)
    children = [_built(child) for child in schema["children_spec"]]
    return TreeSpec(cls, _context(cls, kind, schema["context"]), children)


def _registered(name: str) -> tuple[Any, Kind]:
    if name == NAMED.type_name:
        return collections.namedtuple, NAMED
    for cls, kind in SUPPORTED_NODES.items():
        if kind.type_name == name:
            return cls, kind
    raise NotImplementedError(
        f"Deserializing {name} in pytree is not registered: call register_pytree_node with "
        "serialized_type_name."
    )


def _context(cls, kind: Kind, text) -> Any:
    if kind.read is not None:
        return kind.read(text)
    if cls is collections.defaultdict:
        module, name = text["default_factory_module"], text["default_factory_name"]
        return [None if name is None else _imported(module, name), text["dict_context"]]
    value = json.loads(text)
    return _imported(*value.rpartition(".")[::2]) if cls is collections.namedtuple else value


def _imported(module: str, name: str) -> Any:
    found = builtins if module == "builtins" else importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
