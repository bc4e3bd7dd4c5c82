"""A program as a list of nodes, and what builds and changes it.

>>> import rushlight
>>> graph = rushlight.fx.Graph()
>>> x = graph.placeholder("x")
>>> y = graph.call_function(rushlight.relu, (x,))
>>> _ = graph.output(y)
>>> print(graph)
graph():
    %x : [num_users=1] = placeholder[target=x]
    %relu : [num_users=1] = call_function[target=rushlight.relu](args = (%x,), kwargs = {})
    return relu
"""

from __future__ import annotations

import copy
import warnings

from rushlight.fx import traceback as fx_traceback
from rushlight.fx.codegen import CodeGen, PythonCode, Reading, _PyTreeCodeGen, _PyTreeInfo
from rushlight.fx.names import Namespace, snake_case
from rushlight.fx.node import Argument, Node, Target, map_arg
from rushlight.fx.node_hooks import call_hooks
from rushlight.fx.operators import inplace_methods, magic_methods, reflectable_magic_methods
from rushlight.library.kinds import OpOverload

_Namespace = Namespace


class _NodeList:
    """The nodes of a graph in order; they may be changed while one goes through them."""

    def __init__(self, graph, forward=True):
        self.graph, self.forward = graph, forward

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        root = self.graph._root
        node = root._next if self.forward else root._prev
        while node is not root:
            if not node._erased:
                yield node
            node = node._next if self.forward else node._prev

    def __reversed__(self):
        return _NodeList(self.graph, not self.forward)


class _InsertPoint:
    """Where a graph puts new nodes, until the end of ``with``."""

    def __init__(self, graph, insert):
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.graph._insert = self.before


