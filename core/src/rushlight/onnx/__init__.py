"""ONNX: models as files that other engines read.

:func:`export` captures a model by :mod:`rushlight.export` and writes the graph of ATen's ops in
ONNX's operators. It needs the package onnx (``pip install "rushlight[onnx]"``).
"""

from __future__ import annotations

import enum
import importlib
import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rushlight.onnx import errors
from rushlight.onnx.errors import OnnxExporterError
from rushlight.refusals import rest_of

if TYPE_CHECKING:
    from rushlight.export import ExportedProgram
    from rushlight.nn import Module
    from rushlight.onnx._program import ONNXProgram

__all__ = [
    "ONNXProgram",
    "OnnxExporterError",
    "OperatorExportTypes",
    "TrainingMode",
    "errors",
    "export",
    "is_in_onnx_export",
    "load",
    "supported_ops",
]

DEFAULT_OPSET = 20
_exporting = False


class TrainingMode(enum.Enum):
    """Former choices of a mode; :func:`export` takes the model as it is."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.Enum):
    """Former choices of operators."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def is_in_onnx_export() -> bool:
    """Whether a model is being exported just now."""
    return _exporting


def supported_ops() -> list[str]:
    """The overloads of ATen that have a translation, as ``"add.Tensor"``; ops that are made of
    others need none."""
    from rushlight.onnx._registry import table

    return sorted({*table(), *table(of_complex=True)})


def export(
    model: Module | ExportedProgram,
    args: tuple[Any, ...] = (),
    f: str | os.PathLike | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | list[Any] | None = None,
    custom_translation_table: dict[Callable, Callable] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | Collection[type[Module]] = False,
    autograd_inlining: bool = True,
) -> ONNXProgram:
    """Write a model in ONNX's form.

    `model` is a module, with `args` and `kwargs` to call it with, or an
    :class:`~rushlight.export.ExportedProgram`. It is taken in the mode it is in: call ``eval()``
    first. With `f` the model is written there, its weights beside it in ``f + ".data"`` unless
    `external_data` is False.

    Args:
        input_names, output_names: names in order; the others keep those of the program.
        opset_version: 13 to 23, by default 20.
        dynamic_shapes: sizes that may differ, as for :func:`rushlight.export.export`.
        dynamic_axes: the same by input names: ``{"x": {0: "batch"}}`` or ``{"x": [0]}``; a size
            that the program fixes stays fixed. Outputs follow, their names are not needed.
        custom_translation_table: overload of ATen (``rushlight.ops.aten.NAME.OVERLOAD``) ->
            function of the builder and of ATen's arguments, by their names, that gives the result.
        verify: check the file and compare ONNX Runtime's outputs with the model's.
        verbose: print the model.

    Returns:
        An :class:`ONNXProgram`.

    Raises:
        UnsupportedOperatorError: an op has no translation; the text names op and line.
        OnnxExporterError: there is no such `opset_version`, or more names than inputs or outputs.
        TypeError: `opset_version` is no int, or names are no list of strings.
        ImportError: onnx is not installed.

    Example:
        >>> import rushlight
        >>> layer = rushlight.nn.Linear(3, 2).eval()
        >>> program = rushlight.onnx.export(layer, (rushlight.ones(1, 3),))  # doctest: +SKIP
        >>> program.save("linear.onnx")  # doctest: +SKIP
    """
    global _exporting
    _check_library()
    _refuse(report=report, profile=profile, dump_exported_program=dump_exported_program,
            export_modules_as_functions=export_modules_as_functions)  # fmt: skip
    opset = DEFAULT_OPSET if opset_version is None else opset_version
    from rushlight.onnx._sizes import OPSETS, exporter_of

    _check_given(opset, OPSETS, {"input_names": input_names, "output_names": output_names})
    _exporting = True
    try:
        axes = {k: v for k, v in (dynamic_axes or {}).items() if k not in (output_names or ())}
        program = _captured(model, args, kwargs, dynamic_shapes, axes, input_names)
        exporter = exporter_of(
            program, opset, custom_translation_table, input_names, output_names,
            prepare=lambda made: made.builder.domains.update(custom_opsets or {}),
        )  # fmt: skip
        proto = exporter.model()
    finally:
        _exporting = False
    result = importlib.import_module("rushlight.onnx._program").ONNXProgram(proto, program)
    if verify:
        _verify(result, model, args, kwargs)
    if verbose:
        print(importlib.import_module("onnx").printer.to_text(proto))
    if f is not None:
        result.save(
            f,
            include_initializers=export_params,
            keep_initializers_as_inputs=keep_initializers_as_inputs,
            external_data=external_data,
        )
    return result


