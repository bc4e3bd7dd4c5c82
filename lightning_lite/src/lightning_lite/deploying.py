"""Modules as ONNX and TorchScript, in evaluation mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import rushlight as rl


def to_onnx(module: Any, file_path: Any, input_sample: Any, options: dict[str, Any]) -> Any:
    """The exported program, and its file if there is a path or an open one."""
    args, kwargs = _arguments(module, input_sample, "to_onnx", "input_sample")
    options = {"kwargs": kwargs, **options} if kwargs else options
    with _evaluating(module):
        return rl.onnx.export(module, args, file_path, **options)


def to_torchscript(
    module: Any, file_path: Any, method: str, example_inputs: Any, options: dict[str, Any]
) -> Any:
    """The scripted or traced module, and its file if there is a path."""
    if method not in ("script", "trace"):
        raise ValueError(f"to_torchscript: expected method 'script' or 'trace', got {method!r}")
    with _evaluating(module):
        if method == "script":
            found = rl.jit.script(module, **options)
        else:
            args, kwargs = _arguments(module, example_inputs, "to_torchscript", "example_inputs")
            if kwargs:
                options = {"example_kwarg_inputs": kwargs, **options}
            found = rl.jit.trace(module, args, **options)
    if file_path is not None:
        rl.jit.save(found, file_path)
    return found


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """Evaluation mode without gradients; each part gets its own mode back."""
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        with rl.no_grad():
            yield
    finally:
        for part, training in modes.items():
            part.training = training


def _arguments(module: Any, given: Any, function: str, name: str) -> tuple[tuple, dict]:
    """Inputs as positional and keyword arguments, as batches come to the module."""
    given = module.example_input_array if given is None else given
    if given is None:
        raise ValueError(
            f"{function}: expected an input as `{name}` or `example_input_array` of the module; "
            "neither is there"
        )
    given = module.on_before_batch_transfer(given, 0)
    given = module.transfer_batch_to_device(given, module.device, 0)
    given = module.on_after_batch_transfer(given, 0)
    if isinstance(given, Mapping):
        return (), dict(given)
    return (tuple(given) if isinstance(given, tuple | list) else (given,)), {}