class Graph:
    """A list of nodes: inputs (`placeholder`), calls, and an `output`.

    Args: `owning_module` is the module whose attributes ``get_attr`` and ``call_module`` name,
    `tracer_cls` the tracer that made the graph, `tracer_extras` keyword arguments with which it
    is traced again when a module is unpickled.
    """

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._len, self._numbered = 0, False
        self._names = Namespace()
        self._graph_namespace = self._names
        self.owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()

    @property
    def nodes(self) -> _NodeList:
        """All nodes in the order of execution; `reversed` goes backwards."""
        return _NodeList(self)

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of one kind and, if given, one target, in order."""
        if op == "call_function" and target is None:
            return [node for node in self.nodes if node.op == op]
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def output_node(self) -> Node:
        """The node of the result, which must be the last one."""
        node = self._root._prev
        if node.op != "output":
            raise AssertionError(f"output_node(): the last node is a {node.op}, not an output")
        return node

    def _position(self, node):
        if not self._numbered:
            for position, each in enumerate(self.nodes):
                each._position = position
            self._numbered = True
        return node._position

    # ------------------------------------------------------------------------------ making nodes
    def create_node(
        self, op: str, target: Target, args=None, kwargs=None, name=None, type_expr=None
    ) -> Node:
        """Add a node at the insert point. Its name is `name`, or one after the target, made
        unique."""
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        for argument, value, kind in (("args", args, tuple), ("kwargs", kwargs, dict)):
            if not isinstance(value, kind):
                raise AssertionError(
                    f"create_node(): argument '{argument}' must be a {kind.__name__}, not {value!r}"
                )
        free = self._names.create_name(name if name is not None else self._target_to_str(target))
        node = Node(self, free, op, target, args, kwargs, type_expr)
        if fx_traceback.has_preserved_node_meta():
            node.meta.update(fx_traceback.get_current_meta())
        self._names.associate(free, node)
        self._insert(node)
        self._len += 1
        call_hooks(self, "create", node)
        return node

    def _target_to_str(self, target):
        if isinstance(target, OpOverload):
            return snake_case(f"{target.__name__}.{target._overloadname}")
        if callable(target):
            return snake_case(getattr(target, "__name__", type(target).__name__))
        if target.startswith("__") and target.endswith("__"):
            target = target[2:-2]
        return snake_case(target)

    def placeholder(self, name: str, type_expr=None, default_value=...) -> Node:
        """Add an input; ``default_value`` is what it is if not given."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr=None) -> Node:
        """Add a read of a parameter, buffer or other attribute, such as ``"layer.weight"``."""
        if self.owning_module is not None and not has_path(self.owning_module, qualified_name):
            warnings.warn(
                f"get_attr(): the graph's module has no attribute '{qualified_name}'; add it "
                "before the graph is run",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args=None, kwargs=None, type_expr=None) -> Node:
        """Add a call of the submodule of that path."""
        if self.owning_module is not None and not has_path(self.owning_module, module_name):
            warnings.warn(
                f"call_module(): the graph's module has no submodule '{module_name}'; add it "
                "with add_submodule before the graph is run",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args=None, kwargs=None, type_expr=None) -> Node:
        """Add a call of a method of ``args[0]``."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """Add a call of a Python function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result, type_expr=None) -> Node:
        """Add the result, which may be a structure of nodes."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Put new nodes before `n` (without it: at the beginning); ends with ``with``."""
        if n is None:
            return self.inserting_after(self._root)
        return _InsertPoint(self, self._mine(n, "inserting_before").prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Put new nodes directly behind `n`, the last one first (without it: at the end); ends
        with ``with``."""
        if n is None:
            return self.inserting_before(self._root)
        return _InsertPoint(self, self._mine(n, "inserting_after").append)

    def _mine(self, node, function):
        if node.graph is not self:
            raise AssertionError(f"{function}(): '{node}' is not a node of this graph")
        return node

    # ----------------------------------------------------------------------------------- copying
    def node_copy(self, node: Node, arg_transform=lambda x: x) -> Node:
        """Add a copy of a node of another graph; ``arg_transform(n)`` is this graph's node for
        `n`."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        new = self.create_node(node.op, node.target, args, dict(kwargs), node.name, node.type)
        new.meta = copy.copy(node.meta)
        return new

    def graph_copy(self, g: Graph, val_map: dict, return_output_node: bool = False):
        """Add copies of all nodes of `g` and return its result in terms of this graph, or None.
        `val_map` maps nodes of `g` to nodes here; the copies are added to it."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo=None):
        memo = {} if memo is None else memo
        new = type(self)(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        new._codegen = copy.deepcopy(self._codegen)
        val_map: dict = {}
        found = new.graph_copy(self, val_map, return_output_node=True)
        if found is not None:
            result, old = found
            node = new.create_node("output", "output", (result,), {}, old.name, old.type)
            node.meta = copy.copy(old.meta)
        memo[id(self)] = new
        return new

    # ---------------------------------------------------------------------------------- changing
    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that nobody reads; RuntimeError if somebody does."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        to_erase._unlink()
        to_erase._erased = True
        to_erase._set((), {})
        self._len -= 1
        call_hooks(self, "erase", to_erase)

    def eliminate_dead_code(self, is_impure_node=None) -> bool:
        """Remove all nodes that nobody reads and that do nothing else; whether there were any.
        `is_impure_node` replaces :meth:`Node.is_impure`. Graphs that the program reads as
        attributes, as those of branches and loops, lose theirs by :meth:`Node.is_impure`."""
        self.lint()
        impure = is_impure_node or Node.is_impure
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        for inner in self._graphs_read():
            changed |= inner.graph.eliminate_dead_code()
            inner.recompile()
        return changed

    def _graphs_read(self):
        """The children of the graph's module that have graphs and that the program reads."""
        if self.owning_module is None:
            return
        read = {node.target for node in self.nodes if node.op == "get_attr"}
        for name, child in self.owning_module.named_children():
            if name in read and isinstance(getattr(child, "graph", None), Graph):
                yield child

    def lint(self) -> None:
        """Raise RuntimeError where the graph is not well formed: a node that reads one of another
        graph or one behind it, two of one name, a target that the graph's module lacks."""
        from rushlight.fx.lint import lint

        lint(self)

    # ------------------------------------------------------------------------------------- text
    def set_codegen(self, codegen: CodeGen) -> None:
        """Write code with `codegen` from now on."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer):
        """Let a function change the lines of generated code: ``make_transformer(current)`` gets
        the present one or None and returns one from a list of lines to a list of lines. The result
        undoes this at the end of ``with``."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        return _Restoring(self._codegen, before)

    def python_code(
        self, root_module: str, *, verbose=False, include_stride=False, include_device=False,
        colored=False, expanded_def=False, record_func=False,
        additional_meta: list[str] | None = None,
    ) -> PythonCode:  # fmt: skip
        """The graph as Python source: ``src`` defines ``forward``, ``globals`` holds what it
        names. `root_module` is the name of ``self`` in it.

        `verbose` adds types of values, with strides and devices where `include_stride` and
        `include_device` say so, and the lines of the program. `colored` adds the escape sequences
        of terminals; `expanded_def` gives each argument a line; `additional_meta` names keys of
        ``node.meta`` whose values `verbose` shows. Raises NotImplementedError for `record_func`."""
        if record_func:
            raise NotImplementedError(
                "python_code(): record_func is not available; run the module in "
                "rushlight.profiler.profile, which records the calls of ops"
            )
        options = Reading(
            verbose, include_stride, include_device, colored, expanded_def,
            tuple(additional_meta or ()),
        )  # fmt: skip
        return self._codegen.generate(self, root_module, options)

    def process_inputs(self, *args):
        """The arguments of the graph's ``forward`` as the placeholders take them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """The value of the output node as ``forward`` returns it."""
        return self._codegen.process_outputs(out)

    def print_tabular(self) -> None:
        """Print a table: kind, name, target and arguments of every node."""
        head = ("opcode", "name", "target", "args", "kwargs")
        rows = [(n.op, n.name, str(n.target), str(n.args), str(dict(n.kwargs))) for n in self.nodes]
        widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
        for row in (head, tuple("-" * width for width in widths), *rows):
            print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())

    def __str__(self):
        names: list[str] = []
        returns = [""]
        lines = [node.format_node(names, returns) for node in self.nodes]
        return "".join(["graph():", *(f"\n    {line}" for line in lines if line)])


class _Restoring:
    def __init__(self, codegen, transformer):
        self.codegen, self.transformer = codegen, transformer

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.codegen._body_transformer = self.transformer


def has_path(module, path) -> bool:
    """Whether a module has an attribute of that path, such as ``"layer.weight"``."""
    for name in path.split("."):
        if not hasattr(module, name):
            return False
        module = getattr(module, name)
    return True


__all__ = [
    "Argument",
    "CodeGen",
    "Graph",
    "PythonCode",
    "_PyTreeCodeGen",
    "_PyTreeInfo",
    "inplace_methods",
    "magic_methods",
    "reflectable_magic_methods",
]
