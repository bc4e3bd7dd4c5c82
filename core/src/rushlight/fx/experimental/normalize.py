"""One spelling for calls that may be written in several ways."""

from __future__ import annotations

import operator

import rushlight
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.interpreter import Transformer
from rushlight.fx.node import Node
from rushlight.fx.operator_schemas import normalize_function, normalize_module
from rushlight.fx.proxy import Proxy


class NormalizeArgs(Transformer):
    """Gives the calls of functions and modules all their arguments by name, defaults filled in.

    Calls stay as they are where the signature is unknown, or has parameters that take no keyword,
    as Python's operators.

    Args:
        module: the traced module; :meth:`transform` gives a new one.
        normalize_to_only_use_kwargs: name also the arguments that were given by position.

    Attributes: `node_map` has the nodes of `module` by the proxies of the new ones.

    >>> import rushlight
    >>> from rushlight.fx.experimental.normalize import NormalizeArgs
    >>> module = rushlight.fx.symbolic_trace(lambda x: rushlight.sum(x, 1))
    >>> [node.kwargs for node in NormalizeArgs(module).transform().graph.nodes][1]
    {'input': x, 'dim': 1, 'keepdim': False, 'dtype': None}
    """

    def __init__(self, module: GraphModule, normalize_to_only_use_kwargs: bool = True):
        super().__init__(module)
        self.node_map: dict[Proxy, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node):
        """A proxy of the new node, which keeps what is known of the old one."""
        made = super().run_node(n)
        if n.op != "output":
            self.node_map[made] = n
            made.node.meta, made.node.type = n.meta, n.type
        return made

    def call_function(self, target, args, kwargs, arg_types=None, kwarg_types=None):
        """A proxy of a new call of the function."""
        found = normalize_function(
            target, args, kwargs, arg_types, kwarg_types, self.normalize_to_only_use_kwargs
        )
        return super().call_function(target, *(found or (args, kwargs)))

    def call_module(self, target, args, kwargs):
        """A proxy of a new call of the submodule."""
        found = normalize_module(
            self.module, target, args, kwargs, self.normalize_to_only_use_kwargs
        )
        return super().call_module(target, *(found or (args, kwargs)))


class NormalizeOperators(Transformer):
    """Makes calls of functions that Python has an operator for calls of this operator.

    Calls with an argument by name, such as ``alpha``, stay as they are.

    Attributes: `binary_magic_method_remap` has the operators by the functions.

    >>> import rushlight
    >>> from rushlight.fx.experimental.normalize import NormalizeOperators
    >>> module = rushlight.fx.symbolic_trace(lambda x: rushlight.add(x, x))
    >>> [node.target for node in NormalizeOperators(module).transform().graph.nodes][1]
    <built-in function add>
    """

    binary_magic_method_remap = {
        rushlight.add: operator.add,
        rushlight.mul: operator.mul,
        rushlight.sub: operator.sub,
        rushlight.div: operator.truediv,
        rushlight.floor_divide: operator.floordiv,
        rushlight.remainder: operator.mod,
        rushlight.eq: operator.eq,
        rushlight.ne: operator.ne,
        rushlight.lt: operator.lt,
        rushlight.le: operator.le,
        rushlight.gt: operator.gt,
        rushlight.ge: operator.ge,
    }

    def call_function(self, target, args, kwargs):
        """A proxy of a new call of the function or of its operator."""
        if len(args) == 2 and not kwargs:
            target = self.binary_magic_method_remap.get(target, target)
        return super().call_function(target, args, kwargs)
