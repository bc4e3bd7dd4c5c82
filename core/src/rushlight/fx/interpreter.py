"""Running a graph node by node."""

from __future__ import annotations

from rushlight.fx import traceback as fx_traceback
from rushlight.fx.codegen import last_uses
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node, map_aggregate
from rushlight.fx.proxy import Proxy, TracerBase


class Interpreter:
    """Runs the graph of a module; subclasses change what a kind of node does by overriding the
    method of its name, each called with ``(target, args, kwargs)``.

    Args: `module` is a GraphModule, or any module if `graph` is given. With
    `garbage_collect_values` a value is let go of after its last use. `env` holds the values that
    there are.

    >>> import rushlight
    >>> module = rushlight.fx.symbolic_trace(lambda x: rushlight.relu(x) + 1)
    >>> class Swapped(rushlight.fx.Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         if target is rushlight.relu:
    ...             target = rushlight.neg
    ...         return super().call_function(target, args, kwargs)
    >>> Swapped(module).run(rushlight.ones(2))
    tensor([0., 0.])
    """

    def __init__(self, module, garbage_collect_values: bool = True, graph: Graph | None = None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph = module.graph if graph is None else graph
        self.env: dict[Node, object] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self._explained: Exception | None = None  # the error that says already where it was
        if garbage_collect_values:
            self.user_to_last_uses = last_uses(self.graph)

    def run(self, *args, initial_env: dict | None = None, enable_io_processing: bool = True):
        """The graph's result for these arguments. `initial_env` has values of nodes, which are not
        run; without `enable_io_processing` arguments and result are those of the nodes."""
        self.env = {} if initial_env is None else dict(initial_env)
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self._run_and_locate(node)
            if self.garbage_collect_values:
                for used in self.user_to_last_uses.get(node, ()):
                    self.env.pop(used, None)
            if node.op == "output":
                found = self.env[node]
                return self.graph.process_outputs(found) if enable_io_processing else found
        return None

    def _run_and_locate(self, node):
        try:
            return self.run_node(node)
        except Exception as error:
            if self.extra_traceback and error is not self._explained:
                note = f"While executing {node.format_node()}"
                if node.stack_trace:
                    note += f"\nOriginal traceback:\n{node.stack_trace}"
                self._explained = error
                error.add_note(note)
            raise

    def boxed_run(self, args_list: list):
        """`run` with a list of arguments, which is emptied."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node):
        """The value of one node."""
        with fx_traceback.set_current_meta(n, f"Interpreter_{type(self).__name__}"):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target, args, kwargs):
        """The next argument; all that are left for ``*args``."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target, args, kwargs):
        """The attribute of that path."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """The result of a method of ``args[0]``."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target, args, kwargs):
        """The result of the submodule of that path."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """The result of the graph."""
        return args[0]

    def fetch_attr(self, target: str):
        """The value at a path of the module."""
        found = self.module
        for i, name in enumerate(path := target.split(".")):
            if not hasattr(found, name):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(path[: i + 1])}")
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n: Node):
        """A node's arguments with the values of the nodes among them."""
        args, kwargs = self.map_nodes_to_values((n.args, n.kwargs), n)
        return args, kwargs

    def map_nodes_to_values(self, args, n: Node):
        """A structure with the values of the nodes in it."""

        def value(node):
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose "
                    "such issues"
                )
            return self.env[node]

        return _plain(args, value)


class Transformer(Interpreter):
    """An interpreter whose values are proxies: `transform` gives a new module, in which each node
    is what the overridden methods made of it."""

    def __init__(self, module: GraphModule):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        self.tracer = _TransformerTracer(module, self.new_graph)

    def placeholder(self, target, args, kwargs):
        """A proxy of a new placeholder."""
        node = self.new_graph.placeholder(target, default_value=args[0] if args else ...)
        return Proxy(node, self.tracer)

    def get_attr(self, target, args, kwargs):
        """A proxy of a new read of an attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """A proxy of a new call of the submodule."""
        if not isinstance(target, str):
            raise AssertionError(f"call_module(): target must be a str, not {target!r}")
        return self.tracer.call_module(self.fetch_attr(target), target, args, kwargs)

    def call_function(self, target, args, kwargs):
        """A proxy of a new call of the function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            strip = map_aggregate(result, lambda v: v.node if isinstance(v, Proxy) else v)
            self.new_graph.output(strip)
        return GraphModule(self.module, self.new_graph)


class _TransformerTracer(TracerBase):
    """Makes nodes in the new graph; submodules stay calls."""

    def __init__(self, root, graph):
        super().__init__()
        self.root, self.graph = root, graph
        self.tensor_attrs: dict = {}

    def is_leaf_module(self, _, __):
        """Every module is one call."""
        return True

    def call_module(self, module, target, args, kwargs):
        """The call as a node."""
        return self.create_proxy("call_module", target, args, kwargs)


def _plain(value, fn):
    """`map_arg` with plain lists and dicts as results, which functions may change."""
    if isinstance(value, Node):
        return fn(value)
    if isinstance(value, tuple):
        items = [_plain(item, fn) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [_plain(item, fn) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item, fn) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(_plain(item, fn) for item in (value.start, value.stop, value.step)))
    return value


__all__ = ["Interpreter", "Transformer"]
