# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str
from rushlight.autograd.handle import RemovableHandle
from rushlight.tensor.tensor import Tensor
from typing import Any
from typing import NamedTuple

class _Edge(NamedTuple):
    node: Node | AccumulateGrad
    output_nr: _int
    ownership_token: object = ...
class AccumulateGrad(Node):
    op: Any
    saved: Any
    plan: Any
    edges: Any
    next_functions: Any
    outputs: _int
    sequence: _int
    def __init__(self, variable: Any) -> None: ...
    def __call__(self, grad: Any) -> Any: ...
    def name(self) -> _str: ...
    def register_prehook(self, hook: Any) -> Any: ...
    def register_hook(self, hook: Any) -> Any: ...
    variable: Any
class GradientEdge(_Edge):
    requires_grad: _bool
LEAF: _Marker
class Node:
    hooks: Any
    pre_hooks: Any
    tensor_hooks: Any
    numbers: Any
    shapes: Any
    dtypes: Any
    values: Any
    versions: Any
    packed: _bool
    is_part: _bool
    requires_grad: _bool
    following: Any
    def __init__(self, op: object, edges: Sequence[Any], numbers: Sequence[_int] | None, outputs: _int = ...) -> None: ...
    def name(self) -> _str: ...
    def __call__(self, *grads: Any) -> Any: ...
    @property
    def next_functions(self) -> tuple[tuple[Node | None, _int], ...]: ...
    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    @property
    def metadata(self) -> dict[Any, Any]: ...
    def __getattr__(self, name: _str) -> Any: ...
    edges: Any
    op: Any
    outputs: Any
    plan: Any
    saved: Any
    sequence: Any
STALE: _Marker
class _Marker:
    def __init__(self, name: _str) -> None: ...
    name: Any
def arrangement_of(node: Any) -> Any: ...
def as_function(edge: Any) -> Any: ...
def class_name(node: Node) -> _str: ...
def edges_of(tensors: Sequence[Tensor]) -> Any: ...
def gradient_edge(tensor: Tensor) -> Any: ...
