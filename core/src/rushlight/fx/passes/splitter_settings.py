"""What a splitter is told, and what it raises and returns."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from copy import deepcopy as deep_copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import rushlight
from rushlight import nn
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.passes.tools_common import NodeList

DEFAULT_MIN_ACC_MODULE_SIZE = 1
DEFAULT_SKIP_FUSION = False
DEFAULT_ALLOW_NON_TENSOR = False


class _SplitterSettingBase:
    """The settings of a splitter. Options of the command line, such as
    ``--min-acc-module-size 3`` or ``--skip-fusion``, go before what is given here.

    Args:
        min_acc_module_size: parts with fewer calls are left to the CPU.
        skip_fusion: do not keep calls together that pass other values than tensors to each other.
        allow_non_tensor: let such values pass between the backend and the CPU.
        max_acc_splits: how many parts there may be at most; any number if it is not above 0.
        move_non_tensor_nodes_on_boundary: move calls that give no tensor to the part that reads
            them.
    """

    def __init__(
        self, min_acc_module_size: int = DEFAULT_MIN_ACC_MODULE_SIZE,
        skip_fusion: bool = DEFAULT_SKIP_FUSION, allow_non_tensor: bool = DEFAULT_ALLOW_NON_TENSOR,
        max_acc_splits: int = -1, move_non_tensor_nodes_on_boundary: bool = False,
    ):  # fmt: skip
        given = _command_line()
        self.min_acc_module_size = given.min_acc_module_size or min_acc_module_size
        self.skip_fusion = given.skip_fusion or skip_fusion
        self.allow_non_tensor = given.allow_non_tensor or allow_non_tensor
        self.max_acc_splits = given.max_acc_splits or max_acc_splits
        self.move_non_tensor_nodes_on_boundary = (
            given.move_non_tensor_nodes_on_boundary or move_non_tensor_nodes_on_boundary
        )


def _command_line():
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name, kind in (
        ("min-acc-module-size", int),
        ("max-acc-splits", int),
        ("skip-fusion", None),
        ("allow-non-tensor", None),
        ("move-non-tensor-nodes-on-boundary", None),
    ):
        options = {"action": "store_true"} if kind is None else {"type": kind}
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}", **options)
    return parser.parse_known_args()[0]


class FxNetSplitterInternalError(Exception):
    """A graph could not be divided."""


@dataclass
class Subgraph:
    """A part of a graph: whether a backend takes it, its calls, and the number of the device."""

    is_acc: bool
    nodes: NodeList
    device_ordinal: int | None = None


class SplitResult(NamedTuple):
    """A divided module, the inputs of its parts by their names, and how the names of the parts that
    are left to the CPU begin; those of the backend's begin with ``_run_on_acc_``."""

    split_module: GraphModule
    submodule_inputs: dict[str, Any]
    non_acc_submodule_prefix: str


def generate_inputs_for_submodules(
    model: nn.Module, inputs: Sequence[Any], target_submodules: Iterable[str],
    deepcopy: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The arguments with which a model calls its submodules, found by running it once without
    gradients.

    Args:
        model: the module to run; a module that stands at several paths counts under the last.
        inputs: the model's arguments.
        target_submodules: the paths of the submodules.
        deepcopy: keep copies, since the model writes to what it passed.

    Returns:
        Tuples of arguments, by path; a submodule that is not called has none.

    >>> import rushlight
    >>> from rushlight.fx.passes.splitter_base import generate_inputs_for_submodules
    >>> net = rushlight.nn.Sequential(rushlight.nn.ReLU(), rushlight.nn.Sigmoid())
    >>> generate_inputs_for_submodules(net, (rushlight.tensor([-1.0, 2.0]),), ["1"])
    {'1': (tensor([0., 2.]),)}
    """
    names = {module: name for name, module in model.named_modules()}
    wanted, found = set(target_submodules), {}

    def note(module, arguments):
        found[names[module]] = deep_copy(arguments) if deepcopy else arguments

    handles = [
        module.register_forward_pre_hook(note)
        for name, module in model.named_modules()
        if name in wanted and not isinstance(module, rushlight.jit.ScriptModule)
    ]
    try:
        with rushlight.no_grad():
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found
