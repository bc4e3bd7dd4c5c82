"""Whether an exported program is one: its graph, its signature and its state fit together."""

from __future__ import annotations

import operator

from rushlight.export.graph_signature import ConstantArgument, InputKind, OutputKind

_GRADIENTS = (
    OutputKind.LOSS_OUTPUT, OutputKind.GRADIENT_TO_PARAMETER, OutputKind.GRADIENT_TO_USER_INPUT,
)  # fmt: skip
_KINDS = ("placeholder", "call_function", "get_attr", "output")


class SpecViolationError(Exception):
    """Parts of an exported program contradict each other."""


def writes(node) -> bool:
    """Whether a node writes to one of its arguments."""
    if node.op != "call_function" or node.target is operator.getitem:
        return False
    schema = schema_of(node.target)
    if schema is not None and schema.is_mutable:
        return True
    return str(getattr(node.target, "variant", None)).startswith("inplace")


def schema_of(target):
    """The schema of an operator, or None."""
    return getattr(target, "_schema", None)


def check(program) -> None:
    """Raise SpecViolationError for the first contradiction."""
    graph, signature = program.graph, program.graph_signature
    graph.lint()
    for node in graph.nodes:
        if node.op not in _KINDS:
            raise SpecViolationError(f"'{node.name}' is a {node.op}: expected one of {_KINDS}")
    names = [node.name for node in graph.nodes if node.op == "placeholder"]
    given = [spec.arg.name for spec in signature.input_specs]
    if names != given:
        raise SpecViolationError(f"the graph's inputs are {names}, the signature's {given}")
    _check_state(program)
    _check_outputs(program)


def _check_state(program):
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            continue
        kept = spec.kind is InputKind.PARAMETER or spec.persistent
        home, label = (
            (program.state_dict, "state_dict") if kept else (program.constants, "constants")
        )
        if spec.target not in home:
            raise SpecViolationError(
                f"{spec.kind.name.lower()} '{spec.target}' of the signature is not in {label}"
            )


def _check_outputs(program):
    results = program.graph.output_node().args[0]
    specs = program.graph_signature.output_specs
    if len(results) != len(specs):
        raise SpecViolationError(
            f"the graph has {len(results)} outputs, the signature {len(specs)}"
        )
    ended = False
    for result, spec in zip(results, specs, strict=True):
        if not isinstance(spec.arg, ConstantArgument) and spec.arg.name != getattr(
            result, "name", None
        ):
            raise SpecViolationError(
                f"output '{spec.arg.name}' of the signature is {result} in the graph"
            )
        if spec.kind in _GRADIENTS:
            raise SpecViolationError(
                f"output '{spec.arg.name}' is of kind {spec.kind.name}: programs compute no "
                "gradients; call backward() on what module() gives"
            )
        ended = ended or spec.kind is OutputKind.USER_OUTPUT
        if ended and spec.kind is not OutputKind.USER_OUTPUT:
            raise SpecViolationError(f"mutation '{spec.arg.name}' stands behind a user's output")
