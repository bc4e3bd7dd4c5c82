# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from rushlight._words import _str
from rushlight.fx.entry import PHBase
from rushlight.fx.subgraph_rewriter import Match
from rushlight.nn.module import Module
from typing import Any

from rushlight.fx.codegen import CodeGen as CodeGen
from rushlight.fx.graph import Graph as Graph
from rushlight.fx.graph_module import GraphModule as GraphModule
from rushlight.fx.interpreter import Interpreter as Interpreter
from rushlight.fx.node import Node as Node
PH: PHBase
from rushlight.fx.proxy import Proxy as Proxy
from rushlight.fx._symbolic_trace import ProxyableClassMeta as ProxyableClassMeta
from rushlight.fx._symbolic_trace import Tracer as Tracer
from rushlight.fx.interpreter import Transformer as Transformer
def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]: ...
from rushlight.fx import immutable_collections as immutable_collections
def map_arg(a: object, fn: Callable[[Any], Any]) -> Any: ...
def replace_pattern(gm: GraphModule, pattern: Callable[..., Any], replacement: Callable[..., Any]) -> list[Match]: ...
def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[Any, Any] | None = ...) -> GraphModule: ...
def wrap(fn_or_name: _str | Callable[..., Any]) -> Callable[..., Any] | str: ...
