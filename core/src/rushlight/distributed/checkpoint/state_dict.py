"""State dicts of models and optimizers whose names do not depend on how they are run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from rushlight.autograd.mode import no_grad
from rushlight.distributed.wrappers import clean_name
from rushlight.ops.creation.tensors import zeros_like
from rushlight.optim.optimizer import Optimizer

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip
_WRAPPER = "module."


@dataclass
class StateDictOptions:
    """How state dicts are made and taken over.

    ignore_frozen_params: leave parameters out that require no gradient.
    strict: as of ``Module.load_state_dict``.
    flatten_optimizer_state_dict: names such as ``state.layer.weight.exp_avg`` in one dictionary.
    full_state_dict: tensors that ranks share as whole ones, on every rank.
    The other options are of no consequence on the CPU.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _plain(model):
    """The model inside of DistributedDataParallel."""
    wrapped = type(model).__name__ in ("DistributedDataParallel", "DataParallel")
    return model.module if wrapped else model


def get_model_state_dict(model, *, submodules=None, options=None) -> dict:
    """The state dict of a model, as of the model itself where it is in DistributedDataParallel."""
    _refuse(submodules)
    options = options or StateDictOptions()
    model = _plain(model)
    with _parts_of_units(model):
        found = model.state_dict()
    if options.ignore_frozen_params:
        frozen = {clean_name(name) for name, p in model.named_parameters() if not p.requires_grad}
        found = {name: value for name, value in found.items() if name not in frozen}
    return _full(found) if options.full_state_dict else found


@contextlib.contextmanager
def _parts_of_units(model):
    """Have units of FullyShardedDataParallel give parts inside."""
    units = [module for module in model.modules() if hasattr(type(module), "set_state_dict_type")]
    before = [unit._state_settings for unit in units]
    try:
        for unit in units:
            unit._state_settings = unit.settings_of_parts()
        yield
    finally:
        for unit, settings in zip(units, before, strict=True):
            unit._state_settings = settings


def _full(value):
    """Entries with tensors that ranks share made whole; all ranks call it."""
    if isinstance(value, dict):
        return {key: _full(each) for key, each in value.items()}
    return value.full_tensor() if hasattr(value, "full_tensor") else value


def _refuse(submodules):
    if submodules is not None:
        raise NotImplementedError("submodules is not available; call this for each of them")


def set_model_state_dict(model, model_state_dict, *, options=None):
    """Load what :func:`get_model_state_dict` gave."""
    options = options or StateDictOptions()
    return _plain(model).load_state_dict(model_state_dict, strict=options.strict)


def _names(model):
    return {id(p): clean_name(name) for name, p in _plain(model).named_parameters()}


def _listed(optimizers):
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _begin(optimizer):
    """Let an optimizer that has not stepped make its state, by a step that changes nothing."""
    if optimizer.state:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if any(p.grad is not None for p in parameters):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    with no_grad():
        for parameter in parameters:
            if parameter.requires_grad:
                parameter.grad = zeros_like(parameter)
        for group in optimizer.param_groups:
            if "lr" in group:
                group["lr"] = 0.0
        optimizer.step(closure=None)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(model, optimizers, *, submodules=None, options=None) -> dict:
    """The state dicts of optimizers together, with parameters named instead of numbered."""
    _refuse(submodules)
    names = _names(model)
    found: dict = {"state": {}, "param_groups": []}
    for optimizer in _listed(optimizers):
        _begin(optimizer)
        for parameter, state in optimizer.state.items():
            found["state"][names[id(parameter)]] = dict(state)
        for group in optimizer.param_groups:
            entry = {name: value for name, value in group.items() if name != "params"}
            entry["params"] = [names[id(p)] for p in group["params"]]
            found["param_groups"].append(entry)
    options = options or StateDictOptions()
    if options.full_state_dict:
        found["state"] = _full(found["state"])
    return _flat(found) if options.flatten_optimizer_state_dict else found


def _flat(state_dict):
    found = {
        f"state.{name}.{key}": value
        for name, state in state_dict["state"].items()
        for key, value in state.items()
    }
    for group in state_dict["param_groups"]:
        for name in group["params"]:
            found.update(
                (f"param_groups.{name}.{key}", value)
                for key, value in group.items()
                if key != "params"
            )
    return found


def _of_parameter(state_dict, name):
    """(state, options) of one parameter in either form."""
    if "state" in state_dict and "param_groups" in state_dict:
        groups = [g for g in state_dict["param_groups"] if name in g["params"]]
        options = {k: v for k, v in groups[0].items() if k != "params"} if groups else {}
        return state_dict["state"].get(name, {}), options
    state, options = {}, {}
    for key, value in state_dict.items():
        for start, into in ((f"state.{name}.", state), (f"param_groups.{name}.", options)):
            if key.startswith(start) and "." not in key[len(start) :]:
                into[key[len(start) :]] = value
    return state, options


def set_optimizer_state_dict(model, optimizers, optim_state_dict, *, options=None) -> None:
    """Load what :func:`get_optimizer_state_dict` gave, in either form."""
    names = _names(model)
    for optimizer in _listed(optimizers):
        _begin(optimizer)
        shape = optimizer.state_dict()
        state, groups = {}, []
        for group, numbered in zip(optimizer.param_groups, shape["param_groups"], strict=True):
            entry = dict(numbered)
            for parameter, number in zip(group["params"], numbered["params"], strict=True):
                own, given = _of_parameter(optim_state_dict, names[id(parameter)])
                entry.update({k: v for k, v in given.items() if k != "params"})
                if own:
                    divided = getattr(parameter, "divided_alike", lambda value: value)
                    state[number] = {key: divided(value) for key, value in own.items()}
            groups.append(entry)
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def get_state_dict(model, optimizers, *, submodules=None, options=None) -> tuple[dict, dict]:
    """The state dicts of a model and of its optimizers."""
    of_model = get_model_state_dict(model, submodules=submodules, options=options)
    chosen = _listed(optimizers) if isinstance(optimizers, Iterable) else optimizers
    return of_model, get_optimizer_state_dict(model, chosen, options=options)


def set_state_dict(model, optimizers, *, model_state_dict, optim_state_dict, options=None):
    """Load the state dicts of a model and of its optimizers."""
    found = None
    if model_state_dict:
        found = set_model_state_dict(model, model_state_dict, options=options)
    if optim_state_dict:
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
