"""From an exported program to a module that is called as the model is."""

from __future__ import annotations

import copy
import math
import types

from rushlight.errors import shape_text
from rushlight.export.dynamic.expressions import SymInt
from rushlight.export.dynamic.sampling import LEAST
from rushlight.export.graph_signature import (
    ConstantArgument,
    CustomObjArgument,
    InputKind,
    OutputKind,
    SymIntArgument,
)
from rushlight.fx.codegen import _PyTreeCodeGen, _PyTreeInfo
from rushlight.fx.graph_module import GraphModule, _assign_attr
from rushlight.fx.traceback import NodeSource, NodeSourceAction
from rushlight.library.operators import lookup
from rushlight.nn.module import Module
from rushlight.tensor.dispatch import innermost_capture
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree

PASS = "ExportedProgram.module()"  # as PyTorch names it in ``meta["from_node"]``


def unlifted(program, check_guards=True) -> GraphModule:
    """The program as a module with the model's names; see :meth:`ExportedProgram.module`."""
    signature, root = program.graph_signature, Module()
    graph = copy.deepcopy(program.graph)
    for node, before in zip(graph.nodes, program.graph.nodes, strict=True):
        node.meta["from_node"] = [NodeSource(before, PASS, NodeSourceAction.CREATE)]
    for node in graph.find_nodes(op="get_attr"):  # graphs of choices and loops
        _assign_attr(program.graph_module.get_submodule(node.target), root, node.target)
    by_name = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    for spec in signature.input_specs:
        if spec.kind is not InputKind.USER_INPUT:
            _assign_attr(_tensor_of(program, spec), root, spec.target)
            _read_attribute(graph, by_name[spec.arg.name], spec.target)
    _write_back(graph, signature, by_name)
    info = program.module_call_graph[0].signature
    names = _argument_names(info)
    graph._codegen = _KeywordCodeGen(_PyTreeInfo(names, info.in_spec, info.out_spec))
    module = GraphModule(root, graph, type(program.graph_module).__name__)
    _note_persistence(module, program)
    guard = InputGuard(program) if check_guards else InputGuard(program, False, RuntimeError)
    module.register_forward_pre_hook(guard if check_guards else guard.outside, with_kwargs=True)
    # attributes of this module alone: copies are modules like any other, as PyTorch's are
    for name, refusal in (("train", _train), ("eval", _eval)):
        setattr(module, name, types.MethodType(refusal, module))
    return module


def _note_persistence(module, program):
    """Leave what is not in the program's state out of the module's, which is the model's."""
    for spec in program.graph_signature.input_specs:
        tensor = spec.kind is not InputKind.CUSTOM_OBJ and spec.target is not None
        if tensor and spec.target not in program.state_dict:
            path, _, name = spec.target.rpartition(".")
            module.get_submodule(path)._non_persistent_buffers_set.add(name)


def _train(self, mode=True):
    raise NotImplementedError(
        f"train({mode}): an exported program computes what the model did in the mode it was in, "
        "and has no other; call train() or eval() of the model before export()"
    )


def _eval(self):
    raise NotImplementedError(
        "eval(): an exported program computes what the model did in the mode it was in, and has "
        "no other; call eval() of the model before export()"
    )


def _tensor_of(program, spec):
    name = spec.target
    return program.state_dict[name] if name in program.state_dict else program.constants[name]


def _read_attribute(graph, node, target):
    """Replace a lifted input by a read of an attribute."""
    with graph.inserting_before(node):
        name = target.replace(".", "_")
        read = graph.create_node("get_attr", target, (), {}, name)
    read.meta = {**node.meta, "from_node": _replaced(node)}
    node.replace_all_uses_with(read)
    graph.erase_node(node)


def _replaced(node):
    actions = [NodeSourceAction.CREATE, NodeSourceAction.REPLACE]
    return [NodeSource(node, f"{PASS}.unlift()", actions)]


def _write_back(graph, signature, inputs):
    """Copy new values of buffers and inputs into them, and return only what the user gets."""
    output = graph.output_node()
    results, kept = output.args[0], []
    targets = {s.target: s.arg.name for s in signature.input_specs if s.target is not None}
    reads = {node.target: node for node in graph.nodes if node.op == "get_attr"}
    copy_ = lookup("aten").copy_.default
    with graph.inserting_before(output):
        for value, spec in zip(results, signature.output_specs, strict=True):
            if spec.kind is OutputKind.USER_OUTPUT:
                kept.append(value)
            else:
                home = reads[spec.target] if spec.target in targets else inputs[spec.target]
                graph.call_function(copy_, (home, value))
    output.args, output.meta["from_node"] = (tuple(kept),), _replaced(output)


def _argument_names(info):
    count = info.in_spec.children_specs[0].num_children
    names = list(info.forward_arg_names or [])
    return [names[i] if i < len(names) else f"arg_{i}" for i in range(count)] + list(
        info.in_spec.children_specs[1].context or []
    )


class _KeywordCodeGen(_PyTreeCodeGen):
    """Writes functions whose last arguments may be keywords."""

    def process_inputs(self, *inputs):
        """The leaves of the arguments, keywords given as the last of them."""
        return pytree.tree_flatten(inputs)[0]

    def given(self, names):
        """The arguments of those names, as the structure that is flattened."""
        count = self.pytree_info.in_spec.children_specs[0].num_children
        keywords = ", ".join(f"{name!r}: {name}" for name in names[count:])
        return f"(({', '.join(names[:count])}{',' if count else ''}), {{{keywords}}})"


