"""A program without writes, whose composites are their parts."""

from __future__ import annotations

import copy

from rushlight.autograd.mode import no_grad
from rushlight.export.functional import FunctionalLevel
from rushlight.export.graph_signature import (
    ConstantArgument,
    CustomObjArgument,
    ExportGraphSignature,
    InputKind,
    OutputKind,
    OutputSpec,
    SymFloatArgument,
    TensorArgument,
    exchanged,
)
from rushlight.export.verifier import Verifier, schema_of
from rushlight.fx.experimental.decompositions import by_values, core
from rushlight.fx.experimental.functional_calls import (
    auto_functionalized_v2,
    functional_call,
    results_of,
)
from rushlight.fx.experimental.inner_graphs import HigherOrder, holding
from rushlight.fx.experimental.recorder import PASS, Recorder
from rushlight.fx.experimental.tracked_numbers import TrackedSize
from rushlight.fx.experimental.tracked_sizes import Tracking
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.interpreter import Interpreter
from rushlight.fx.traceback import NodeSource, NodeSourceAction
from rushlight.library.operators import Operator, lookup
from rushlight.ops._transforms import wrapped_writes
from rushlight.ops._transforms.wrappers import replace
from rushlight.ops.creation.tensors import empty
from rushlight.tensor.dispatch import innermost_capture
from rushlight.tensor.tensor import Tensor

_MUTATIONS = {
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
}


def decomposed(program, table=None, shapes=None, draws=None, fixed_sizes=None):
    """See :meth:`ExportedProgram.run_decompositions`; with fixed sizes, of some placeholders by
    number those of `shapes`; `draws` gives numbers for what depends on values, and `fixed_sizes`
    says which sizes are the same in all captures."""
    table = _without_copies(program) | (core() if table is None else dict(table))
    recorder = Recorder(True, table, _no_constant, draws=draws)
    recorder.fixed_sizes = fixed_sizes
    generators = _generators(program)
    recorder.generator = lambda drawn: recorder.graph.find_nodes(
        op="placeholder", target=generators[id(drawn)]
    )[0]
    _track(recorder, shapes)
    with recorder.level, no_grad(), FunctionalLevel() as level:
        sizes, inputs = shapes or {}, enumerate(_placeholders(program))
        given = [_input(recorder, level, node, sizes.get(place)) for place, node in inputs]
        given = [_object(program, value) for value in given]
        # a write gives an input another tensor below: the new value of what it stands for
        before = [getattr(t, "_inner", None) for t in given]
        specs = program.graph_signature.input_specs
        run = _Run(program.graph_module, level, recorder, _watched(program, given))
        outputs = run.run(*given)
        changed = [
            (spec, tensor._inner)
            for spec, tensor, inner in zip(specs, given, before, strict=True)
            if inner is not None and tensor._inner is not inner
        ]
        results = [t for _, t in changed] + [_below(o, level) for o in outputs]
        recorder.node("output", "output", (tuple(results),), {})
    calls, kept = _calls(program, run.names)
    recorder.graph.eliminate_dead_code(lambda node: node.name in kept or is_needed(node))
    signature = _signature(program, recorder.graph, changed)
    graph_module = GraphModule(_holding_needed(recorder.modules), recorder.graph, "GraphModule")
    return type(program)(
        graph_module, graph_module.graph, signature, dict(program.state_dict),
        {}, calls, program.example_inputs, dict(program.constants),
        verifiers=[Verifier],
    )  # fmt: skip


def _without_copies(program):
    """What is called instead of copies; nothing where submodules are to stay calls: a copy says in
    which of them a buffer gets its value."""
    kept = any(entry.signature for entry in program.module_call_graph[1:])
    return {} if kept else by_values()


def _track(recorder, shapes):
    """Let choices by sizes stay choices where the program is run at one of several."""
    if shapes and recorder.tracking is None:
        recorder.tracking = Tracking(True, on=True)


def _holding_needed(modules):
    """A module with the graphs that nodes are called with, without what nobody reads."""
    root = holding(modules)
    for inner in (module for module in root.modules() if isinstance(module, GraphModule)):
        inner.graph.eliminate_dead_code(is_needed)
        inner.recompile()
    return root


def _calls(program, names):
    """The calls of submodules with what they exchange by its new names, and these."""
    calls = copy.deepcopy(program.module_call_graph)
    found = [argument for entry in calls for argument in exchanged(entry.signature)]
    for argument in found:
        argument.name = names[argument.name]
    return calls, {argument.name for argument in found}


def _watched(program, given):
    """Inputs whose values between writes are noted, for submodules of kept signature."""
    if not any(entry.signature for entry in program.module_call_graph[1:]):
        return ()
    pairs = zip(program.graph_signature.input_specs, given, strict=True)
    return [(spec, tensor) for spec, tensor in pairs if spec.target]


