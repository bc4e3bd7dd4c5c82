"""Calls without writes of operators that write (``auto_functionalized_v2``) as the archive's JSON
has them."""

from __future__ import annotations

from rushlight.export.serialization import calls
from rushlight.export.serialization.values import FormatError, identifier
from rushlight.fx.experimental.functional_calls import (
    FunctionalCall,
    auto_functionalized,
    auto_functionalized_v2,
    can_be_functional,
    written_arguments,
)
from rushlight.fx.experimental.written_views import described
from rushlight.fx.node import Node

_OPERATORS = (auto_functionalized, auto_functionalized_v2)


def operator_of(target) -> FunctionalCall | None:
    """What a target of an archive calls; None for others than these operators."""
    return next((op for op in _OPERATORS if f"torch.ops.{op.__qualname__}" == target), None)


def call(node, model, argument, results) -> dict:
    """A node of a call without writes: ``argument(value, kind)`` is an argument of a type,
    `results` are those of the node."""
    (operator,) = node.args
    kinds = {a.name: a.type + a.shape for a in operator._schema.arguments}
    kinds["_all_bases"] = "Tensor[]"
    named = [
        {"name": name, "arg": argument(value, kinds.get(name, "")), "kind": 2}
        for name, value in node.kwargs.items()
    ]
    called = {"name": "", "arg": {"as_operator": f"torch.ops.{operator}"}, "kind": 1}
    return {
        "target": f"torch.ops.{node.target.__qualname__}",
        "inputs": [called, *named],
        "outputs": results,
        "metadata": calls.metadata_as_json(node.meta, model),
        "is_hop_single_tensor_return": False,
        "name": node.name,
    }


def arguments(op, found, read, overload):
    """The operator and the arguments by name of a node: ``read(kind, value)`` gives an argument,
    ``overload(target)`` an operator."""
    (kind, called), *pairs = [(each["name"], each["arg"]) for each in found]
    target = called.get("as_operator")
    operator = overload(target) if isinstance(target, str) and not kind else None
    if not can_be_functional(operator):
        raise FormatError(f"{op} calls {target!r}, which is no operator that writes")
    named = {identifier(name, str(op)): read(value) for name, value in pairs}
    _check(op, operator, named)
    return operator, named


def _check(op, operator, named):
    """Raise FormatError unless the arguments are those of a call of an operator."""
    wanted = {a.name for a in operator._schema.arguments}
    given = set(named)
    if op is auto_functionalized_v2:
        written = written_arguments(operator)
        bases = named.get("_all_bases")
        if not isinstance(bases, list) or not all(isinstance(base, Node) for base in bases):
            raise FormatError(f"{op}: '_all_bases' is {bases!r}, expected tensors")
        wanted -= {a.name for a in written}
        try:
            given -= {"_all_bases", *described(written, named, len(bases))}
        except (LookupError, TypeError) as error:
            raise FormatError(
                f"{op} of {operator}: {error} does not say which tensor an argument is"
            ) from error
    if given != wanted:
        raise FormatError(f"{op} of {operator} has the arguments {sorted(given)}")
