"""Export: a module as a graph of ATen ops, with its parameters, that runs without its source.

:func:`export` runs the module once on tensors without values. Begin reading at ``tracing.py`` (the
graph of a run), ``exported_program.py`` (what comes of it) and ``unlifting.py`` (a module again).
May import fx and what is below.

>>> import rushlight
>>> class Double(rushlight.nn.Module):
...     def forward(self, x):
...         return x * 2
>>> program = rushlight.export.export(Double(), (rushlight.ones(2),))
>>> program.module()(rushlight.tensor([1.0, 2.0]))
tensor([2., 4.])
"""

from __future__ import annotations

from typing import Any

from rushlight import refusals
from rushlight.export.exported_program import (
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
    state_of,
)
from rushlight.export.graph_signature import ExportGraphSignature
from rushlight.export.serialization import load, save
from rushlight.export.tracing import Tracing, _positional
from rushlight.nn.module import Module

__all__ = [
    "ExportGraphSignature",
    "ExportedProgram",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "export",
    "load",
    "save",
]


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes=None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Run a module once, on tensors without values, and keep what it does as a graph.

    The graph's nodes call ATen overloads such as ``rushlight.ops.aten.linear.default``; parameters,
    buffers and constants are inputs of it. Ops that write stay;
    :meth:`ExportedProgram.run_decompositions` gives the program without them. Sizes are those of
    the arguments.

    Args:
        mod: the module; its ``training`` counts.
        args: positional arguments: tensors, numbers, strings, None or structures of them.
        kwargs: keyword arguments.
        dynamic_shapes: None, or structures of None: every size is fixed in this version.
        strict: accepted; both values do the same.

    Raises:
        ValueError: `mod` is no module, or an argument is of a kind that a graph cannot have.
        GuardOnDataDependentSymNode: what the module does depends on the values of tensors.
        NotImplementedError: `dynamic_shapes` names sizes that may differ.

    Example:
        >>> import rushlight
        >>> program = rushlight.export.export(rushlight.nn.Linear(3, 2), (rushlight.ones(1, 3),))
        >>> print(program.graph_signature.parameters)
        ('weight', 'bias')
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise TypeError(
            "export(): argument 'args' must be a tuple of example inputs, not "
            f"{type(args).__name__}"
        )
    _check_static(dynamic_shapes)
    kwargs = {} if kwargs is None else kwargs
    tracing = Tracing(mod)
    graph_module, signature, in_spec, out_spec = tracing.run(args, kwargs)
    names = _argument_names(mod, args, kwargs)
    call = ModuleCallSignature([], [], in_spec, out_spec, names)
    entries = [ModuleCallEntry(name) for name, _ in mod.named_modules() if name]
    return ExportedProgram(
        graph_module, graph_module.graph, signature, state_of(signature, mod), {},
        [ModuleCallEntry("", call), *entries], (args, kwargs), tracing.constants,
    )  # fmt: skip


def _argument_names(module, args, kwargs):
    return [name for name, _ in _positional(module.forward, args)] + list(kwargs)


def _check_static(shapes):
    """Refuse what names a size that may differ."""
    if shapes is None:
        return
    if isinstance(shapes, dict):
        shapes = list(shapes.values())
    if isinstance(shapes, tuple | list):
        for item in shapes:
            _check_static(item)
        return
    raise NotImplementedError(
        f"export(): dynamic_shapes with {shapes!r}: sizes that may differ are not available; "
        "export once for each size"
    )


__getattr__ = refusals.rest_of(__name__)
