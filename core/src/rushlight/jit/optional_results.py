"""How many tensors a public function gives, where arguments such as `return_indices` say so."""

from __future__ import annotations

import inspect

from rushlight.jit import kinds, tree
from rushlight.jit.kinds import TENSOR, UNKNOWN, Type

# Each gives one result more where it is true.
_MORE = ("return_indices", "return_inverse", "return_counts", "get_infos")
# What a function gives without these, where that is not one tensor.
_AT_LEAST = {"lu": 2}
# What is one tensor as a public function, though the operator of the name gives several.
_ALONE = frozenset(["embedding_bag"])
_ATTENDED = Type("Tuple", TENSOR, kinds.optional(TENSOR))


def result_of(function, args, kwargs):
    """The type of what a call of a public function gives; None where arguments do not decide.

    `args` and `kwargs` are expressions of the intermediate form. An argument whose value is known
    only when the program runs makes the type unknown.
    """
    name = function.__name__
    if name in _ALONE:
        return TENSOR
    if name == "multi_head_attention_forward":
        return _ATTENDED
    if name.endswith("_with_indices"):
        return Type("Tuple", TENSOR, TENSOR)
    given = _given(function, args, kwargs)
    if "as_tuple" in given:
        return _by(given["as_tuple"], kinds.list_of(TENSOR), TENSOR)
    options = [given[option] for option in _MORE if option in given]
    if not options:
        return None
    if None in options:
        return UNKNOWN
    count = _AT_LEAST.get(name, 1) + sum(options)
    return TENSOR if count == 1 else Type("Tuple", *[TENSOR] * count)


def _by(value, if_true, if_false):
    return UNKNOWN if value is None else if_true if value else if_false


def _given(function, args, kwargs):
    """The options of a call by name, True or False; None for what is known only later."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return {}
    names = [n for n in signature.parameters if n in _MORE or n == "as_tuple"]
    if not names:
        return {}
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return {}
    bound.apply_defaults()
    return {name: _truth(bound.arguments[name]) for name in names}


def _truth(value):
    if isinstance(value, tree.Const):
        return bool(value.value)
    return value if isinstance(value, bool) else None
