"""A unit's parameters as one flat tensor, which ``StateDictType.LOCAL_STATE_DICT`` holds.

PyTorch keeps parameters in this form, here they are divided by rows: the flat tensor is made where
a state dict is, and is a copy.
"""

from __future__ import annotations

from typing import Any

from rushlight.autograd.mode import no_grad
from rushlight.distributed.tensor.dtensor import DTensor
from rushlight.distributed.tensor.placements import bounds
from rushlight.distributed.wrappers import clean_name
from rushlight.ops.shape.joining import cat

FLAT = "_flat_param"


def names_of(unit) -> list[list[str]]:
    """What each of a unit's own parameters is called in state dicts, one list a parameter."""
    paths: dict[Any, list] = {}
    inner = unit._fsdp_wrapped_module
    for path, module in inner.named_modules(remove_duplicate=False):
        paths.setdefault(module, []).append(path + "." if path else "")
    return [
        [clean_name(path + name) for owner, name in each.owners for path in paths[owner]]
        for each in unit._sharded.parameters
    ]


def flatten(unit, found, prefix) -> None:
    """Have a state dict hold this rank's part of the flat tensor instead of the unit's parameters;
    all ranks call it."""
    parameters = unit._sharded.parameters
    if not parameters:
        return
    layout = parameters[0].layout
    if layout.group is None:
        raise RuntimeError(
            "StateDictType.LOCAL_STATE_DICT is of parameters that are divided among ranks, not of "
            "ShardingStrategy.NO_SHARD; use FULL_STATE_DICT"
        )
    dtypes = sorted({str(each.dtype) for each in parameters})
    if len(dtypes) > 1:
        raise ValueError(
            "StateDictType.LOCAL_STATE_DICT: the parameters of a unit have one dtype, got "
            f"{dtypes}; use SHARDED_STATE_DICT"
        )
    for names in names_of(unit):
        for name in names:
            found.pop(prefix + name, None)
    with no_grad():
        whole = cat([each.shard.full_tensor().reshape(-1) for each in parameters])
    start, end = bounds(len(whole), layout.size, layout.rank)
    part = whole[start:end].clone()
    found[prefix + FLAT] = DTensor.over(part, layout.mesh, layout.placements, whole.shape)


def unflatten(unit, given, prefix) -> None:
    """Have a state dict that is being loaded hold the unit's parameters, whole, instead of their
    flat tensor; all ranks call it."""
    parameters = unit._sharded.parameters
    if not parameters:
        return
    key = prefix + FLAT
    if key not in given:
        raise RuntimeError(
            f"load_state_dict: {key!r} is missing, which StateDictType.LOCAL_STATE_DICT has"
        )
    flat = given.pop(key)
    lengths = [each.shard.numel() for each in parameters]
    if not isinstance(flat, DTensor) or tuple(flat.shape) != (sum(lengths),):
        shape = tuple(getattr(flat, "shape", ()))
        raise RuntimeError(
            f"load_state_dict: {key!r} is expected to be a DTensor of shape ({sum(lengths)},), "
            f"got {type(flat).__name__} of shape {shape}"
        )
    pieces = flat.full_tensor().split(lengths)
    for each, names, piece in zip(parameters, names_of(unit), pieces, strict=True):
        for name in names:
            given[prefix + name] = piece.reshape(each.shape)
