"""Guards as a user's function sees them: ``compile(options={"guard_filter_fn": function})``.

The function gets a list of :class:`GuardFilterEntry` and gives a bool for each: whether that guard
is kept. What is not listed is always looked at: the kinds of arguments, the modes, and the memory
of tensors that a graph reads, without which its machine code would not be safe.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from rushlight.capture.guards import MISSING, Guards
from rushlight.capture.kinds import CONTAINERS, is_value
from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.tensor.homes import home_of
from rushlight.tensor.tensor import Tensor


@dataclass(frozen=True)
class Source:
    """What a guard is about: `layer` is the class of the module that it belongs to, or None."""

    name: str
    layer: type | None

    def is_unspecialized_nn_module(self) -> bool:
        """Whether it is something of a module."""
        return self.layer is not None

    def is_unspecialized_builtin_nn_module(self) -> bool:
        """Whether it is something of a module of a class of `rushlight.nn`."""
        return self.layer is not None and home_of(self.layer).startswith("rushlight.nn.")


@dataclass(frozen=True)
class Guard:
    """A guard, with its source."""

    name: str
    source: Source


@dataclass(frozen=True)
class GuardFilterEntry:
    """A guard: `name` of what is looked at, its `value` at the capture (if `has_value`), the kind
    of comparison, whether it is a global variable, and the guard itself."""

    name: str
    has_value: bool
    value: object
    guard_type: str
    derived_guard_types: tuple[str, ...]
    is_global: bool
    orig_guard: Guard

    @property
    def is_parameter(self) -> bool:
        """Whether the value is a parameter."""
        return isinstance(self.value, Parameter)


def keep_wanted(guards: Guards, function) -> None:
    """Drop the guards that a filter does not want. None keeps all.

    Raises AssertionError where it does not give a bool for each.
    """
    if function is None:
        return
    _guard_tensors(guards)
    listed = list(_listed(guards))
    wanted = function([entry for entry, _ in listed])
    if len(wanted) != len(listed):
        raise AssertionError(
            f"guard_filter_fn must give a bool for each of {len(listed)} guards, gave {len(wanted)}"
        )
    if not all(type(each) is bool for each in wanted):
        raise AssertionError("guard_filter_fn must give a list of bools")
    for (_, drop), is_kept in zip(listed, wanted, strict=True):
        if not is_kept:
            drop()
    for key in [key for key, table in guards.tables.items() if not table[2]]:
        del guards.tables[key]


def _guard_tensors(guards):
    """Guard the tensors in dictionaries, such as those of a module's parameters, one by one, too:
    they may be kept where the dictionary is not."""
    for held in guards.held.values():
        if isinstance(held.value, dict):
            for key, value in held.value.items():
                if isinstance(value, Tensor):
                    guards.entry(held.value, key, value, held.title)


def _listed(guards):
    """Pairs of an entry and the function that drops its guard."""
    layers = _layers(guards)
    found = {value for table in guards.tables.values() if _is_space(table[0])
             for value in map(id, table[2].values())}  # fmt: skip
    for key, (owner, _, entries, title) in guards.tables.items():
        layer = _layer_of_class(owner) or layers.get(key)
        for name, value in entries.items():
            drop = functools.partial(entries.pop, name)
            yield _entry(f"{title}.{name}", value, _type_of(value), _is_space(owner), layer), drop
    for key, held in guards.held.items():
        entry = _entry(held.title, held.value, "EQUALS_MATCH", key in found, layers.get(key))
        yield entry, functools.partial(guards.held.pop, key)
    for key, (_, value, name) in guards.cells.items():
        entry = _entry(name, value, _type_of(value), False, None)
        yield entry, functools.partial(guards.cells.pop, key)
    for key, (function, _, _) in guards.functions.items():
        entry = _entry(function.__qualname__, function, "CLOSURE_MATCH", key in found, None)
        yield entry, functools.partial(guards.functions.pop, key)
    for key, (value, kind) in guards.types.items():
        layer = kind if issubclass(kind, Module) else None
        entry = _entry(f"a {kind.__name__}", value, "TYPE_MATCH", key in found, layer)
        yield entry, functools.partial(guards.types.pop, key)
    for key, hooks in guards.empty.items():
        entry = _entry("hooks", hooks, "EMPTY_NN_MODULE_HOOKS_DICT", False, layers.get(key, Module))
        yield entry, functools.partial(guards.empty.pop, key)


def _entry(name, value, kind, is_global, layer):
    guard = Guard(name, Source(name, layer))
    has_value = value is not MISSING
    shown = value if has_value else None
    return GuardFilterEntry(name, has_value, shown, kind, (kind,), is_global, guard)


def _layers(guards):
    """The class of the module by the id of its dictionary, and of the containers in it."""
    found = {}
    for value, kind in guards.types.values():
        if isinstance(value, Module):
            own = vars(value)
            found[id(own)] = kind
            found |= {id(each): kind for each in own.values() if type(each) in CONTAINERS}
    return found


def _layer_of_class(owner):
    return owner if isinstance(owner, type) and issubclass(owner, Module) else None


def _is_space(owner):
    """Whether a dictionary is that of a Python module's global variables."""
    return isinstance(owner, dict) and ("__builtins__" in owner or "__spec__" in owner)


def _type_of(value):
    """PyTorch's name for how a value is compared."""
    if value is MISSING:
        return "NOT_PRESENT_IN_GENERIC_DICT"
    if isinstance(value, Tensor):
        return "TENSOR_MATCH"
    return "CONSTANT_MATCH" if is_value(value) else "ID_MATCH"
