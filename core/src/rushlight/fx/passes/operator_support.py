"""Which nodes a backend takes: questions that passes ask, and how to combine them."""

from __future__ import annotations

import abc

from rushlight.fx.node import Node
from rushlight.fx.passes.shape_prop import TensorMetadata
from rushlight.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target


class OperatorSupportBase(abc.ABC):
    """Answers whether a node is supported."""

    @abc.abstractmethod
    def is_node_supported(self, submodules, node: Node) -> bool:
        """Whether `node` is supported; `submodules` maps paths to modules."""


class OperatorSupport(OperatorSupportBase):
    """Supports calls by a table: from :func:`get_node_target` names to the dtypes of their inputs,
    None for any, or ``(dtypes of the inputs in order, dtypes of named ones)``, with None for an
    input of any dtype. Needs the ``tensor_meta`` that :class:`ShapeProp` writes; an input that is
    no tensor has its type for a dtype."""

    def __init__(self, support_dict: dict | None = None):
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules, node: Node) -> bool:
        """Whether the table has the call, with these dtypes."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        wanted = self._support_dict[target]
        if wanted is None:
            return True
        in_order, by_name = wanted
        for given, dtypes in zip(node.args, in_order, strict=False):
            if dtypes is not None and isinstance(given, Node) and _dtype(given) not in dtypes:
                return False
        named = ((name, node.kwargs.get(name)) for name in by_name)
        return all(_dtype(v) in by_name[name] for name, v in named if isinstance(v, Node))


class _Support(OperatorSupportBase):
    def __init__(self, function):
        self.function = function

    def is_node_supported(self, submodules, node):
        """The answer of the function."""
        return self.function(submodules, node)


def create_op_support(is_node_supported) -> OperatorSupportBase:
    """Make a function of submodules and a node an answer."""
    return _Support(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supports what all of them support."""
    return _Support(lambda sub, node: all(s.is_node_supported(sub, node) for s in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supports what one of them supports."""
    return _Support(lambda sub, node: any(s.is_node_supported(sub, node) for s in op_support))


class OpSupports:
    """Ready-made answers."""

    @classmethod
    def decline_if_input_dtype(cls, dtype) -> OperatorSupportBase:
        """Supports nodes without an input of this dtype."""
        return _Support(lambda _, node: all(_dtype(each) != dtype for each in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Supports nodes whose names are not among these."""
        return _Support(lambda _, node: node.name not in disallow_set)


def _dtype(node):
    meta = node.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else node.meta.get("type")
