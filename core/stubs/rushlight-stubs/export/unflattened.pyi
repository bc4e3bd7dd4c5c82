# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _int
from rushlight._words import _str
from rushlight.export.exported_program import ExportedProgram
from rushlight.fx.graph import Graph
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor
from rushlight.utils._pytree.trees import TreeSpec
from typing import Any

class FlatArgsAdapter:
    def adapt(self, target_spec: TreeSpec, input_spec: TreeSpec, input_args: list[Any], metadata: dict[_str, Any] | None = ..., obj: Any | None = ...) -> list[Any]: ...
    def get_flat_arg_paths(self) -> list[_str]: ...
class InterpreterModule(Module):
    def __init__(self) -> None: ...
    @property
    def graph(self) -> Graph: ...
    def forward(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Tensor: ...
    graphs: list[Any]
    turn: _int
class UnflattenedModule(Module):
    def __init__(self, export_module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = ...) -> None: ...
    def forward(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Tensor: ...
    graph_signature: Any
    module_call_graph: list[Any]
    flat_args_adapter: FlatArgsAdapter | None
    graph: Any
