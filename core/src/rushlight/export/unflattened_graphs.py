"""The graphs of an unflattened module: one for the model, one for every call of a submodule that
does something of its own."""

from __future__ import annotations

import operator

from rushlight.export.graph_signature import ConstantArgument, InputKind
from rushlight.export.partitioning import Call, is_own
from rushlight.export.unflattened import InterpreterModule
from rushlight.fx import _pytree as fx_pytree
from rushlight.fx.graph import Graph
from rushlight.fx.node import map_arg
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree

_WHOLE = "_whole_model"
_STATE = ("_parameters", "_buffers", "_non_persistent_buffers_set")


def write_model(root, program, names, graph, whole: Call) -> Graph:
    """The model's graph; the submodules of `root` get theirs. `names` are all names of the tensors
    that inputs of `graph` stand for."""
    nodes = {node.name: node for node in graph.nodes}
    writer = _Writer(program, names, nodes, whole, root, root)
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            node = writer.nodes[spec.arg.name]
            writer.values[node] = writer.graph.placeholder(node.target)
            writer.values[node].meta = dict(node.meta)
    writer.write()
    writer.graph.output(map_arg(tuple(graph.output_node().args[0]), writer.value))
    for module in root.modules():
        if isinstance(module, InterpreterModule) and len(module.graphs) > 1:
            forms = [_form(module, each) for each in module.graphs]
            if all(form == forms[0] for form in forms):
                del module.graphs[1:]
    return writer.graph


