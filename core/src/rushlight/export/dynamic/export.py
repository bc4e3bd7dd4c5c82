"""Programs with sizes that may differ: made by export, and made of other programs."""

from __future__ import annotations

import dataclasses
from typing import Any

from rushlight.compiler.eager import capturing
from rushlight.export.dynamic import sampling
from rushlight.export.dynamic.capturing import Captures
from rushlight.export.dynamic.declared import Constraint, Declaration
from rushlight.export.dynamic.expressions import SymInt, ValueRanges, symbol
from rushlight.export.dynamic.narrowing import narrowed
from rushlight.export.dynamic.number_functions import UNFITTED
from rushlight.export.graph_signature import ConstantArgument, SymIntArgument
from rushlight.export.tracing import Tracing
from rushlight.fx.node import Node
from rushlight.symbolic_numbers import sym_max, sym_min
from rushlight.tensor.tensor import Tensor


@dataclasses.dataclass
class Capture:
    """A module's run at some sizes; `inputs` are the placeholders of the arguments' leaves, and
    `calls` how submodules are called whose signatures are kept."""

    graph_module: Any
    signature: Any
    in_spec: Any
    out_spec: Any
    constants: dict
    inputs: list
    calls: dict

    @property
    def graph(self):
        """The graph."""
        return self.graph_module.graph


def exported(module, args, kwargs, declaration: Declaration, kept) -> tuple[Capture, dict]:
    """The capture at the arguments' sizes, which computes with them, and the ranges of these;
    `kept` names the submodules whose calls are described."""

    def trace(sizes, sample, draws):
        given = sampling.arguments(args, kwargs, sizes, sample)
        if sample == example:
            given = args, kwargs
        tracing = Tracing(module, draws, kept)
        with capturing("export"):
            parts = tracing.run(*given)
        inputs = [node for node, _ in tracing.user]
        return Capture(*parts, tracing.constants, inputs, tracing.signatures)

    example = {name: one.example for name, one in declaration.free.items()}
    captures = Captures(trace, declaration)
    made = captures.at({}, {}) if not declaration.free else None
    if made is not None and not captures.draws(made).numbers:
        return made, {}
    declaration, found = captures.settled()
    declaration, found = captures.within(narrowed(declaration, found), found)
    made = captures.at(declaration.sizes, found.sample)
    places = {(made.inputs[leaf], dim): e for (leaf, dim), e in declaration.sizes.items()}
    drawn = found.write(places)
    _note_numbers(made.signature, places, found.sample)
    finish(made.graph_module, made.signature)
    return made, drawn | ranges(declaration)


def _note_numbers(signature, places, sample):
    """Let inputs that are whole numbers, and may differ, be symbols."""
    specs = {spec.arg.name: spec for spec in signature.input_specs}
    for (node, dim), expression in places.items():
        if dim is None:
            node.meta["val"] = SymInt(expression.value(sample), expression)
            specs[node.name].arg = SymIntArgument(node.name)


def finish(graph_module, signature):
    """Bring code and signature up to date with a graph that computes with sizes."""
    results = graph_module.graph.output_node().args[0]
    for spec, value in zip(signature.output_specs, results, strict=True):
        if isinstance(spec.arg, ConstantArgument) and isinstance(value, Node):
            spec.arg = SymIntArgument(value.name)
    graph_module.graph.lint()
    graph_module.recompile()


def ranges(declaration) -> dict:
    """The ranges of free sizes by symbol."""
    return {symbol(name): one.range for name, one in declaration.free.items()}


def declaration_of(program) -> Declaration:
    """The free sizes of a program; leaves are its placeholders by number."""
    found = Declaration()
    examples: dict[str, int] = {}
    inputs = [node for node in program.graph.nodes if node.op == "placeholder"]
    for place, node in enumerate(inputs):
        value = node.meta.get("val")
        for dim, size, label in _sizes_of(node, value):
            if isinstance(size, SymInt):
                found.sizes[place, dim] = size.expression
                _solve(size, examples)
                for name in size.expression.symbols():
                    found.labels.setdefault(name, label)
    for key, limits in program.range_constraints.items():
        name = str(key)
        if name in examples:
            found.free[name] = Constraint(name, limits, examples[name])
    return found


def _sizes_of(node, value):
    """Dimensions and sizes of an input, with words for them; of a number itself."""
    if not isinstance(value, Tensor):
        return [(None, value, node.name)]
    sizes = enumerate(node.meta.get("sizes") or ())
    return [(dim, size, f"{node.name}.shape[{dim}]") for dim, size in sizes]


def _solve(size, examples):
    """Note what the symbol of a size is; sizes of inputs are ``a * symbol + b``."""
    if len(size.expression.symbols()) == 1:
        name, factor, offset = size.expression.line()
        examples.setdefault(name, (int(size) - offset) // factor)


def shapes_at(program, sizes, sample) -> dict[int, list[int] | int]:
    """Shapes of a program's placeholders by number, at the sizes that a sample gives; of those that
    are numbers the numbers."""
    inputs = [node for node in program.graph.nodes if node.op == "placeholder"]
    shapes: dict = {}
    for (place, dim), expression in sizes.items():
        if dim is None:
            shapes[place] = expression.value(sample)
        else:
            shape = shapes.setdefault(place, list(inputs[place].meta["val"].shape))
            shape[dim] = expression.value(sample)
    return shapes


def remade(program, make):
    """A program made of another by ``make(shapes, draws)``, where shapes are those of the
    placeholders by number: once where all sizes are fixed, else at several sizes, whose results are
    unified."""
    declaration = declaration_of(program)
    if not declaration.free and len(program.range_constraints) == 0:
        return make({})
    captures = Captures(
        lambda sizes, sample, draws: make(shapes_at(program, sizes, sample), draws), declaration
    )
    captures.again = True
    if any(node.target in UNFITTED for node in program.graph.nodes):
        captures.tracking.compute(True)
    declaration, found = captures.settled()
    if any(node.target in (sym_max, sym_min) for node in program.graph.nodes):
        declaration, found = captures.bounded(declaration, found)  # for what one end tells
    made = captures.at(declaration.sizes, found.sample)
    places = [node for node in made.graph.nodes if node.op == "placeholder"]
    sizes = {(places[p], d): e for (p, d), e in declaration.sizes.items()}
    drawn = found.write(sizes)
    _note_numbers(made.graph_signature, sizes, found.sample)
    finish(made.graph_module, made.graph_signature)
    made.range_constraints.update(drawn | ranges(declaration))
    return made


__all__ = ["Capture", "ValueRanges", "declaration_of", "exported", "remade"]
