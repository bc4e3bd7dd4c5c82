"""Modules as functions of their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushlight.nn.module import Module
from rushlight.ops.shape.joining import stack
from rushlight.tensor.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(
    module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: object = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights=True,
    strict=False,
) -> Any:
    """``module(*args, **kwargs)`` with other parameters and buffers, given by their names.

    `parameter_and_buffer_dicts` is a dict or a sequence of dicts; names they leave out keep the
    module's own tensors. With `tie_weights` a tensor that the module has under several names is
    replaced under all of them. With `strict` names missing or unknown are an error. A buffer
    that the module assigns to during the call is updated in the dict it came from.
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        tensors = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, (list, tuple)):
        tensors = _joined(parameter_and_buffer_dicts)
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    if not isinstance(module, Module):
        raise TypeError(f"functional_call: module must be a Module, not {type(module).__name__}")
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    places = _places(module, tensors, tie_weights, strict)
    kept = [(table, key, table[key]) for table, key, _ in places]
    try:
        for table, key, name in places:
            table[key] = tensors[name]
        return module(*args, **(kwargs or {}))
    finally:
        for (table, key, old), (_, _, name) in zip(kept, places, strict=True):
            if table.get(key) is not tensors[name] and isinstance(table.get(key), Tensor):
                tensors[name] = table[key]
            table[key] = old


def _joined(dicts):
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [n for d in dicts for n in d]
    twice = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else ()
    if twice:
        raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call "
                         "is ambiguous")  # fmt: skip
    return {n: v for d in dicts for n, v in d.items()}


def _tables(module):
    """``name -> (dict of tensors, key)`` for every parameter and buffer, shared ones included."""
    found = {}
    for prefix, part in module.named_modules(remove_duplicate=False):
        lead = prefix + "." if prefix else ""
        for table in (part._parameters, part._buffers):
            for key, value in table.items():
                if value is not None:
                    found[lead + key] = table, key
    return found


def _places(module, tensors, tie_weights, strict):
    tables = _tables(module)
    tied = {}
    if tie_weights:
        for name, (table, key) in tables.items():
            tied.setdefault(id(table[key]), []).append(name)
    places, given = [], set()
    for name in tensors:
        if name not in tables:
            if strict:
                raise RuntimeError(
                    f"Error(s) in reparametrizing for {type(module).__name__}:\n\tUnexpected "
                    f"key(s): '{name}'."
                )
            module.get_submodule(name.rpartition(".")[0])  # AttributeError where it is not there
            continue  # as PyTorch does
        table, key = tables[name]
        for other in tied.get(id(table[key]), [name]):
            if other == name or other not in tensors:
                places.append((*tables[other], name))
                given.add(other)
            elif tensors[other] is not tensors[name]:
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted((name, other))}, which "
                    "are tied. Consider using tie_weights=False"
                )
    if strict and set(tables) - given:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\tMissing key(s): "
            f"{', '.join(repr(n) for n in sorted(set(tables) - given))}."
        )
    return places


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """``(parameters, buffers)`` of modules of one architecture, each stacked along a new first
    dimension, for ``vmap`` over an ensemble."""
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = {
        name: _leaf(name, [dict(m.named_parameters())[name] for m in models])
        for name, _ in models[0].named_parameters()
    }
    buffers = {
        name: stack([dict(m.named_buffers())[name] for m in models])
        for name, _ in models[0].named_buffers()
    }
    return parameters, buffers


def _leaf(name, tensors):
    flags = {t.requires_grad for t in tensors}
    if len(flags) > 1:
        raise RuntimeError(
            f"Expected {name} parameters from each model to have the same .requires_grad"
        )
    return stack([t.detach() for t in tensors]).requires_grad_(flags.pop())


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let every batch normalization in a module use the batch's own statistics only, which `vmap`
    can run; returns the module."""
    from rushlight.nn.normalization import _BatchNorm

    for part in root.modules():
        if isinstance(part, _BatchNorm):
            part.running_mean = part.running_var = part.num_batches_tracked = None
            part.track_running_stats = False
    return root
