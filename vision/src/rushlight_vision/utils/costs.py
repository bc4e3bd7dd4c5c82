"""What a network costs: operations, parameters, memory."""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.utils.flop_counter import FlopCounterMode


def model_costs(model: nn.Module, *inputs: Any) -> dict[str, int]:
    """What one pass of a model with some inputs costs.

    A dict: "flops" (a product and a sum are two), "macs" (half of that), "parameters",
    "parameter_bytes", "buffer_bytes", "activation_bytes" (of the results of modules without
    children: what training keeps, about). The pass is done, without gradients.

    >>> model_costs(nn.Linear(3, 4), rl.ones(2, 3))["flops"]
    48

    """
    sizes: list[int] = []

    def note(module: Any, given: Any, result: Any) -> None:
        if isinstance(result, rl.Tensor):
            sizes.append(result.numel() * result.element_size())

    handles = [
        module.register_forward_hook(note)
        for module in model.modules()
        if not any(True for _ in module.children())
    ]
    try:
        with rl.no_grad(), FlopCounterMode(display=False) as counter:
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    parameters, buffers = list(model.parameters()), list(model.buffers())
    flops = counter.get_total_flops()
    return {
        "flops": flops,
        "macs": flops // 2,
        "parameters": sum(math.prod(p.shape) for p in parameters),
        "parameter_bytes": sum(p.numel() * p.element_size() for p in parameters),
        "buffer_bytes": sum(b.numel() * b.element_size() for b in buffers),
        "activation_bytes": sum(sizes),
    }