class _Writer:
    """Writes the graph of one call, whose tensors `module` has, a submodule of `root`: `values`
    maps the program's nodes to the graph's."""

    def __init__(self, program, names, nodes, call: Call, module, root):
        self.program, self.names, self.nodes = program, names, nodes
        self.call, self.module, self.root = call, module, root
        self.graph = Graph()
        self.values: dict = {}

    def value(self, node):
        """The node of this graph that has the value of one of the program."""
        if node not in self.values:
            if not is_own(self.call, node, self.names):
                raise ValueError(
                    f"unflatten(): '{self.call.path or 'the model'}' reads '{node.name}', which a "
                    "submodule of kept signature computes and does not return; make it a result "
                    "of that submodule, or do not keep its signature"
                )
            self.values[node] = self._read(node)
        return self.values[node]

    def _read(self, node):
        if node.op == "get_attr":  # the graph of a choice or loop
            path, _, leaf = node.target.rpartition(".")
            if path or leaf not in self.module._modules:
                graph = self.program.graph_module.get_submodule(node.target)
                self.module.add_module(leaf, graph)
            read = self.graph.get_attr(leaf)
        else:
            read = self.graph.get_attr(self._attribute(self.names[node.name]))
        read.meta = dict(node.meta)
        return read

    def _attribute(self, names):
        """Where the module finds a tensor of these names."""
        own = next((name for name in names if self.call.has(name)), None)
        if own is not None:
            return self._below(own)
        # no submodule of it, and no attribute that is copied or moved with it
        self.module.__dict__[_WHOLE] = self.root
        return f"{_WHOLE}.{names[0]}"

    def _below(self, path):
        return path[len(self.call.path) + 1 :] if self.call.path else path

    def write(self):
        """Add the nodes of the call, and calls of the modules of those in it."""
        for item in self.call.items:
            if not isinstance(item, Call):
                self.values[item] = self.graph.node_copy(item, self.value)
            elif item.signature is None:
                self._pass(item)
            else:
                self._pass_structures(item)

    # ------------------------------------------------------------------------------ calls in it
    def _pass(self, call):
        """A call with what it reads, which gives what others read."""
        args = tuple(map(self.value, call.inputs))
        result = self.graph.call_module(self._module(call), args)
        for i, node in enumerate(call.outputs):
            only = len(call.outputs) == 1
            self.values[node] = result if only else self._item(result, i)

    def _pass_structures(self, call):
        """A call with the arguments and results of the original."""
        signature = call.signature
        leaves = [self._argument(argument) for argument in signature.inputs]
        given = self.graph.call_function(
            pytree.tree_unflatten, (leaves, self._spec(signature.in_spec))
        )
        count, keywords = _arguments(signature)
        positional, named = self._item(given, 0), self._item(given, 1)
        result = self.graph.call_module(
            self._module(call),
            tuple(self._item(positional, i) for i in range(count)),
            {name: self._item(named, name) for name in keywords},
        )
        results = self.graph.call_function(flattened, (result, self._spec(signature.out_spec)))
        for i, argument in enumerate(signature.outputs):
            node = self.nodes.get(argument.name)
            if node in call.nodes:
                self.values[node] = self._item(results, i)

    def _item(self, node, key):
        return self.graph.call_function(operator.getitem, (node, key))

    def _argument(self, argument):
        if isinstance(argument, ConstantArgument):
            return argument.value
        return self.value(self.nodes[argument.name])

    def _spec(self, spec):
        """A structure, which the module keeps as an attribute."""
        name = f"_spec_{sum(key.startswith('_spec_') for key in self.module.__dict__)}"
        setattr(self.module, name, spec)
        return self.graph.get_attr(name)

    # ------------------------------------------------------------------------------------ modules
    def _module(self, call):
        """The path of the module that does what a call does: the submodule, or a variant of it."""
        path = self._below(call.path)
        home, _, leaf = path.rpartition(".")
        owner = self.module.get_submodule(home)
        original = owner._modules[leaf]
        if call.signature is not None or not original.graphs:
            original.graphs.append(self._graph(call, original))
            return path
        made = _variant(original)
        made.graphs.append(self._graph(call, made))
        form = _form(made, made.graph)
        for name, other in owner._modules.items():
            if name.partition("@")[0] == leaf and _form(other, other.graph) == form:
                return f"{home}.{name}" if home else name
        owner.add_module(f"{leaf}@{call.number}", made)
        return f"{path}@{call.number}"

    def _graph(self, call, module):
        writer = _Writer(self.program, self.names, self.nodes, call, module, self.root)
        if call.signature is not None:
            writer.write_structured()
            return writer.graph
        for node in call.inputs:
            writer.values[node] = writer.graph.placeholder(node.name)
            writer.values[node].meta = dict(node.meta)
        writer.write()
        results = list(map(writer.value, call.outputs))
        writer.graph.output(results[0] if len(results) == 1 else results)
        return writer.graph

    def write_structured(self):
        """The graph of a call whose arguments and results are those of the original."""
        signature = self.call.signature
        count, keywords = _arguments(signature)
        positional = tuple(self.graph.placeholder(f"_positional_arg_{i}") for i in range(count))
        named = {name: self.graph.placeholder(name) for name in keywords}
        leaves = self.graph.call_function(
            flattened, ((positional, named), self._spec(signature.in_spec))
        )
        for i, argument in enumerate(signature.inputs):
            if not isinstance(argument, ConstantArgument):
                node = self.nodes[argument.name]
                if node not in self.values:
                    self.values[node] = self._item(leaves, i)
        self.write()
        results = [self._argument(argument) for argument in signature.outputs]
        self.graph.output(
            self.graph.call_function(
                pytree.tree_unflatten, (results, self._spec(signature.out_spec))
            )
        )


def _arguments(signature):
    """The number of positional arguments, and the names of the others."""
    positional, named = signature.in_spec.children_specs
    return positional.num_children, list(named.context or ())


def flattened(tree, spec):
    """The leaves of `tree`; ValueError where its structure is not `spec`."""
    leaves, found = pytree.tree_flatten(tree)
    return leaves if found == spec else fx_pytree.tree_flatten_spec(tree, spec)


def _variant(module):
    """A module with the parameters, buffers and submodules of another."""
    made = InterpreterModule()
    for name, value in module.__dict__.items():
        if name in _STATE or isinstance(value, Tensor):
            made.__dict__[name] = value
    made._modules.update(module._modules)
    return made


def _form(module, graph):
    """What a graph does, whatever its nodes are called."""
    order = {node: i for i, node in enumerate(graph.nodes)}
    found = []
    for node in graph.nodes:
        target = node.target
        if node.op == "placeholder" and not target.startswith("_positional_arg_"):
            target = None
        if node.op == "get_attr":
            target = module.__dict__.get(target, target)
        args, kwargs = map_arg((node.args, node.kwargs), lambda n: f"%{order[n]}")
        found.append((node.op, target, repr(args), repr(kwargs)))
    return found