def _check_library():
    try:
        importlib.import_module("onnx")
    except ImportError:
        raise ImportError(
            "onnx.export() needs the package onnx: pip install 'rushlight[onnx]'"
        ) from None


def _refuse(**options):
    for name, value in options.items():
        if value:
            raise NotImplementedError(
                f"onnx.export(): {name}={value!r} is not available; leave it out and look at "
                "ONNXProgram.model_proto and exported_program"
            )


def _check_given(opset, known, named):
    """Raise for an opset that there is not, and for names that are none."""
    if isinstance(opset, bool) or not isinstance(opset, int):
        raise TypeError(f"opset_version must be an int, not {type(opset).__name__}")
    if opset not in known:
        raise OnnxExporterError(f"opset_version must be {known[0]} to {known[-1]}, got {opset}")
    for label, names in named.items():
        if isinstance(names, str) or not all(isinstance(name, str) for name in names or ()):
            raise TypeError(f"{label} must be a list of strings, got {names!r}")


def _captured(model, args, kwargs, dynamic_shapes, dynamic_axes, input_names):
    from rushlight.export import ExportedProgram
    from rushlight.export import export as captured

    if isinstance(model, ExportedProgram):
        return model
    if not isinstance(args, tuple):
        args = (args,)
    if args and isinstance(args[-1], dict) and kwargs is None:
        args, kwargs = args[:-1], args[-1]
    if _is_trained(model):
        warnings.warn(
            "the model is in training mode, so dropout and batch statistics are exported: call "
            "eval() first if that is not meant",
            UserWarning,
            stacklevel=3,
        )
    if dynamic_axes and dynamic_shapes is None:
        dynamic_shapes = _from_axes(dynamic_axes, model, args, input_names)
    return captured(model, args, kwargs, dynamic_shapes=dynamic_shapes)


def _is_trained(model):
    """Whether a part that works otherwise in training is in that mode."""
    from rushlight.nn.modules.batchnorm import _BatchNorm
    from rushlight.nn.modules.dropout import _DropoutNd

    parts = model.modules() if hasattr(model, "modules") else ()
    return any(isinstance(part, _BatchNorm | _DropoutNd) and part.training for part in parts)


def _from_axes(dynamic_axes, model, args, input_names):
    """Sizes that may differ by the former argument, which names inputs: an entry for each."""
    from rushlight.export import Dim

    names = list(input_names or ())
    unknown = sorted(set(dynamic_axes) - set(names))
    if unknown:
        raise ValueError(
            f"dynamic_axes: expected names that `input_names` gives ({names}), got {unknown}; "
            "name the inputs, or use dynamic_shapes"
        )
    found = []
    for place in range(len(args)):
        axes = dynamic_axes.get(names[place]) if place < len(names) else None
        axes = dict.fromkeys(axes) if isinstance(axes, list | tuple) else axes
        found.append(axes and {d: replace(Dim.AUTO, name=n) for d, n in axes.items()})
    return tuple(found)


def _verify(result, model, args, kwargs):
    """Compare the outputs of ONNX Runtime with the model's."""
    import onnx

    import rushlight
    from rushlight.utils import _pytree as pytree

    onnx.checker.check_model(result.model_proto, full_check=True)
    with rushlight.no_grad():
        call = (
            model if callable(model) and not hasattr(model, "graph_signature") else model.module()
        )
        expected = pytree.tree_leaves(call(*args, **(kwargs or {})))
    found = result(*args, **(kwargs or {}))
    tensors = [v for v in expected if isinstance(v, rushlight.Tensor)]
    for place, (ours, theirs) in enumerate(zip(tensors, found, strict=True)):
        if not rushlight.allclose(
            ours, theirs.to(ours.dtype), rtol=1e-4, atol=1e-5, equal_nan=True
        ):
            raise OnnxExporterError(
                f"output {place} of the exported model differs from the model's"
            )


_rest = rest_of(__name__)


def __getattr__(name: str) -> Any:
    if name == "load":
        return importlib.import_module("rushlight.onnx._loader").load
    if name == "ONNXProgram":
        return importlib.import_module("rushlight.onnx._program").ONNXProgram
    return _rest(name)
