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

import inspect
from typing import Any

from rushlight import refusals
from rushlight._dynamo.exc import UserError
from rushlight.export._draft_export import Drafting
from rushlight.export.choices import observed
from rushlight.export.decomp_utils import CustomDecompTable, default_decompositions
from rushlight.export.dynamic.additional import AdditionalInputs
from rushlight.export.dynamic.declared import Constraint, declared
from rushlight.export.dynamic.dims import Dim, ShapesCollection, dims
from rushlight.export.dynamic.export import exported
from rushlight.export.exported_program import (
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
    state_of,
)
from rushlight.export.graph_signature import ExportBackwardSignature, ExportGraphSignature
from rushlight.export.serialization import load, save
from rushlight.export.tracing import _positional
from rushlight.export.unflatten import FlatArgsAdapter, UnflattenedModule, unflatten
from rushlight.export.verifier import TrainingIRVerifier
from rushlight.nn.module import Module
from rushlight.utils import _pytree as pytree

__all__ = [
    "AdditionalInputs",
    "Constraint",
    "CustomDecompTable",
    "Dim",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "ExportedProgram",
    "FlatArgsAdapter",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "ShapesCollection",
    "UnflattenedModule",
    "default_decompositions",
    "dims",
    "draft_export",
    "export",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | list[Any] | None = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Run a module once, on tensors without values, and keep what it does as a graph.

    The graph's nodes call ATen overloads such as ``rushlight.ops.aten.linear.default``; parameters,
    buffers and constants are inputs of it. Ops that write stay;
    :meth:`ExportedProgram.run_decompositions` gives the program without them. Sizes are those of
    the arguments, but for those that `dynamic_shapes` names: these may differ from call to call.
    The module is then run at several sizes; what depends on them is computed in the graph.

    Args:
        mod: the module; its ``training`` counts.
        args: positional arguments: tensors, numbers, strings, None or structures of them.
        kwargs: keyword arguments.
        dynamic_shapes: sizes that may differ: a dict with every argument, or a list or tuple in
            their order; for a tensor a dict of dimensions, or a list or tuple of one entry each,
            with :class:`Dim`, ``Dim.AUTO``, ``Dim.DYNAMIC``, ``Dim.STATIC`` or None; for a whole
            number one of the last four, by which it may differ itself; for structures of these a
            structure of what is said of each. Or a :class:`ShapesCollection`.
        strict: accepted; both values do the same.
        preserve_module_call_signature: names of submodules that are called with the arguments and
            results of the original in what :func:`unflatten` makes of the program, so that others
            can replace them; empty by default.
        prefer_deferred_runtime_asserts_over_guards: False; what sizes have to fulfil is said by
            their declarations.

    Raises:
        ValueError: `mod` is no module, or an argument, or one of a submodule whose signature is
            kept, is of a kind that a graph cannot have.
        TypeError: `forward` does not take the arguments.
        UserError: `args` is no tuple, or `dynamic_shapes` no structure beside the arguments.
        ValueError: `dynamic_shapes` has a :class:`Dim` for a number.
        AttributeError: there is no submodule of a name in `preserve_module_call_signature`.
        GuardOnDataDependentSymNode: what the module does depends on the values of tensors.
        ConstraintViolationError: a size that `dynamic_shapes` names cannot differ; the text says
            what in the program needs it.
        NotImplementedError: the last argument is True.

    Example:
        >>> import rushlight
        >>> program = rushlight.export.export(rushlight.nn.Linear(3, 2), (rushlight.ones(1, 3),))
        >>> print(program.graph_signature.parameters)
        ('weight', 'bias')
        >>> batch = rushlight.export.Dim("batch", max=64)
        >>> program = rushlight.export.export(
        ...     rushlight.nn.Linear(3, 2), (rushlight.ones(4, 3),), dynamic_shapes=({0: batch},)
        ... )
        >>> program.module()(rushlight.ones(9, 3)).shape, program.range_constraints
        (rushlight.Size([9, 2]), {batch: VR[0, 64]})
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(
            "export(): argument 'args' must be a tuple of example inputs, not "
            f"{type(args).__name__}"
        )
    if prefer_deferred_runtime_asserts_over_guards:
        raise NotImplementedError(
            "export(): prefer_deferred_runtime_asserts_over_guards is not available; declare the "
            "ranges of sizes by Dim in dynamic_shapes"
        )
    kept = _submodule_names(mod, preserve_module_call_signature)
    kwargs = {} if kwargs is None else kwargs
    inspect.signature(mod.forward).bind(*args, **kwargs)
    names = _argument_names(mod, args, kwargs)
    declaration = declared(dynamic_shapes, names, args, kwargs, mod)
    made, ranges = exported(mod, args, kwargs, declaration, kept)
    call = ModuleCallSignature([], [], made.in_spec, made.out_spec, names)
    return ExportedProgram(
        made.graph_module, made.graph, made.signature, state_of(mod), ranges,
        [ModuleCallEntry("", call), *_entries(mod, made.calls)], (args, kwargs), made.constants,
        verifiers=[TrainingIRVerifier],
    )  # fmt: skip


def draft_export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | list[Any] | None = None,
    preserve_module_call_signature: tuple[str, ...] = (),
    strict: bool = False,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """:func:`export`, which goes on with the example's values where the module depends on values,
    and changes `dynamic_shapes` where sizes cannot differ as they say.

    What was assumed is written to the log, and is in the program's attribute `_report`: each of
    its `failures` has a `failure_type` and `data`; ``successful()`` says whether there is none.
    The arguments are those of :func:`export`.

    ``DATA_DEPENDENT_ERROR`` is a choice by values (``if x.sum() > 0:``, ``while k.item() > 0:``),
    made as for the example, or a number that the program needs (``range(k.item())``), which stays
    the example's. The program asserts both. The data has the expression (``"expr"``), what it is
    for the example (``"result"``), the lines of the program (``"user_stack"``) and how often it was
    asked for there (``"occurrences"``). ``GUARD_ADDED`` is a change of `dynamic_shapes`: the data
    has what to give to :func:`export` instead (``"new_dynamic_shapes"``).

    Raises:
        Exception: what :func:`export` raises, where values and sizes are not why.

    Example:
        >>> import rushlight
        >>> class Shift(rushlight.nn.Module):
        ...     def forward(self, x, y):
        ...         return x + y[1:]
        >>> a, b = rushlight.export.Dim("a"), rushlight.export.Dim("b")
        >>> args = rushlight.ones(4), rushlight.ones(5)
        >>> program = rushlight.export.draft_export(Shift(), args, dynamic_shapes=({0: a}, {0: b}))
        >>> [failure.data["expr"] for failure in program._report.failures]
        ['b = a + 1']
        >>> class Choose(rushlight.nn.Module):
        ...     def forward(self, x, k):
        ...         return x + 1 if k.item() > 3 else x - 1
        >>> args = rushlight.ones(4), rushlight.tensor(5)
        >>> (failure,) = rushlight.export.draft_export(Choose(), args)._report.failures
        >>> print(failure.failure_type, failure.data["expr"], failure.data["result"])
        DATA_DEPENDENT_ERROR u0 > 3 True
    """
    shapes = dynamic_shapes
    if isinstance(shapes, ShapesCollection | AdditionalInputs):
        shapes = shapes.dynamic_shapes(mod, args, kwargs)
    options: dict[str, Any] = {
        "strict": strict,
        "preserve_module_call_signature": preserve_module_call_signature,
        "prefer_deferred_runtime_asserts_over_guards": prefer_deferred_runtime_asserts_over_guards,
    }
    return Drafting(
        lambda said: export(mod, args, kwargs, dynamic_shapes=said, **options),
        shapes,
        lambda pins: observed(mod, args, kwargs, pins),
    ).program()


def register_dataclass(cls: type[Any], *, serialized_type_name: str | None = None) -> None:
    """Let programs take and give objects of a dataclass: tensors and numbers in its fields are
    inputs and outputs of the graph, fields that are None belong to the structure.

    In `dynamic_shapes` a list with an entry for each field that is not None stands beside such an
    object.

    Args:
        cls: the dataclass.
        serialized_type_name: the name of the class in archives, by which :func:`load` finds it,
            here and in PyTorch; without it such programs cannot be saved.

    Raises:
        ValueError: `cls` is no dataclass, or is registered already.

    Example:
        >>> import dataclasses, rushlight
        >>> @dataclasses.dataclass
        ... class Scaled:
        ...     x: rushlight.Tensor
        ...     factor: int = 2
        >>> rushlight.export.register_dataclass(Scaled)
        >>> class Scale(rushlight.nn.Module):
        ...     def forward(self, given):
        ...         return Scaled(given.x * given.factor)
        >>> program = rushlight.export.export(Scale(), (Scaled(rushlight.ones(2)),))
        >>> program.module()(Scaled(rushlight.tensor([1.0, 3.0])))
        Scaled(x=tensor([2., 6.]), factor=2)
    """
    pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)


def _submodule_names(module, names):
    """The argument `preserve_module_call_signature`, checked."""
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
        raise TypeError(
            "export(): argument 'preserve_module_call_signature' must be a tuple of names of "
            f"submodules, not {names!r}"
        )
    for name in names:
        module.get_submodule(name)
    return tuple(names)


def _entries(module, calls):
    """The submodules, and further calls of those whose signatures are kept."""
    names = [name for name, _ in module.named_modules(remove_duplicate=False) if name]
    return [ModuleCallEntry(n, calls.get(n)) for n in dict.fromkeys((*names, *calls))]


def _argument_names(module, args, kwargs):
    return [name for name, _ in _positional(module.forward, args)] + list(kwargs)


__getattr__ = refusals.rest_of(__name__, "dynamic_shapes passes")
