"""Finding the calls of a graph on which two ways to run it disagree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node, map_arg
from rushlight.fx.passes.minimizer_searches import (
    FxNetMinimizerBadModuleError,
    FxNetMinimizerResultMismatchError,
    FxNetMinimizerRunFuncError,
    _Searches,
)
from rushlight.fx.passes.shape_prop import ShapeProp
from rushlight.fx.passes.split_utils import split_by_tags
from rushlight.fx.passes.splitter_settings import generate_inputs_for_submodules
from rushlight.fx.passes.tools_common import (
    CALLABLE_NODE_OPS,
    FxNetAccFusionsFinder,
    Names,
    NodeList,
    NodeSet,
    TensorOrTensors,
    Tensors,
)


@dataclass
class _MinimizerSettingBase:
    """How a minimizer searches.

    Args:
        accumulate_error: give each way its own earlier results, not those of the first way.
        traverse_method: ``"sequential"`` looks at one call after the other, ``"binary"`` halves,
            ``"accumulate"`` adds calls until the results differ, ``"block"`` narrows both ends of a
            run of calls, ``"skip"`` looks at the runs between the calls to skip, ``"defined"`` at
            all of them at once.
        find_all: do not stop at the first culprit.
        return_intermediate: let `run_nodes` compare the results of all calls.
        all_outputs: compare all values that leave a part, not the last call's alone.
    """

    accumulate_error: bool = False
    traverse_method: str = "sequential"
    find_all: bool = False
    return_intermediate: bool = False
    all_outputs: bool = False

    def __str__(self) -> str:
        lines = [f"\t{name}: {value}\n" for name, value in vars(self).items()]
        return "FX Minimizer Settings:\n" + "".join(lines)


class _MinimizerBase(_Searches):
    """Finds the calls on which :meth:`run_a` and :meth:`run_b`, which subclasses define, disagree:
    it makes parts of the module, runs each in both ways, and compares the results.

    Args:
        module: the traced module, to whose calls ``tag`` is written.
        sample_input: its arguments, one for each placeholder.
        compare_fn: of both results and the names of their nodes; gives a number and whether the
            results agree.
        settings: how to search.
        module_exporter: called with the inputs, the part and a name where results differ, once for
            each way.
        exclusion_fn: called with a list of nodes and the positions of its ends, -1 if it has none;
            takes those away that are not to be looked at.

    Raises:
        AssertionError: `module` is no GraphModule, or the arguments are too many or too few.

    >>> import rushlight
    >>> from rushlight.fx.passes import net_min_base
    >>> class Rounded(net_min_base._MinimizerBase):
    ...     def run_a(self, mod, inputs, report_idx=-1):
    ...         return mod(*inputs)
    ...     def run_b(self, mod, inputs, report_idx=-1):
    ...         return mod(*inputs).round()
    ...     def print_report(self, report):
    ...         pass
    >>> module = rushlight.fx.symbolic_trace(lambda x: (x * 2).sqrt() + 1)
    >>> equal = lambda a, b, names: (float((a - b).abs().max()), bool((a == b).all()))
    >>> settings = net_min_base._MinimizerSettingBase(find_all=True)
    >>> found = Rounded(module, (rushlight.ones(2),), equal, settings)
    >>> sorted(node.name for node in found._sequential_traverse(found._collect_nodes(None, None)))
    ['add', 'sqrt']
    """

    def __init__(
        self, module: GraphModule, sample_input: Tensors,
        compare_fn: Callable[[TensorOrTensors, TensorOrTensors, Names], tuple[float, bool]],
        settings: _MinimizerSettingBase,
        module_exporter: Callable[[Tensors, GraphModule, str], None] | None = None,
        exclusion_fn: Callable[[NodeList, int, int], None] | None = None,
    ):  # fmt: skip
        if not isinstance(module, GraphModule):
            raise AssertionError(f"Expected GraphModule, got {type(module)}")
        self.module, self.sample_input, self.compare_fn = module, sample_input, compare_fn
        self.settings, self.module_exporter = settings, module_exporter
        self.exclusion_fn = exclusion_fn
        self.results: dict[Any, Any] = {}  # what compare_fn measured, by the names of the results
        self.reports: list[list[str]] = []
        self.iteration = 0
        self.run_shape_prop()
        calls = {node for node in module.graph.nodes if node.op in CALLABLE_NODE_OPS}
        self.fusions = FxNetAccFusionsFinder(module, calls)()
        names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
        if len(names) != len(sample_input):
            raise AssertionError(
                f"Placeholder count ({len(names)}) does not match sample_input count "
                f"({len(sample_input)})"
            )
        # the values of both ways that are known so far, by names of nodes
        self.a_outputs: dict[str, Any] = dict(zip(names, sample_input, strict=True))
        self.b_outputs: dict[str, Any] = dict(self.a_outputs)

    # ------------------------------------------------------------------------- for subclasses
    def run_shape_prop(self) -> None:
        """Note the shapes of all values."""
        ShapeProp(self.module).propagate(*self.sample_input)

    def run_a(self, mod: GraphModule, inputs: Tensors, report_idx: int = -1) -> TensorOrTensors:
        """The result of a part in the first way."""
        raise RuntimeError("run_a() is not implemented.")

    def run_b(self, mod: GraphModule, inputs: Tensors, report_idx: int = -1) -> TensorOrTensors:
        """The result of a part in the second way."""
        raise RuntimeError("run_b() is not implemented.")

    def print_report(self, report: list[str]) -> None:
        """Print what a step of the search found."""
        for i, line in enumerate(report):
            print(f" . {line}" if i else line)

    def print_reports(self) -> None:
        """Print what all steps found."""
        for report in self.reports:
            self.print_report(report)

    # -------------------------------------------------------------------------------- entrances
    def minimize(
        self, start: str | None = None, end: str | None = None,
        skip_nodes: list[str] | None = None, find_last_node: bool | None = None,
    ) -> NodeSet:  # fmt: skip
        """The calls on which the two ways disagree.

        Args:
            start, end: the names of the first and the last call to look at.
            skip_nodes: the names of calls to leave alone, which ``"skip"`` needs.
            find_last_node: let ``"block"`` search for the last call alone, or, if False, for the
                first alone.

        Raises:
            RuntimeError: the settings name no known method, or `skip_nodes` is missing.
        """
        print(self.settings)
        print(self.module.graph)
        nodes, method = self._collect_nodes(start, end), self.settings.traverse_method
        if method == "skip":
            if skip_nodes is None:
                raise RuntimeError("'skip_nodes' can't be None when 'traverse_method' is 'skip'.")
            return self._skip_traverse(nodes, skip_nodes)
        if method == "block":
            return self._block_traverse(nodes, find_last_node)
        if method not in ("sequential", "binary", "accumulate", "defined"):
            raise RuntimeError(f"Unknown traverse method {method}!")
        return getattr(self, f"_{method}_traverse")(nodes)

    def run_nodes(self, start: str | None = None, end: str | None = None) -> None:
        """Run a run of calls in both ways, and print the error where they disagree."""
        nodes = self._collect_nodes(start, end)
        names = [node.name for node in nodes] if self.settings.return_intermediate else []
        try:
            self._try(self._with_groups(nodes), names)
        except (FxNetMinimizerRunFuncError, FxNetMinimizerResultMismatchError) as error:
            print(error)

    # --------------------------------------------------------------------------------- one trial
    def _collect_nodes(self, start: str | None, end: str | None) -> NodeList:
        """The calls from one name to another, both included."""
        calls = [node for node in self.module.graph.nodes if node.op in CALLABLE_NODE_OPS]
        names = [node.name for node in calls]
        first = 0 if start is None else names.index(start) if start in names else len(names)
        last = names.index(end) if end in names else len(names) - 1
        return calls[first : last + 1]

    def _with_groups(self, nodes: NodeList) -> NodeSet:
        return set(nodes).union(*(self.fusions.get(node, ()) for node in nodes))

    def _try(self, nodes: NodeSet, names: Names, report_idx: int = -1) -> None:
        """Run the part that some calls are in both ways, and compare."""
        self._run_and_compare(*self._build_submodule(nodes), names, report_idx)

    def _tag_nodes(self, selected_nodes: NodeSet) -> None:
        """Tag these calls ``minimize``, what reads them ``main_1`` and the others ``main_0``."""
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                continue
            reads = [read for read in node.all_input_nodes if read.op in CALLABLE_NODE_OPS]
            if node in selected_nodes:
                node.tag = "minimize"
            else:
                node.tag = "main_1" if any(read.tag != "main_0" for read in reads) else "main_0"

    def _build_submodule(self, nodes: NodeSet) -> tuple[GraphModule, str]:
        """The module divided around some calls, and the name of their part."""
        self._tag_nodes(nodes)
        split: Any = split_by_tags(self.module, ["main_0", "minimize", "main_1"])
        if not nodes or not hasattr(split, "minimize"):
            raise FxNetMinimizerBadModuleError(
                f"Minimize submodule was not found with nodes {nodes}"
            )
        return split, "minimize"

    def _get_submod_inputs(self, main_module: GraphModule, submod_path: str):
        """The inputs of a part in both ways: values that are known, or those of a run."""
        part = getattr(main_module, submod_path)
        names = [node.name for node in part.graph.nodes if node.op == "placeholder"]
        if set(names) <= self.a_outputs.keys():
            a_input = [self.a_outputs[name] for name in names]
            b_input = [self.b_outputs[name] for name in names]
            return a_input, b_input if self.settings.accumulate_error else a_input
        if self.settings.accumulate_error:
            print(f"Can't find previous stored outputs named {names}!")
        found = generate_inputs_for_submodules(main_module, self.sample_input, [submod_path])
        return found[submod_path], found[submod_path]

    def _run_and_compare(
        self, split_module: GraphModule, submod_name: str, output_names: Names,
        report_idx: int = -1,
    ) -> None:  # fmt: skip
        part = getattr(split_module, submod_name)
        inputs = self._get_submod_inputs(split_module, submod_name)
        if not self.reports:
            self.reports.append([])
            self.iteration = 1
        report = self.reports[report_idx if report_idx >= 0 else self.iteration - 1]
        report.append("Run and compare ...")
        if output_names and not self.settings.all_outputs:
            _give(part, output_names)
        key = map_arg(part.graph.output_node().args, lambda node: node.name)
        a_result, b_result = self._results(part, submod_name, inputs, report, report_idx)
        number, agree = self.compare_fn(a_result, b_result, output_names)
        self.results[key] = number
        report.append(f"Numerical accuracy = {number}")
        if not agree:
            report.append(f"Result mismatch for {key}")
            self._export(key, part, inputs)
            raise FxNetMinimizerResultMismatchError(f"Result mismatch for {key}")

    def _results(self, part, name, inputs, report, report_idx):
        try:
            a_result = self.run_a(part, inputs[0], report_idx)
            b_result = self.run_b(part, inputs[1], report_idx)
            self._store_outputs(a_result, b_result, part)
        except Exception as error:
            said = f"Exception raised when running {name}: {error}"
            report.append(said)
            raise FxNetMinimizerRunFuncError(said) from error
        return a_result, b_result

    def _store_outputs(self, a_result, b_result, submodule: GraphModule) -> None:
        """Keep the results of a part for those that read them."""
        output = submodule.graph.output_node().args[0]
        if isinstance(output, Node):
            output, a_result, b_result = [output], [a_result], [b_result]
        for node, a, b in zip(output, a_result, b_result, strict=True):
            self.a_outputs[node.name], self.b_outputs[node.name] = a, b

    def _export(self, key, part, inputs):
        if self.module_exporter is not None:
            while isinstance(key, tuple):
                key = key[-1] if len(key) == 1 else key[0]
            for given, end in zip(inputs, ("_cpu", "_acc"), strict=True):
                self.module_exporter(given, part, key + end)


def _give(part, names):
    """Let a part give the values of these nodes."""
    part.graph.erase_node(part.graph.output_node())
    found = [node for node in part.graph.nodes if node.name in names]
    part.graph.output(found[0] if len(found) == 1 else tuple(found))
    part.graph.lint()
    part.recompile()


__all__ = [
    "FxNetMinimizerBadModuleError",
    "FxNetMinimizerResultMismatchError",
    "FxNetMinimizerRunFuncError",
]
