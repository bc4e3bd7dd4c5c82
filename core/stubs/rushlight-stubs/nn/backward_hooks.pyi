# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.autograd.function import Function
from rushlight.nn.module import Module
from typing import Any

class BackwardHook:
    def __init__(self, module: Module, user_hooks: Any, user_pre_hooks: Any) -> None: ...
    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]: ...
    def setup_output_hook(self, output: Any) -> Any: ...
    module: Module
    user_hooks: Any
    user_pre_hooks: Any
    grad_outputs: Any
    input_places: Any
    output_places: Any
    n_inputs: Any
    n_outputs: Any
class BackwardHookFunction(Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any: ...
    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any: ...
def hook_result(args: Any, result: Any, module: Module, hooks: Any) -> Any: ...
