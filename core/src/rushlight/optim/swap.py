"""Let an optimizer work on other parameters and another state for a while."""

from __future__ import annotations

import contextlib
from collections import defaultdict

from rushlight.tensor.tensor import Tensor


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(optimizer, swapin_parameters, swapin_optim_state):
    """Give an optimizer other parameters and state within a ``with`` block.

    `swapin_parameters` is a dict whose values replace the optimizer's parameters, in
    order; `swapin_optim_state` has the form of ``optimizer.state_dict()``. Steps inside change the
    given tensors in place; afterwards the optimizer has its own parameters, options and state
    again. Raises RuntimeError for what does not fit the optimizer.
    """
    if not optimizer.state:
        raise _wrong("an optimizer whose state is there already: take a step first")
    states, groups = _entries(optimizer, swapin_optim_state)
    parameters = list(swapin_parameters.values())
    sizes = [len(group["params"]) for group in groups]
    if len(parameters) < sum(sizes):
        raise _wrong(f"{sum(sizes)} parameters in the optimizer's order, got {len(parameters)}")
    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    state = defaultdict(dict)
    start = 0
    try:
        for group, given, size in zip(optimizer.param_groups, groups, sizes, strict=True):
            chosen = parameters[start : start + size]
            start += size
            for parameter, number in zip(chosen, given["params"], strict=True):
                state[parameter] = dict(states.get(number, {}))
            group.update(given)
            group["params"] = chosen
        optimizer.state = state
        yield
    finally:
        for group, own in zip(optimizer.param_groups, own_groups, strict=True):
            group.clear()
            group.update(own)
        optimizer.state = own_state


def _wrong(expected):
    return RuntimeError(f"swap_in_optimizer_params_and_state requires {expected}")


def _entries(optimizer, given):
    """The states by number and the groups of a state dict, both checked."""
    if not isinstance(given, dict):
        raise _wrong(f"a state dict, got {type(given).__name__}")
    states, groups = given.get("state"), given.get("param_groups")
    if not isinstance(states, dict) or any(isinstance(key, Tensor) for key in states):
        raise _wrong("swapin_optim_state['state'] to be a dict with numbers of parameters as keys")
    if any(isinstance(k, int) and not isinstance(v, dict) for k, v in states.items()):
        raise _wrong("the state of every parameter to be a dict")
    if not isinstance(groups, list) or len(groups) != len(optimizer.param_groups):
        raise _wrong(
            f"swapin_optim_state['param_groups'] to be a list of {len(optimizer.param_groups)} "
            "groups"
        )
    numbers = set()
    for i, (own, group) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        numbers.update(_numbers(i, own, group))
    extra = [key for key in states if key not in numbers]
    if extra:
        raise _wrong(f"states of parameters in the groups only, got extra keys {extra!r}")
    return states, groups


def _numbers(place, own, group):
    """The numbers of the parameters of a group that has the optimizer's entries."""
    numbers = group.get("params") if isinstance(group, dict) else None
    if not isinstance(numbers, list) or not all(isinstance(n, int) for n in numbers):
        raise _wrong(f"group {place} to be a dict with numbers of parameters as 'params'")
    if len(numbers) != len(own["params"]):
        raise _wrong(f"{len(own['params'])} parameters in group {place}, got {len(numbers)}")
    if own.keys() != group.keys():
        raise _wrong(
            f"group {place} to have the optimizer's options: only given "
            f"{sorted(group.keys() - own.keys())}, only in the optimizer "
            f"{sorted(own.keys() - group.keys())}"
        )
    return numbers
