"""Dividing a graph into what a backend takes and what is left to the CPU."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.accelerated_nodes import (
    FxNetAccNodesFinder,
    NodeEvent,
    NodeEventTracker,
)
from rushlight.fx.passes.operator_support import OperatorSupportBase
from rushlight.fx.passes.shape_prop import ShapeProp
from rushlight.fx.passes.split_utils import move_non_tensor_nodes_on_boundary, split_by_tags
from rushlight.fx.passes.splitter_previews import _Previews
from rushlight.fx.passes.splitter_settings import (
    FxNetSplitterInternalError,
    SplitResult,
    Subgraph,
    _SplitterSettingBase,
    generate_inputs_for_submodules,
)
from rushlight.fx.passes.tools_common import CALLABLE_NODE_OPS, FxNetAccFusionsFinder, NodeSet


class _SplitterBase(_Previews):
    """Divides a module into as few parts as the calls allow that a backend takes: each part is a
    submodule, ``_run_on_acc_0`` and so on for the backend, ``_run_on_cpu_1`` for the rest.

    Subclasses say what a backend does with a part (`_lower_model_to_backend`). Calling the splitter
    gives the divided module, :meth:`generate_split_results` the inputs of its parts as well.

    Args:
        module: the traced module, to whose nodes ``tensor_meta`` and ``tag`` are written.
        sample_input: arguments, with which the module is run once.
        operator_support: which calls the backend takes.
        settings: sizes of parts, and what may pass between them.
        non_acc_submodule_name: how the names of the CPU's parts begin.
        return_tuple: let parts with one result give a tuple as well.
        nodes_finder: finds the backend's calls; by default with `operator_support`.

    Raises:
        AssertionError: `module` is no GraphModule.
        FxNetSplitterInternalError: the module has no calls, or groups of calls read each other.

    >>> import rushlight
    >>> from rushlight.fx.passes import operator_support, splitter_base
    >>> module = rushlight.fx.symbolic_trace(lambda x: (x.sin() + x.cos()).relu())
    >>> taken = operator_support.create_op_support(lambda _, node: node.name in ("sin", "cos"))
    >>> settings = splitter_base._SplitterSettingBase()
    >>> split = splitter_base._SplitterBase(module, (rushlight.ones(2),), taken, settings)()
    Got 1 acc subgraphs and 1 non-acc subgraphs
    >>> [name for name, _ in split.named_children()]
    ['_run_on_acc_0', '_run_on_cpu_1']
    """

    def __init__(
        self, module: GraphModule, sample_input: Sequence[Any],
        operator_support: OperatorSupportBase, settings: _SplitterSettingBase,
        non_acc_submodule_name: str = "_run_on_cpu_", return_tuple: bool = False,
        nodes_finder: FxNetAccNodesFinder | None = None,
    ):  # fmt: skip
        if not isinstance(module, GraphModule):
            raise AssertionError(f"Expected GraphModule, got {type(module)}")
        self.module, self.sample_input = module, sample_input
        self.settings, self.operator_support = settings, operator_support
        ShapeProp(module).propagate(*sample_input)
        if nodes_finder is None:
            nodes_finder = FxNetAccNodesFinder(module, operator_support, settings.allow_non_tensor)
        self.acc_nodes = nodes_finder()
        self.fusions: dict[Node, NodeSet] = {}
        if not settings.skip_fusion:
            self.fusions = FxNetAccFusionsFinder(module, self.acc_nodes)()
            self._merge_overlapping_fusions()
        self.deps = self.find_deps()
        self.update_deps_for_fusions()
        self.non_acc_submodule_name = non_acc_submodule_name
        self._node_submodule_map: dict[str, str] = {}
        self._return_tuple = return_tuple
        self.tags: list[str] = []

    def __call__(self) -> GraphModule:
        """The divided module."""
        subgraphs = self.put_nodes_into_subgraphs()
        if self.settings.move_non_tensor_nodes_on_boundary:
            move_non_tensor_nodes_on_boundary(subgraphs)
        subgraphs = self.remove_small_acc_subgraphs(subgraphs)
        taken = sum(each.is_acc for each in subgraphs)
        print(f"Got {taken} acc subgraphs and {len(subgraphs) - taken} non-acc subgraphs")
        self.tag(subgraphs)
        return self.split()

    def generate_split_results(self) -> SplitResult:
        """The divided module and the inputs of its parts; ValueError where there are more parts
        than the settings allow."""
        split = self()
        names = [name for name, _ in split.named_children()]
        if 0 < self.settings.max_acc_splits < len(names):
            raise ValueError(
                "Cannot fulfill max_acc_splits limit: the module has "
                f"{len(names)} parts, and the limit is {self.settings.max_acc_splits}"
            )
        inputs = generate_inputs_for_submodules(split, self.sample_input, names)
        return SplitResult(split, inputs, self.non_acc_submodule_name)

    def get_node_submodule_map(self) -> dict[str, str]:
        """The part of each call that was tagged, by names."""
        return self._node_submodule_map

    # -------------------------------------------------------------------------------- what is read
    def find_deps(self) -> dict[Node, NodeSet]:
        """The calls that each call reads."""
        deps: dict[Node, NodeSet] = defaultdict(set)
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS:
                for user in node.users:
                    if user.op != "output":
                        deps[user].add(node)
        return deps

    def update_deps_for_fusions(self) -> None:
        """Let a call of a group wait for what any call of the group reads, and the group's readers
        for all of the group."""
        for node, fusion in self.fusions.items():
            for other in fusion:
                self.deps[node].update(self.deps[other] - fusion)
                for user in other.users:
                    if user not in fusion:
                        self.deps[user].add(node)

    def _merge_overlapping_fusions(self) -> None:
        """Join groups that share calls, where the environment asks for it as PyTorch's does."""
        if os.environ.get("_SPLITTER_MERGE_OVERLAPPING_FUSIONS", "0") != "1":
            return
        groups: list[NodeSet] = []
        for fusion in self.fusions.values():
            touched = [group for group in groups if group & fusion]
            groups = [group for group in groups if not group & fusion]
            groups.append(fusion.union(*touched))
        self.fusions = {node: group for group in groups for node in group}

    def find_reverse_deps(self, tag_id: int | None = None) -> dict[Node, NodeSet]:
        """The calls that read each call; with `tag_id` only those of parts before that one."""
        result: dict[Node, NodeSet] = defaultdict(set)
        for node in self._calls():
            for user in node.users:
                if user.op in CALLABLE_NODE_OPS and (tag_id is None or _number(user.tag) < tag_id):
                    result[node].add(user)
        return result

    def update_reverse_deps_for_fusions(self, deps: dict[Node, NodeSet]) -> None:
        """Let all calls of a group have the group's readers, and what a group reads the group."""
        done: NodeSet = set()
        for node, fusion in self.fusions.items():
            if node in done:
                continue
            readers = set().union(*(deps[each] for each in fusion)) - fusion
            for each in fusion:
                deps[each] = readers
                for read in each.all_input_nodes:
                    if read not in fusion:
                        deps[read].update(fusion)
                done.add(each)

    def find_parent_nodes_of_subgraph(self, tag: str) -> NodeSet:
        """The calls of other parts that a part reads."""
        return {
            read
            for node in self._calls()
            if node.tag == tag
            for read in node.all_input_nodes
            if read.op in CALLABLE_NODE_OPS and read.tag != tag
        }

    def extend_acc_subgraph(self, tag: str) -> None:
        """Move calls of earlier parts that the backend takes into the part `tag`, as far as nothing
        else reads them."""
        deps = self.find_reverse_deps(tag_id=_number(tag))
        self.update_reverse_deps_for_fusions(deps)
        waiting = self.find_parent_nodes_of_subgraph(tag)
        visited: NodeSet = set()
        while True:
            node = next((n for n in waiting if deps[n] <= visited and n in self.acc_nodes), None)
            if node is None:
                return
            node.tag = tag
            waiting.remove(node)
            visited.add(node)
            waiting |= self.fusions.get(node, set()) - visited
            waiting |= {
                read
                for read in node.all_input_nodes
                if read.op in CALLABLE_NODE_OPS and read not in visited
            }

    # ------------------------------------------------------------------------------------- dividing
    def starter_nodes(self) -> tuple[NodeSet, NodeSet]:
        """The CPU's and the backend's calls that read inputs or attributes, or nothing."""
        first: tuple[NodeSet, NodeSet] = set(), set()
        for node in self.module.graph.nodes:
            if node.op == "call_function" and not node.all_input_nodes:
                first[node in self.acc_nodes].add(node)
            elif node.op in ("placeholder", "get_attr"):
                for user in node.users:
                    first[user in self.acc_nodes].add(user)
        return first

    def put_nodes_into_subgraphs(self) -> list[Subgraph]:
        """The parts: in turn all calls of the CPU and of the backend that can be made."""
        ready = self.starter_nodes()
        is_acc = all(self.deps[node] for node in ready[False])
        order = {node: i for i, node in enumerate(self.module.graph.nodes)}
        visited: NodeSet = set()
        subgraphs: list[Subgraph] = []
        while ready[False] or ready[True]:
            nodes: list[Node] = []
            while (node := self._next(ready[is_acc], visited, order)) is not None:
                ready[is_acc].remove(node)
                visited.add(node)
                nodes.append(node)
                ready[node in self.acc_nodes].update(self.fusions.get(node, set()) - visited)
                for user in node.users:
                    if user.op in CALLABLE_NODE_OPS:
                        ready[user in self.acc_nodes].add(user)
            if not nodes:
                raise FxNetSplitterInternalError("Subgraph can't be empty")
            subgraphs.append(Subgraph(is_acc=is_acc, nodes=nodes))
            is_acc = not is_acc
        if not subgraphs:
            raise FxNetSplitterInternalError("Couldn't create subgraphs")
        return subgraphs

    def _next(self, ready, visited, order):
        """The first call in the graph's order that has all that it reads."""
        able = (node for node in ready if self.deps[node] <= visited)
        return min(able, key=order.__getitem__, default=None)

    def remove_small_acc_subgraphs(self, subgraphs: list[Subgraph]) -> list[Subgraph]:
        """The parts, of which the backend's with too few calls have joined those of the CPU before
        them."""
        result: list[Subgraph] = []
        least = self.settings.min_acc_module_size
        for each in subgraphs:
            small = each.is_acc and len(each.nodes) < least
            if small:
                print(
                    "Eliminating acc subgraph because it's smaller than the threshold: "
                    f"{len(each.nodes)} < {least}"
                )
            if result and (small or not each.is_acc and not result[-1].is_acc):
                result[-1].nodes.extend(each.nodes)
                continue
            each.is_acc = each.is_acc and not small
            result.append(each)
        return result

    def tag(self, subgraphs: list[Subgraph]) -> None:
        """Write the name of its part to every call."""
        self.tags = []
        for i, each in enumerate(subgraphs):
            name = "_run_on_acc_" if each.is_acc else self.non_acc_submodule_name
            self.tags.append(f"{name}{i}")
            for node in each.nodes:
                if hasattr(node, "tag"):
                    raise FxNetSplitterInternalError(f"Node {node} was already tagged")
                node.tag = self.tags[-1]
                self._node_submodule_map[node.name] = node.tag

    def split(self, remove_tag: bool = False) -> GraphModule:
        """The module divided by the tags, which `remove_tag` takes away again."""
        split: Any = split_by_tags(self.module, self.tags, return_tuple=self._return_tuple)
        if remove_tag:
            for node in self.module.graph.nodes:
                if hasattr(node, "tag"):
                    del node.tag
        return split

    def _calls(self):
        return [node for node in self.module.graph.nodes if node.op in CALLABLE_NODE_OPS]


def _number(tag):
    return int(tag.rsplit("_", maxsplit=1)[-1])


__all__ = [
    "FxNetAccNodesFinder",
    "FxNetSplitterInternalError",
    "NodeEvent",
    "NodeEventTracker",
    "SplitResult",
    "Subgraph",
    "generate_inputs_for_submodules",
]