class InputGuard:
    """Checks the arguments of a call against those of the export; not their dtypes where `dtypes`
    is False. `error` is raised for arguments of other numbers, sizes and dtypes."""

    def __init__(self, program, dtypes=True, error=AssertionError):
        self.dtypes, self.error = dtypes, error
        info = program.module_call_graph[0].signature
        self.spec, self.names = info.in_spec, _argument_names(info)
        self.ranges = {str(key): limits for key, limits in program.range_constraints.items()}
        nodes = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
        self.inputs = [
            (spec.arg, _form(nodes[spec.arg.name]))
            for spec in program.graph_signature.input_specs
            if spec.kind is InputKind.USER_INPUT
        ]

    def __call__(self, module, args, kwargs):
        """Raise for arguments that the program does not take."""
        self.check(pytree.tree_leaves(self._arranged(args, kwargs)))

    def outside(self, module, args, kwargs):
        """The same for calls outside of captures, in which any sizes may stand."""
        if innermost_capture() is None:
            self(module, args, kwargs)
        else:
            self._arranged(args, kwargs)

    def check(self, leaves):
        """The same for the leaves of the arguments."""
        known: dict[str, tuple[int, str]] = {}
        for (argument, form), value in zip(self.inputs, leaves, strict=True):
            if isinstance(argument, ConstantArgument):
                self._check_constant(argument, value)
            elif isinstance(argument, CustomObjArgument):
                continue  # the program draws from the generator that it was exported with
            elif isinstance(argument, SymIntArgument):
                self._check_number(argument.name, form, value, known)
            else:
                self._check_tensor(argument.name, form, value)
                for dim, size in enumerate(form[0]):
                    if isinstance(size, SymInt):
                        place = f"{argument.name}.shape[{dim}]"
                        self._check_size(size.expression, value.shape[dim], place, known, True)

    def _check_number(self, name, expression, value, known):
        if type(value) is not int:
            raise TypeError(f"input '{name}' must be an int, not {type(value).__name__}")
        self._check_size(expression, value, name, known)

    def _check_size(self, expression, size, place, known, of_tensor=False):
        """A size that may differ: it fits those before, and is in its range."""
        name, factor, offset = expression.line()
        found, rest = divmod(size - offset, factor)
        other, where = known.setdefault(name, (found, place))
        if rest or other != found:
            raise self.error(
                f"{place} is {size}, but must be {expression.value({name: other})}: it is "
                f"{expression}, and {where} says that {name} is {other}"
                if not rest
                else f"{place} is {size}, which is not {expression} for any whole {name}"
            )
        limits = self.ranges.get(name)
        if limits is None:
            return
        # captures look at no sizes below: a limit there says nothing of the program
        unlimited = of_tensor and expression.value({name: limits.lower}) <= LEAST
        if found > limits.upper or (found < limits.lower and not unlimited):
            raise self.error(
                f"{place} makes {name} {found}: expected at least {limits.lower}"
                + (f" and at most {limits.upper}" if limits.upper != math.inf else "")
                + ", as the module was exported"
            )

    def _arranged(self, args, kwargs):
        """The arguments as they were given to the export."""
        count = self.spec.children_specs[0].num_children
        given = dict(zip(self.names, args, strict=False)) | kwargs
        missing = [name for name in self.names if name not in given]
        unknown = [name for name in given if name not in self.names]
        if missing or unknown or len(args) > len(self.names):
            raise ValueError(
                f"the exported module takes the arguments {self.names}; missing: {missing}, "
                f"unknown: {unknown or args[len(self.names) :]}"
            )
        found = (
            tuple(given[name] for name in self.names[:count]),
            {name: given[name] for name in self.names[count:]},
        )
        if pytree.tree_structure(found) != self.spec:
            raise ValueError(
                f"the exported module takes arguments of the structure {self.spec}, not "
                f"{pytree.tree_structure(found)}"
            )
        return found

    def _check_constant(self, argument, value):
        if type(value) is not type(argument.value) or value != argument.value:
            raise self.error(
                f"input '{argument.name}' was {argument.value!r} when the module was exported, "
                f"and is part of the program; got {value!r}. Export again with that value"
            )

    def _check_tensor(self, name, form, value):
        shape, dtype = form
        if not isinstance(value, Tensor):
            raise TypeError(f"input '{name}' must be a Tensor, not {type(value).__name__}")
        if self.dtypes and value.dtype is not dtype:
            raise self.error(
                f"input '{name}' must be of dtype {dtype}, as exported, not {value.dtype}"
            )
        fixed = len(value.shape) == len(shape) and all(
            isinstance(wanted, SymInt) or wanted == size
            for wanted, size in zip(shape, value.shape, strict=True)
        )
        if not fixed:
            raise self.error(
                f"input '{name}' must have the shape {shape_text(shape)}, with which the module "
                f"was exported, not {shape_text(value.shape)}"
            )


def _form(node):
    """The shape and dtype of a tensor's input; of a number's that may differ the expression; None
    of a constant's."""
    value = node.meta["val"]
    if isinstance(value, SymInt):
        return value.expression
    return (
        (node.meta.get("sizes") or tuple(value.shape), value.dtype)
        if isinstance(value, Tensor)
        else None
    )
