# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from os import PathLike
from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str
from rushlight.nn.module import Module
from typing import Any
from typing import IO

from rushlight.export.dynamic.additional import AdditionalInputs as AdditionalInputs
from rushlight.export.dynamic.declared import Constraint as Constraint
from rushlight.export.decomp_utils import CustomDecompTable as CustomDecompTable
from rushlight.export.dynamic.dims import Dim as Dim
from rushlight.export.graph_signature import ExportBackwardSignature as ExportBackwardSignature
from rushlight.export.graph_signature import ExportGraphSignature as ExportGraphSignature
from rushlight.export.exported_program import ExportedProgram as ExportedProgram
from rushlight.export.unflattened import FlatArgsAdapter as FlatArgsAdapter
from rushlight.export.exported_program import ModuleCallEntry as ModuleCallEntry
from rushlight.export.graph_signature import ModuleCallSignature as ModuleCallSignature
from rushlight.export.dynamic.dims import ShapesCollection as ShapesCollection
from rushlight.export.unflattened import UnflattenedModule as UnflattenedModule
def default_decompositions() -> CustomDecompTable: ...
def dims(*names: Any, min: _int | None = ..., max: _int | None = ...) -> tuple[Dim, ...]: ...
def draft_export(mod: Module, args: tuple[Any, ...], kwargs: dict[_str, Any] | None = ..., *, dynamic_shapes: dict[_str, Any] | tuple[Any, ...] | list[Any] | None = ..., preserve_module_call_signature: tuple[_str, ...] = ..., strict: _bool = ..., prefer_deferred_runtime_asserts_over_guards: _bool = ...) -> ExportedProgram: ...
def export(mod: Module, args: tuple[Any, ...], kwargs: dict[_str, Any] | None = ..., *, dynamic_shapes: dict[_str, Any] | tuple[Any, ...] | list[Any] | None = ..., strict: _bool = ..., preserve_module_call_signature: tuple[_str, ...] = ..., prefer_deferred_runtime_asserts_over_guards: _bool = ...) -> ExportedProgram: ...
def load(f: _str | PathLike[_str] | IO[bytes], *, extra_files: dict[_str, Any] | None = ..., expected_opset_version: dict[_str, _int] | None = ...) -> ExportedProgram: ...
def register_dataclass(cls: type[Any], *, serialized_type_name: _str | None = ...) -> None: ...
def save(ep: ExportedProgram, f: _str | PathLike[_str] | IO[bytes], *, extra_files: dict[_str, Any] | None = ..., opset_version: dict[_str, _int] | None = ..., pickle_protocol: _int = ...) -> None: ...
def unflatten(module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = ...) -> UnflattenedModule: ...
