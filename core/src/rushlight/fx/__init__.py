"""Programs as graphs: trace a module, change what it does, run it as generated Python.

:func:`symbolic_trace` runs a module on proxies and gives a :class:`GraphModule`; its `graph` is a
list of nodes that may be inspected and changed, and its `code` is readable Python. Begin reading at
``_symbolic_trace.py`` (tracing), ``graph.py`` (the list) and ``codegen.py`` (the source).

>>> import rushlight
>>> module = rushlight.fx.symbolic_trace(lambda x: rushlight.relu(x) + 1)
>>> [node.name for node in module.graph.nodes]
['x', 'relu', 'add', 'output']
"""

import importlib

from rushlight import refusals
from rushlight.fx import immutable_collections
from rushlight.fx._symbolic_trace import (
    PH,
    ProxyableClassMeta,
    Tracer,
    symbolic_trace,
    wrap,
)
from rushlight.fx.graph import CodeGen, Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.interpreter import Interpreter, Transformer
from rushlight.fx.node import Node, has_side_effect, map_arg
from rushlight.fx.proxy import Proxy
from rushlight.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "immutable_collections",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]


def __getattr__(name):
    if name in ("config", "experimental", "operator_schemas", "passes"):
        return importlib.import_module(f"{__name__}.{name}")
    return refusals.lookup("fx", name)
