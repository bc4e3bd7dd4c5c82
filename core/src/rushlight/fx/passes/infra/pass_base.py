"""The base of passes over graphs."""

from __future__ import annotations

import abc
from typing import NamedTuple

from rushlight.fx.graph_module import GraphModule
from rushlight.nn.module import Module


class PassResult(NamedTuple):
    """What a pass gives: the module, and whether it changed it."""

    graph_module: Module
    modified: bool


class PassBase(abc.ABC):
    """A pass over a graph, called with a :class:`GraphModule`.

    >>> import rushlight
    >>> from rushlight.fx.passes.infra.pass_base import PassBase, PassResult
    >>> class Clean(PassBase):
    ...     def call(self, graph_module):
    ...         return PassResult(graph_module, graph_module.graph.eliminate_dead_code())
    >>> Clean()(rushlight.fx.symbolic_trace(rushlight.relu)).modified
    False
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        """:meth:`requires`, :meth:`call`, :meth:`ensures`."""
        self.requires(graph_module)
        found = self.call(graph_module)
        self.ensures(graph_module)
        return found

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """The pass itself."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 - may be left as it is
        """Raise for a module that the pass does not take; by default it takes all."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027 - may be left as it is
        """Raise for a result that is not right; by default every one is."""


__all__ = ["PassBase", "PassResult"]
