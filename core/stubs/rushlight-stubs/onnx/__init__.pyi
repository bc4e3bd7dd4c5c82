# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from enum import Enum
from os import PathLike
from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str
from rushlight.export.exported_program import ExportedProgram
from rushlight.fx.graph_module import GraphModule
from rushlight.nn.module import Module
from typing import Any

from rushlight.onnx._program import ONNXProgram as ONNXProgram
from rushlight.onnx.errors import OnnxExporterError as OnnxExporterError
class OperatorExportTypes(Enum):
    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3
class TrainingMode(Enum):
    EVAL = 0
    PRESERVE = 1
    TRAINING = 2
from rushlight.onnx import errors as errors
def export(model: Module | ExportedProgram, args: tuple[Any, ...] = ..., f: _str | PathLike[_str] | None = ..., *, kwargs: dict[_str, Any] | None = ..., verbose: _bool | None = ..., input_names: Sequence[_str] | None = ..., output_names: Sequence[_str] | None = ..., opset_version: _int | None = ..., dynamo: _bool = ..., external_data: _bool = ..., dynamic_shapes: dict[_str, Any] | tuple[Any, ...] | list[Any] | None = ..., custom_translation_table: dict[Callable[..., Any], Callable[..., Any]] | None = ..., report: _bool = ..., optimize: _bool = ..., verify: _bool = ..., profile: _bool = ..., dump_exported_program: _bool = ..., artifacts_dir: _str | PathLike[_str] = ..., export_params: _bool = ..., keep_initializers_as_inputs: _bool = ..., dynamic_axes: Mapping[_str, Any] | None = ..., training: TrainingMode = ..., operator_export_type: OperatorExportTypes = ..., do_constant_folding: _bool = ..., custom_opsets: Mapping[_str, _int] | None = ..., export_modules_as_functions: _bool | Collection[type[Module]] = ..., autograd_inlining: _bool = ...) -> ONNXProgram: ...
def is_in_onnx_export() -> _bool: ...
def load(model: _str | PathLike[_str] | bytes | Any, trainable: _bool = ...) -> GraphModule: ...
def supported_ops() -> list[_str]: ...
