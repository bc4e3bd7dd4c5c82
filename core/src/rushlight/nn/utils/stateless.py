"""Calls of a module with other parameters and buffers than its own."""

from __future__ import annotations

import contextlib
import warnings

from rushlight.tensor.tensor import Tensor


def _tied(module):
    """Every name of a tensor that has several."""
    names = {}
    for get in (module.named_parameters, module.named_buffers):
        for name, value in get(remove_duplicate=False):
            names.setdefault(id(value), []).append(name)
    return {name: group for group in names.values() for name in group}


def _expanded(module, tensors, tie_weights, strict):
    """The replacements under all names they go by."""
    groups, found = _tied(module), {}
    for name, value in tensors.items():
        for other in groups.get(name, [name]) if tie_weights else [name]:
            if other in tensors and tensors[other] is not value:
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted(groups[name])}, which "
                    "are tied. Consider using tie_weights=False"
                )
            found[other] = value
    if strict:
        unknown = [name for name in found if name not in groups]
        missing = [name for name in groups if name not in found]
        if unknown or missing:
            raise RuntimeError(
                "Error(s) in reparametrizing for functional_call: unexpected key(s) "
                f"{unknown}, missing key(s) {missing}"
            )
    return found


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False):
    """Other tensors in place of the module's own, for the time of the context."""
    replaced = []
    try:
        for name, value in _expanded(module, parameters_and_buffers, tie_weights, strict).items():
            path, _, leaf = name.rpartition(".")
            owner = module.get_submodule(path)
            table = next((t for t in (owner._parameters, owner._buffers) if leaf in t), None)
            if table is None:
                raise KeyError(f"{name} is not a parameter or buffer of the module")
            replaced.append((table, leaf, table[leaf]))
            table[leaf] = value
        yield
    finally:
        for table, leaf, value in reversed(replaced):
            table[leaf] = value


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """``module(*args, **kwargs)`` with the given tensors (a dict by name) in place of its own; the
    former name of :func:`rushlight.func.functional_call`."""
    warnings.warn(
        "`rushlight.nn.utils.stateless.functional_call` is deprecated. Please use "
        "`rushlight.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    args = () if args is None else args
    args = args if isinstance(args, tuple) else (args,)
    return called(module, parameters_and_buffers, args, kwargs, tie_weights, strict)


def called(module, parameters_and_buffers, args, kwargs=None, tie_weights=True, strict=False):
    """``module(*args, **kwargs)`` with the given tensors."""
    for name, value in parameters_and_buffers.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"functional_call: {name} is {type(value).__name__}, not a Tensor")
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **(kwargs or {}))
