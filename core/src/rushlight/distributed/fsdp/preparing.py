"""What FullyShardedDataParallel does to a module before it is divided."""

from __future__ import annotations

import functools

from rushlight.distributed.fsdp.module import cast
from rushlight.dtypes import float32
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor


def refuse_what_is_not_there(cpu_offload, precision, module) -> None:
    """Raise NotImplementedError for settings that are not available."""
    if getattr(precision, "keep_low_precision_grads", False):
        raise NotImplementedError(
            "FullyShardedDataParallel: MixedPrecision(keep_low_precision_grads=True) is not "
            "available; gradients have the parameters' dtype"
        )
    if getattr(cpu_offload, "offload_params", False):
        if any(p.device.type == "cuda" for p in module.parameters()):
            raise NotImplementedError(
                "FullyShardedDataParallel: CPUOffload(offload_params=True) of parameters on a GPU "
                "is not available; leave it out"
            )


def ignored_of(modules, states) -> tuple[set, set]:
    """(modules, parameters) that stay whole."""
    if modules is not None and states is not None:
        raise ValueError("Cannot pass both ignored_modules and ignored_states at the same time")
    found, parameters = set(), set()
    for each in (*(modules or ()), *(states or ())):
        if isinstance(each, Module):
            found.update(each.modules())
            parameters.update(each.parameters())
        elif isinstance(each, Tensor) and modules is None:
            parameters.add(each)
        else:
            raise TypeError(
                "FullyShardedDataParallel: ignored_modules and ignored_states hold modules (or, "
                f"the latter, parameters), got {type(each).__name__}"
            )
    return found, parameters


def ready_module(module, param_init_fn, device_id, unit) -> None:
    """Give parameters on meta memory, and move the module to a device; units inside have that."""
    inside = {m for each in module.modules() if isinstance(each, unit) for m in each.modules()}
    for each in module.modules():
        if each in inside or not any(
            p is not None and p.is_meta for p in each._parameters.values()
        ):
            continue
        if param_init_fn is not None:
            param_init_fn(each)
            continue
        each.to_empty(device=device_id or "cpu", recurse=False)
        if not hasattr(each, "reset_parameters"):
            raise ValueError(
                f"FullyShardedDataParallel: {type(each).__name__} has parameters on meta and no "
                "reset_parameters(); pass param_init_fn"
            )
        each.reset_parameters()
    if device_id is not None and not inside:
        module.to(device_id)


def keep_precision(module, kinds, policy, parts):
    """Have modules of some classes compute in float32; the policy that makes units of them."""
    base, either, of_kinds = parts
    for each in module.modules():
        if isinstance(each, kinds):
            each.register_forward_pre_hook(_to_float32)
            each.register_forward_hook(_back)
    if not isinstance(policy, base):
        return functools.partial(either, policies=[policy, of_kinds])
    chosen = policy._run_policy

    def run(root, ignored, given):
        found = chosen(root, ignored, given)
        for each in root.modules():
            if isinstance(each, kinds) and each not in ignored:
                found.setdefault(each, dict(given))
        return found

    policy = type(policy).__new__(type(policy))
    policy.__dict__["_run_policy"] = run
    return policy


def _to_float32(module, args):
    floats = [a.dtype for a in args if isinstance(a, Tensor) and a.is_floating_point()]
    module._given_dtype = floats[0] if floats else None
    return cast(args, float32)


def _back(module, args, output):
    return output if module._given_dtype is None else cast(output, module._given_dtype)
