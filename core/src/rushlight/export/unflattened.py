"""The modules that :func:`rushlight.export.unflatten` makes: they run graphs node by node."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

from rushlight.export.unlifting import InputGuard, _argument_names
from rushlight.fx.graph import Graph
from rushlight.fx.interpreter import Interpreter
from rushlight.nn.module import Module
from rushlight.utils import _pytree as pytree

if TYPE_CHECKING:
    from rushlight.export.exported_program import ExportedProgram


class FlatArgsAdapter(abc.ABC):
    """Fits arguments of another structure to an unflattened module; see
    :func:`rushlight.export.unflatten`."""

    @abc.abstractmethod
    def adapt(
        self,
        target_spec: pytree.TreeSpec,
        input_spec: pytree.TreeSpec,
        input_args: list[Any],
        metadata: dict[str, Any] | None = None,
        obj: Any | None = None,
    ) -> list[Any]:
        """The leaves that the module takes.

        Args:
            target_spec: the structure of ``(args, kwargs)`` in the export.
            input_spec: that of the arguments given.
            input_args: the leaves of these.
            metadata: None.
            obj: the module that is called.
        """

    def get_flat_arg_paths(self) -> list[str]:
        """Names of the leaves that `adapt` gives, for what is printed; none by default."""
        return []


class InterpreterModule(Module):
    """A submodule of an unflattened module: its parameters and buffers, and `graph`, which reads
    them. It is called with what other modules compute of what it reads, one value or a list of
    them as its result; or, where the export kept its signature, as the original is.

    A submodule of kept signature whose calls differ has a graph for each, used in turn.
    """

    def __init__(self):
        super().__init__()
        self.graphs: list[Graph] = []
        self.turn = 0

    @property
    def graph(self) -> Graph:
        """The graph of the first call."""
        return self.graphs[0]

    def forward(self, *args, **kwargs):
        """Run the graph. TypeError for arguments that it does not take."""
        graph = self.graphs[self.turn]
        self.turn = (self.turn + 1) % len(self.graphs)
        return Interpreter(self, graph=graph).run(*_bound(graph, args, kwargs))


def _bound(graph, args, kwargs):
    """All arguments in the order of the graph's inputs."""
    names = [node.target for node in graph.find_nodes(op="placeholder")]
    missing = [name for name in names[len(args) :] if name not in kwargs]
    unknown = [name for name in kwargs if name not in names[len(args) :]]
    if missing or unknown or len(args) > len(names):
        raise TypeError(
            f"forward(): the arguments are {names}; missing: {missing}, not expected: "
            f"{unknown or args[len(names) :]}"
        )
    return *args, *[kwargs[name] for name in names[len(args) :]]


class UnflattenedModule(Module):
    """What :func:`rushlight.export.unflatten` gives: a program with the model's submodules.

    `graph` calls them; `module_call_graph` and `graph_signature` are the program's.
    """

    def __init__(
        self, export_module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None
    ):
        from rushlight.export.unflatten import build

        super().__init__()
        self.graph_signature = export_module.graph_signature
        self.module_call_graph = list(export_module.module_call_graph)
        self.flat_args_adapter = flat_args_adapter
        self.graph: Graph
        self._guard = InputGuard(export_module, dtypes=False)
        build(self, export_module)

    def forward(self, *args, **kwargs):
        """The result of the model, whose structure it has.

        Raises:
            TypeError: the arguments have another structure than in the export, and there is no
                adapter, or it gave another number of leaves.
            AssertionError: a tensor has another shape, or a constant another value.
        """
        info = self.module_call_graph[0].signature
        leaves = self._leaves(info.in_spec, args, kwargs)
        self._guard.check(leaves)
        for module in self.modules():
            if isinstance(module, InterpreterModule):
                module.turn = 0
        return pytree.tree_unflatten(
            Interpreter(self, graph=self.graph).run(*leaves), info.out_spec
        )

    def _leaves(self, wanted, args, kwargs):
        keywords = wanted.children_specs[1].context or []
        if set(kwargs) == set(keywords):  # their order does not count
            kwargs = {name: kwargs[name] for name in keywords}
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec == wanted:
            return leaves
        if self.flat_args_adapter is None:
            names = _argument_names(self.module_call_graph[0].signature)
            raise TypeError(
                f"There is no flat args adapter specified. The module takes the arguments {names} "
                f"with the structure {wanted}, not {spec}"
            )
        found = self.flat_args_adapter.adapt(
            target_spec=wanted, input_spec=spec, input_args=leaves, metadata=None, obj=self
        )
        if len(found) != wanted.num_leaves:
            raise TypeError(
                f"flat_args_adapter: adapt() gave {len(found)} leaves, but the exported module "
                f"takes {wanted.num_leaves}"
            )
        return found
