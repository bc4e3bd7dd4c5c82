"""State dicts of optimizers over sharded parameters, which are called by their names."""

from __future__ import annotations

from rushlight.distributed import objects
from rushlight.distributed.fsdp.api import (
    FullOptimStateDictConfig,
    OptimStateKeyType,
    StateDictType,
)
from rushlight.distributed.groups import default_group
from rushlight.distributed.wrappers import clean_name
from rushlight.tensor.tensor import Tensor


def _clean_names(model):
    return {parameter: clean_name(name) for name, parameter in model.named_parameters()}


def optim_state_dict(model, optim, optim_state_dict=None, group=None) -> dict:
    """The state of an optimizer over a model's parameters, by their names: whole tensors, or parts
    (DTensors) under ``StateDictType.SHARDED_STATE_DICT``. All ranks call it.

    `optim_state_dict` is ``optim.state_dict()`` by default.
    """
    settings = model.get_state_dict_type(model) if hasattr(model, "get_state_dict_type") else None
    config = FullOptimStateDictConfig()
    whole = True
    if settings is not None:
        whole = settings.state_dict_type is StateDictType.FULL_STATE_DICT
        config = settings.optim_state_dict_config
    found = _named(model, optim, optim_state_dict)
    return _whole(found, config) if whole else _placed(found, config)


def _named(model, optim, given):
    names, numbered = _clean_names(model), given or optim.state_dict()
    found: dict = {"state": {}, "param_groups": []}
    for group, entry in zip(optim.param_groups, numbered["param_groups"], strict=True):
        called = [names[p] for p in group["params"]]
        for name, number in zip(called, entry["params"], strict=True):
            if number in numbered["state"]:
                found["state"][name] = dict(numbered["state"][number])
        found["param_groups"].append({**entry, "params": called})
    return found


def _whole(found, config):
    """The same with whole tensors; all ranks call it."""
    for state in found["state"].values():
        for key, value in state.items():
            if hasattr(value, "full_tensor"):
                state[key] = value.full_tensor()
    if config.rank0_only and default_group().rank() != 0:
        return {}
    return _placed(found, config)


def _placed(found, config):
    """The same in memory of the CPU where that is asked for."""
    if config.offload_to_cpu:
        for state in found["state"].values():
            for key, value in state.items():
                if isinstance(value, Tensor):
                    state[key] = value.cpu()
    return found


def optim_state_dict_to_load(
    model, optim, optim_state_dict, is_named_optimizer=False, load_directly=False, group=None
) -> dict:
    """What ``optim.load_state_dict`` takes, of what :func:`optim_state_dict` gave; with
    `load_directly` it is loaded."""
    names, shape = _clean_names(model), optim.state_dict()
    known = {name: g for g in optim_state_dict["param_groups"] for name in g["params"]}
    state, groups = {}, []
    for group_, entry in zip(optim.param_groups, shape["param_groups"], strict=True):
        called = [names[p] for p in group_["params"]]
        options: dict = next((known[name] for name in called if name in known), {})
        groups.append({**entry, **options, "params": entry["params"]})
        for parameter, name, number in zip(group_["params"], called, entry["params"], strict=True):
            if name in optim_state_dict["state"]:
                own = optim_state_dict["state"][name]
                divided = getattr(parameter, "divided_alike", lambda value: value)
                state[number] = {key: divided(value) for key, value in own.items()}
    found = {"state": state, "param_groups": groups}
    if load_directly:
        optim.load_state_dict(found)
    return found


def full_optim_state_dict(model, optim, optim_input=None, rank0_only=True, group=None) -> dict:
    """The state by names with whole tensors in memory of the CPU, on rank 0 alone unless
    `rank0_only` is False."""
    return _whole(_named(model, optim, None), FullOptimStateDictConfig(rank0_only=rank0_only))


def sharded_optim_state_dict(model, optim, group=None) -> dict:
    """The state by names with parts of tensors."""
    return _named(model, optim, None)


def _of(optim, function):
    if optim is None:
        raise NotImplementedError(f"{function}: without the optimizer; pass optim=")
    return optim


def shard_full_optim_state_dict(full_optim_state_dict, model, optim_input=None, optim=None) -> dict:
    """What ``optim.load_state_dict`` takes, of whole tensors that every rank has."""
    optim = _of(optim, "shard_full_optim_state_dict")
    return optim_state_dict_to_load(model, optim, full_optim_state_dict)


def scatter_full_optim_state_dict(
    full_optim_state_dict, model, optim_input=None, optim=None, group=None
) -> dict:
    """The same of whole tensors that rank 0 alone has; others pass None."""
    optim = _of(optim, "scatter_full_optim_state_dict")
    given = [full_optim_state_dict]
    objects.broadcast_object_list(given, src=0, group=group)
    return optim_state_dict_to_load(model, optim, given[0])


def rekey_optim_state_dict(
    optim_state_dict, optim_state_key_type, model, optim_input=None, optim=None
) -> dict:
    """The state with parameters called by their names (PARAM_NAME) or numbers (PARAM_ID)."""
    optim = _of(optim, "rekey_optim_state_dict")
    names = _clean_names(model)
    called = [names[p] for group in optim.param_groups for p in group["params"]]
    numbers = dict(enumerate(called))
    if optim_state_key_type is OptimStateKeyType.PARAM_ID:
        numbers = {name: number for number, name in numbers.items()}
    return {
        "state": {numbers.get(k, k): value for k, value in optim_state_dict["state"].items()},
        "param_groups": [
            {**group, "params": [numbers.get(p, p) for p in group["params"]]}
            for group in optim_state_dict["param_groups"]
        ],
    }