class _Run(Interpreter):
    """Runs the graph; what its nodes make is written to as values too."""

    def __init__(self, module, level, recorder, watched=()):
        super().__init__(module)
        self.level, self.recorder, self.watched = level, recorder, watched
        self.names: dict[str, str] = {}  # of the nodes made of the graph's, for tensors

    def call_function(self, target, args, kwargs):
        """A call of the graph; graphs among its arguments become graphs without writes."""
        if isinstance(target, HigherOrder):
            args, named = self._lowered(args, kwargs)
            return target.again(self.recorder, args, named, _functional)
        if isinstance(target, Operator):
            return self._operator(target, args, kwargs)
        aten = lookup("aten")
        if target is aten.sym_size.int:
            return self._size(_below(args[0], self.level).shape[args[1]])
        if target is aten.item.default:
            return _below(args[0], self.level).item()
        return super().call_function(target, args, kwargs)

    def _size(self, size):
        """A size, which knows its way to a choice by sizes where captures ask for that."""
        tracking = self.recorder.tracking
        tracked = tracking is not None and tracking.on and type(size) is int
        return TrackedSize(size) if tracked else size

    def _operator(self, target, args, kwargs):
        """A call of an operator of a namespace, whose results share no memory with others."""
        if target._schema.is_mutable:
            return self._writing(target, target._schema.bind(args, dict(kwargs)))
        args, kwargs = self._lowered(args, kwargs)
        return target(*args, **kwargs)

    def _lowered(self, args, kwargs):
        args, pairs = (
            replace(v, lambda t: _below(t, self.level)) for v in (args, list(kwargs.items()))
        )
        return args, dict(pairs)

    def _writing(self, target, values):
        """A call of an operator that writes to its arguments, which get new values instead."""
        named, bases = functional_call(target, values)
        _, named = self._lowered((), named)
        found, new = results_of(target, auto_functionalized_v2(target, **named))
        for base, value in zip(bases, new, strict=True):
            wrapped_writes.assign(base, self.level.lifted(value))
        return found

    def run_node(self, n):
        """The value of a node, as a tensor of the level."""
        self.recorder.origin = n
        found = replace(super().run_node(n), self._lifted)
        if isinstance(found, Tensor):
            self.names[n.name] = self.recorder.argument(_below(found, self.level)).name
        if n.op == "call_function":
            for spec, tensor in self.watched:
                node = self.recorder.argument(_below(tensor, self.level))
                if node.op == "call_function":
                    node.meta["value_of"] = spec.target
        return found

    def _lifted(self, tensor):
        inside = getattr(tensor, "_level", None) is self.level
        return tensor if inside else self.level.lifted(tensor)


def _functional(module):
    """A function of the tensors of a capture that runs a graph without writes."""

    def function(*values):
        recorder = innermost_capture().recorder
        with FunctionalLevel() as level:
            given = [level.lifted(v) if isinstance(v, Tensor) else v for v in values]
            before = [getattr(v, "_inner", None) for v in given]
            outputs = _Run(module, level, recorder).run(*given)
            if any(getattr(v, "_inner", None) is not b for v, b in zip(given, before, strict=True)):
                raise NotImplementedError(
                    "run_decompositions(): a function given to cond, or to a loop, writes to a "
                    "tensor that it is given or reads from outside; let it return the new value"
                )
            return tuple(_below(output, level) for output in outputs)

    return function


def _no_constant(tensor):
    raise RuntimeError(f"run_decompositions(): a decomposition made a constant, {tensor!r}")


def is_needed(node):
    """Whether a node that nobody reads stays: inputs, the output, what draws numbers, and checks,
    which give nothing."""
    if node.op != "call_function":
        return True
    schema = schema_of(node.target)
    if node.meta.get("reads_values"):
        return True  # what is said of its numbers is checked
    if schema is None:
        return False
    return not schema.returns or any(a.type == "Generator" for a in schema.arguments)


def _placeholders(program):
    return [node for node in program.graph.nodes if node.op == "placeholder"]


def _generators(program):
    """The inputs that stand for generators, by the identity of these."""
    signature = program.graph_signature
    names = signature.inputs_to_lifted_custom_objs
    return {id(program.constants[held]): name for name, held in names.items()}


def _object(program, value):
    """What an input stands for that is a generator."""
    if not isinstance(value, CustomObjArgument):
        return value
    held = program.graph_signature.inputs_to_lifted_custom_objs.get(value.name)
    return value.fake_val if held is None else program.constants[held]


def _input(recorder, level, node, shape):
    value = node.meta["val"]
    if isinstance(shape, int):
        value = shape  # a number that may differ
    elif shape is not None:
        value = empty(shape, dtype=value.dtype, device=value.device)
    made = recorder.node("placeholder", node.target, (), {}, node.name)
    made.meta["from_node"] = [NodeSource(node, PASS, NodeSourceAction.CREATE)]
    if not isinstance(value, Tensor):
        made.meta["val"] = value
        return value
    entered = recorder.entering(made, value, node.meta["device"])
    return level.lifted(entered)


def _below(value, level):
    while getattr(value, "_level", None) is level:
        value = value._inner
    return value


def _signature(program, graph, changed):
    before = program.graph_signature
    results = list(graph.output_node().args[0])
    specs = []
    for (spec, _), node in zip(changed, results, strict=False):
        target = spec.arg.name if spec.kind is InputKind.USER_INPUT else spec.target
        specs.append(OutputSpec(_MUTATIONS[spec.kind], TensorArgument(node.name), target))
    # what a program without writes gives for buffers stays that
    for node, spec in zip(results[len(changed) :], before.output_specs, strict=True):
        if isinstance(spec.arg, ConstantArgument) or not hasattr(node, "name"):
            argument = ConstantArgument("", node)  # or a size, at one of which the program is run
        elif isinstance(spec.arg, SymFloatArgument):
            argument = SymFloatArgument(node.name)
        else:
            argument = TensorArgument(node.name)
        specs.append(OutputSpec(spec.kind, argument, spec.target))
    return ExportGraphSignature(copy.deepcopy(before.input_specs), specs)
