"""Whether an exported program is one: its graph, its signature and its state fit together."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, ClassVar

from rushlight.export.graph_signature import ConstantArgument, InputKind, OutputKind
from rushlight.fx.experimental.inner_graphs import graphs_within

if TYPE_CHECKING:
    from rushlight.export.exported_program import ExportedProgram
    from rushlight.fx.graph_module import GraphModule

_GRADIENTS = (
    OutputKind.LOSS_OUTPUT, OutputKind.GRADIENT_TO_PARAMETER, OutputKind.GRADIENT_TO_USER_INPUT,
)  # fmt: skip
_KINDS = ("placeholder", "call_function", "get_attr", "output")


class SpecViolationError(Exception):
    """Parts of an exported program contradict each other."""


class Verifier:
    """Checks programs of the dialect "ATEN", whose graphs have no writes.

    A subclass names another `dialect`, by which archives name it, and checks what its programs
    must fulfil besides: `check_valid_op` each function that a graph calls, and `check_additional`
    the graph as a module. Both do nothing here.

    Example:
        >>> import rushlight
        >>> from rushlight.export.verifier import Verifier
        >>> class WithoutRelu(Verifier):
        ...     dialect = "WITHOUT_RELU"
        ...
        ...     def check_valid_op(self, op):
        ...         if op is rushlight.ops.aten.relu.default:
        ...             raise ValueError("relu")
        >>> program = rushlight.export.export(rushlight.nn.ReLU(), (rushlight.ones(1),))
        >>> WithoutRelu().check(program)
        Traceback (most recent call last):
        ValueError: relu
    """

    dialect: ClassVar[str] = "ATEN"
    writes_allowed: ClassVar[bool] = False

    def __init_subclass__(cls, **named: Any) -> None:
        """Take the class as the one of its dialect."""
        super().__init_subclass__(**named)
        if not isinstance(cls.__dict__.get("dialect"), str) or cls.dialect == Verifier.dialect:
            raise AssertionError(
                f"{cls.__name__}.dialect must be a string other than {Verifier.dialect!r}, got "
                f"{cls.__dict__.get('dialect')!r}"
            )
        _DIALECTS[cls.dialect] = cls

    def check(self, ep: ExportedProgram) -> None:
        """Raise SpecViolationError for the first contradiction, and what the checks of a subclass
        raise."""
        check(ep)
        for graph in graphs_within(ep.graph):
            for node in graph.nodes:
                if node.op == "call_function":
                    self._check_call(node)
        self.check_additional(ep.graph_module)

    def _check_call(self, node):
        if not self.writes_allowed and writes(node):
            raise SpecViolationError(
                f"'{node.name}' calls {node.target}, which writes to an argument: programs of the "
                f"dialect {self.dialect} have no writes"
            )
        self.check_valid_op(node.target)

    def check_valid_op(self, op: Any) -> None:
        """Raise where a graph may not call this function."""

    def check_additional(self, gm: GraphModule) -> None:
        """Raise where the graph is none of this dialect."""


_DIALECTS: dict[str, type[Verifier]] = {Verifier.dialect: Verifier}


class TrainingIRVerifier(Verifier):
    """Checks programs of the dialect "TRAINING", as :func:`rushlight.export.export` gives them:
    their graphs may write."""

    dialect = "TRAINING"
    writes_allowed = True


def verifier_of(dialect: str) -> type[Verifier]:
    """The verifier of a dialect; KeyError where no class has that name."""
    return _DIALECTS[dialect or Verifier.dialect]


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
