"""What a splitter would do, as text: which calls its backend takes, and the parts there would be.

The texts are PyTorch's, which programs search.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node, map_arg
from rushlight.fx.passes.graph_drawer import FxGraphDrawer
from rushlight.fx.passes.graph_manipulation import get_size_of_node
from rushlight.fx.passes.shape_prop import ShapeProp
from rushlight.fx.passes.splitter_settings import generate_inputs_for_submodules
from rushlight.fx.passes.tools_common import (
    CALLABLE_NODE_OPS,
    NodeList,
    Tensors,
    get_node_target,
    is_node_output_tensor,
)


class _Previews:
    """The part of a splitter that reports."""

    PCIe_BW = 100 * 2**30  # bytes a second between the CPU and the backend

    def _lower_model_to_backend(self, mod: GraphModule, inputs: Tensors):
        """The backend's form of a part; the part itself unless a subclass says more."""
        return mod

    def _find_culprit(self, mod: GraphModule, inputs: Tensors) -> str:
        """The call on which a part fails, as text; subclasses look for it."""
        return "Unable to find a culprit because _find_culprit() function is not implemented."

    def node_support_preview(self, dump_graph: bool = False) -> str:
        """Print and return the kinds of calls that the backend takes, and those that it does not,
        with the dtypes of their arguments; with `dump_graph` draw them to ``node_support.dot``."""
        modules = dict(self.module.named_modules())
        supported: NodeList = []
        kinds: tuple = defaultdict(dict), defaultdict(dict)
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS:
                taken = self.operator_support.is_node_supported(modules, node)
                supported += [node] if taken else []
                kinds[not taken][get_node_target(modules, node)][_dtypes(node)] = None
        if dump_graph:
            drawer = _SupportDrawer(self.module, "node_support", ignore_getattr=True)
            drawer.supported = set(supported)
            Path("node_support.dot").write_text(drawer.get_dot_text())
        report = ""
        for title, found in zip(("Supported", "Unsupported"), kinds, strict=True):
            report += f"\n{title} node types in the model:\n"
            for target, several in found.items():
                report += "".join(f"{target}: ({args}, {dict(kw)})\n" for args, kw in several)
        print(report)
        return report

    def split_preview(self, dump_graph: bool = False) -> str:
        """Print and return the parts that there would be, and what they read and give in bytes;
        with `dump_graph` draw them to files ``preview*.dot``."""
        subgraphs = self.put_nodes_into_subgraphs()
        report = _counted("Before", subgraphs)
        subgraphs = self.remove_small_acc_subgraphs(subgraphs)
        report += _counted("After", subgraphs)
        for i, each in enumerate(subgraphs):
            name = "_run_on_acc_" if each.is_acc else self.non_acc_submodule_name
            report += f"{name}{i}: {len(each.nodes)} node(s)\n"
        self.tag(subgraphs)
        split = self.split(remove_tag=True)
        split.eval()
        if dump_graph:
            _draw(split)
        report += self._parts_report(split)
        print(report)
        return report

    def _parts_report(self, split):
        report, least, bottleneck = "", float(self.PCIe_BW), ""
        for node in split.graph.nodes:
            if node.op != "call_module" or "acc" not in node.target:
                continue
            inputs = generate_inputs_for_submodules(split, self.sample_input, [node.target])
            text, rate = self._part_report(node.target, getattr(split, node.target), inputs)
            report += text
            if rate < least:
                least, bottleneck = rate, node.target
        report += f"\nTheoretical max qps (bounds by PCIe bandwidth) for this model is {least},"
        return report + f" bottleneck is submodule {bottleneck}."

    def _part_report(self, name, part, inputs):
        """The lines on a part, and how often a second its values could be moved."""
        given = inputs[name]
        ShapeProp(part).propagate(*given)
        report = f"\nProcessing acc submodule {name}\nChecking inputs...\n"
        output = part.graph.output_node()
        placeholders = [node for node in part.graph.nodes if node.op == "placeholder"]
        text, read = _bytes(part, placeholders, "Input")
        report += text + "Checking outputs...\n"
        outputs: NodeList = []
        map_arg(output.args, outputs.append)
        text, written = _bytes(part, outputs, "Output")
        rate = self.PCIe_BW / max(read, written)
        report += text + (
            f"Total input size in bytes is {read}, total output size in bytes is {written},"
            f" theoretical max qps (bounds by PCIe bandwidth) for this submodule is {rate}.\n"
        )
        return report + self._lowering_report(part, given), rate

    def _lowering_report(self, part, given):
        for stage in ("lowering", "inference"):
            try:
                if stage == "lowering":
                    lowered = self._lower_model_to_backend(part, given)
                else:
                    lowered(*given)
            except RuntimeError:
                return f"Run into an error during {stage}!\n" + self._find_culprit(part, given)
        return "Lowering and running succeed!\n"


class _SupportDrawer(FxGraphDrawer):
    """Draws supported calls green and the others red."""

    supported: set[Node] = set()

    def _color(self, node):
        if node.op not in CALLABLE_NODE_OPS:
            return "AliceBlue"
        return "chartreuse1" if node in self.supported else "crimson"


def _draw(split):
    drawer = FxGraphDrawer(split, "preview", ignore_getattr=True)
    for name, text in drawer.get_all_dot_texts().items():
        Path(f"{name}.dot").write_text(text)


def _dtypes(node):
    """The dtypes of a call's arguments, up to the last tensor, and those of its named ones."""

    def dtype(value):
        return getattr(value.meta.get("tensor_meta"), "dtype", None)

    args = [dtype(arg) if isinstance(arg, Node) else None for arg in node.args]
    while args and args[-1] is None:
        args.pop()
    named = [(key, dtype(arg)) for key, arg in node.kwargs.items() if isinstance(arg, Node)]
    return tuple(args), tuple(named)


def _counted(when, subgraphs):
    taken = sum(each.is_acc for each in subgraphs)
    return (
        f"{when} removing small acc subgraphs, total {len(subgraphs)} subgraphs are created: "
        f"{taken} acc subgraphs and {len(subgraphs) - taken} cpu subgraphs.\n"
    )


def _bytes(part, nodes, kind):
    """The bytes of tensors among some nodes, and a line for each that is no tensor."""
    report, total = "", 0
    for node in nodes:
        if is_node_output_tensor(node):
            total += get_size_of_node(part, node)[0]
        else:
            report += (
                f"{kind} {node.name} is not a tensor, this might cause problems during lowering!\n"
            )
    return report, total
