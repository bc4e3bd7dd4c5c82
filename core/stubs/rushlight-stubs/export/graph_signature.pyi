# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from enum import Enum
from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.utils._pytree.trees import TreeSpec
from typing import Any

class ConstantArgument:
    def __init__(self, name: _str, value: _int | _float | _bool | _str | None) -> None: ...
    name: _str
    value: _int | _float | _bool | _str | None
class CustomObjArgument:
    fake_val: Any
    def __init__(self, name: _str, class_fqn: _str, fake_val: object = ...) -> None: ...
    name: _str
    class_fqn: _str
class ExportBackwardSignature:
    def __init__(self, gradients_to_parameters: dict[_str, _str], gradients_to_user_inputs: dict[_str, _str], loss_output: _str) -> None: ...
    gradients_to_parameters: dict[_str, _str]
    gradients_to_user_inputs: dict[_str, _str]
    loss_output: _str
class ExportGraphSignature:
    @property
    def parameters(self) -> tuple[_str, ...]: ...
    @property
    def buffers(self) -> tuple[_str, ...]: ...
    @property
    def non_persistent_buffers(self) -> set[_str]: ...
    @property
    def lifted_tensor_constants(self) -> tuple[_str, ...]: ...
    @property
    def user_inputs(self) -> tuple[Any, ...]: ...
    @property
    def user_outputs(self) -> tuple[Any, ...]: ...
    @property
    def inputs_to_parameters(self) -> dict[_str, _str]: ...
    @property
    def inputs_to_buffers(self) -> dict[_str, _str]: ...
    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[_str, _str]: ...
    @property
    def buffers_to_mutate(self) -> dict[_str, _str]: ...
    @property
    def user_inputs_to_mutate(self) -> dict[_str, _str]: ...
    @property
    def parameters_to_mutate(self) -> dict[_str, _str]: ...
    @property
    def backward_signature(self) -> ExportBackwardSignature | None: ...
    @property
    def lifted_custom_objs(self) -> tuple[_str, ...]: ...
    @property
    def inputs_to_lifted_custom_objs(self) -> dict[_str, _str]: ...
    @property
    def input_tokens(self) -> tuple[_str, ...]: ...
    @property
    def output_tokens(self) -> tuple[_str, ...]: ...
    @property
    def assertion_dep_token(self) -> None: ...
    def get_replace_hook(self, replace_inputs: _bool = ...) -> Any: ...
    def replace_all_uses(self, old: _str, new: _str) -> None: ...
    def __init__(self, input_specs: list[InputSpec], output_specs: list[OutputSpec]) -> None: ...
    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]
class InputKind(Enum):
    USER_INPUT = 1
    PARAMETER = 2
    BUFFER = 3
    CONSTANT_TENSOR = 4
    CUSTOM_OBJ = 5
class InputSpec:
    persistent: Any
    def __init__(self, kind: InputKind, arg: TensorArgument | SymIntArgument | SymFloatArgument | ConstantArgument | CustomObjArgument, target: _str | None, persistent: _bool | None = ...) -> None: ...
    kind: InputKind
    arg: TensorArgument | SymIntArgument | SymFloatArgument | ConstantArgument | CustomObjArgument
    target: _str | None
class ModuleCallSignature:
    forward_arg_names: Any
    def __init__(self, inputs: list[Any], outputs: list[Any], in_spec: TreeSpec, out_spec: TreeSpec, forward_arg_names: list[_str] | None = ...) -> None: ...
    inputs: list[Any]
    outputs: list[Any]
    in_spec: TreeSpec
    out_spec: TreeSpec
class OutputKind(Enum):
    USER_OUTPUT = 1
    LOSS_OUTPUT = 2
    BUFFER_MUTATION = 3
    PARAMETER_MUTATION = 4
    GRADIENT_TO_PARAMETER = 5
    GRADIENT_TO_USER_INPUT = 6
    USER_INPUT_MUTATION = 7
class OutputSpec:
    def __init__(self, kind: OutputKind, arg: TensorArgument | SymIntArgument | SymFloatArgument | ConstantArgument, target: _str | None) -> None: ...
    kind: OutputKind
    arg: TensorArgument | SymIntArgument | SymFloatArgument | ConstantArgument
    target: _str | None
class SymFloatArgument:
    def __init__(self, name: _str) -> None: ...
    name: _str
class SymIntArgument:
    def __init__(self, name: _str) -> None: ...
    name: _str
class TensorArgument:
    def __init__(self, name: _str) -> None: ...
    name: _str
def exchanged(signature: Any) -> Any: ...
