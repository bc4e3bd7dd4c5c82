"""`ExportedProgram`: a graph of ATen ops with all that it needs to run."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from rushlight.export.decomposing import decomposed
from rushlight.export.dynamic.export import remade
from rushlight.export.graph_signature import ExportGraphSignature, ModuleCallSignature
from rushlight.export.unlifting import unlifted
from rushlight.export.verifier import Verifier, writes
from rushlight.fx.experimental.core_parts.fixed_sizes import FixedSizes
from rushlight.fx.experimental.inner_graphs import graphs_within
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.utils import _pytree as pytree

if TYPE_CHECKING:
    from rushlight.export._draft_export import DraftExportReport


@dataclasses.dataclass
class ModuleCallEntry:
    """A module of the model, by its path, or a further call of it, such as ``sub@1``; the signature
    is known of the model and of the submodules that `preserve_module_call_signature` of
    :func:`rushlight.export.export` names."""

    fqn: str
    signature: ModuleCallSignature | None = None


@dataclasses.dataclass
class CallSpec:
    """The structures of arguments, ``(args, kwargs)``, and result."""

    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec


class ExportedProgram:
    """What :func:`rushlight.export.export` gives.

    The graph has an input for each parameter, buffer, constant and leaf of the arguments; what is
    what says `graph_signature`. It is called through :meth:`module`.
    """

    def __init__(
        self,
        root: Module | dict[str, Any],
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        range_constraints: dict,
        module_call_graph: list[ModuleCallEntry],
        example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
        constants: dict[str, Any] | None = None,
        *,
        verifiers: list[type[Verifier]] | None = None,
    ):
        self._graph_module = GraphModule(root, graph)
        self._graph_signature = graph_signature
        self._state_dict, self._range_constraints = state_dict, range_constraints
        self._module_call_graph = module_call_graph
        self._example_inputs, self._constants = example_inputs, constants or {}
        self._report: DraftExportReport | None = None  # of `draft_export`
        self._verifiers = verifiers or [Verifier]
        if not all(issubclass(each, Verifier) for each in self._verifiers):
            raise AssertionError(
                f"ExportedProgram(): verifiers must be subclasses of Verifier, got {verifiers}"
            )
        self.validate()

    def __setattr__(self, name, value):
        """Set an attribute; parts of the program stay what they are."""
        part = getattr(type(self), name, None)
        if isinstance(part, property) and part.fset is None:
            raise RuntimeError(
                f"ExportedProgram.{name} cannot be set: change what it holds, or make another "
                "program"
            )
        super().__setattr__(name, value)

    # ------------------------------------------------------------------------------------- parts
    @property
    def graph_module(self) -> GraphModule:
        """The graph as a module of lifted inputs."""
        return self._graph_module

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What its inputs and outputs are."""
        return self._graph_signature

    @property
    def state_dict(self) -> dict[str, Any]:
        """Parameters and persistent buffers by the model's names."""
        return self._state_dict

    @property
    def constants(self) -> dict[str, Any]:
        """Other tensors that the graph needs, by name."""
        return self._constants

    @property
    def tensor_constants(self) -> dict[str, Any]:
        """The same as `constants`."""
        return self._constants

    @property
    def example_inputs(self):
        """The arguments of the export: ``(args, kwargs)``."""
        return self._example_inputs

    @example_inputs.setter
    def example_inputs(self, value):
        if value is not None:
            pair = isinstance(value, tuple) and len(value) == 2
            if not pair or not isinstance(value[0], tuple) or not isinstance(value[1], dict):
                raise ValueError(
                    "example_inputs: expected (args, kwargs), a tuple and a dict, got "
                    f"{type(value).__name__}"
                )
        self._example_inputs = value

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """The model's modules; the first entry is the model, with its signature."""
        return self._module_call_graph

    @property
    def call_spec(self) -> CallSpec:
        """The structures of arguments and result."""
        signature = self._module_call_graph[0].signature
        if signature is None:
            raise ValueError("call_spec: the first entry of module_call_graph has no signature")
        return CallSpec(signature.in_spec, signature.out_spec)

    @property
    def range_constraints(self) -> dict:
        """The ranges of the sizes that may differ, by symbol."""
        return self._range_constraints

    @property
    def verifiers(self) -> list[type[Verifier]]:
        """The classes whose checks the program passes, see :meth:`validate`."""
        return self._verifiers

    @property
    def verifier(self) -> type[Verifier]:
        """The first of `verifiers`."""
        return self._verifiers[0]

    @property
    def dialect(self) -> str:
        """The name of what graphs of this kind may have: "TRAINING" as exported, "ATEN" after
        :meth:`run_decompositions`."""
        return self.verifier.dialect

    @property
    def functional(self) -> bool:
        """Whether no op of the graph writes to a tensor."""
        return not any(writes(n) for graph in graphs_within(self.graph) for n in graph.nodes)

    def parameters(self):
        """The model's parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_parameters(self):
        """The model's parameters with their names."""
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def buffers(self):
        """The model's buffers."""
        for _, buffer in self.named_buffers():
            yield buffer

    def named_buffers(self):
        """The model's buffers with their names."""
        absent = self.graph_signature.non_persistent_buffers
        for name in self.graph_signature.buffers:
            yield name, (self.constants if name in absent else self.state_dict)[name]

    # ------------------------------------------------------------------------------------- acting
    def module(self, check_guards: bool = True) -> GraphModule:
        """A module with the model's names of parameters and buffers that takes and gives what the
        model does; its `train()` and `eval()` raise NotImplementedError, for the graph is that of
        the mode that the model was in.

        Its calls check their inputs: AssertionError for other dtypes, other fixed sizes and numbers
        than those of the export, and for sizes that do not fit the others or their range. With
        `check_guards` False dtypes may differ, the error is a RuntimeError, and a capture of the
        module, such as another export, may have other sizes.
        """
        return unlifted(self, check_guards)

    def run_decompositions(self, decomp_table=None, decompose_custom_triton_ops=False):
        """The same program without ops that write: buffers that change are outputs, which
        `graph_signature` names. `decomp_table` maps overloads to functions called instead;
        by default, which is :func:`default_decompositions`, layers, losses and attention become
        calls of core ATen, and recurrent layers calls for each of their steps."""
        sizes = FixedSizes()

        def make(*given):
            return decomposed(self, decomp_table, *given, fixed_sizes=sizes)

        return sizes.settled(lambda: remade(self, make))

    def validate(self) -> None:
        """Raise :class:`~rushlight.export.verifier.SpecViolationError` where graph, signature and
        state do not fit together, or `verifiers` find what programs of their dialect have not."""
        for each in self.verifiers:
            each().check(self)

    def __call__(self, *args, **kwargs):
        """Refused: :meth:`module` gives what is called."""
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` "
            "instead."
        )

    def __str__(self):
        code = self.graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        signature = str(self.graph_signature).replace("\n", "\n    ")
        return (
            f"ExportedProgram:\n    {code}\n\nGraph signature: {signature}\nRange constraints: "
            f"{self.range_constraints}\n"
        )

    __repr__ = __str__


def state_of(module):
    """The model's parameters and persistent buffers by all of their names; a tensor with several
    is one under each of them."""
    kept = module.state_dict().keys()
    parameters = dict(module.named_parameters(remove_duplicate=False))
    buffers = dict(module.named_buffers(remove_duplicate=False))
    plain: dict[int, Any] = {}
    for value in buffers.values():
        plain[id(value)] = value if isinstance(value, Parameter) else value.detach()
    return parameters | {n: plain[id(b)] for n, b in buffers.items() if n in kept}
