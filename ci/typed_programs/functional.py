"""Transforms of functions."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

import rushlight as torch
from rushlight import Tensor, nn
from rushlight.func import functional_call, grad, grad_and_value, hessian, jacrev, jvp, vjp, vmap


def loss(weights: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
    out = functional_call(model, weights, (x,))
    return ((out - y) ** 2).mean()  # error: Returning Any from function declared to return "Tensor"


model = nn.Linear(2, 1)
weights = {name: p.detach() for name, p in model.named_parameters()}
per_sample = vmap(grad(loss), in_dims=(None, 0, 0))
gradients = per_sample(weights, torch.ones(3, 2), torch.ones(3, 1))
reveal_type(gradients)  # note: "Any"
reveal_type(vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3)))  # note: "Tensor"
reveal_type(jacrev(torch.sin))  # note: "def (*Any, **Any) -> Any"
reveal_type(hessian(lambda x: x.sum())(torch.ones(2)))  # note: "Any"
reveal_type(grad_and_value(loss))  # note: "def (*Any, **Any) -> Any"
output, pull = vjp(torch.sin, torch.ones(2))
reveal_type(jvp(torch.sin, (torch.ones(2),), (torch.ones(2),)))  # note: "tuple[Any, ...]"
stacked, buffers = torch.func.stack_module_state([model, model])
reveal_type(stacked)  # note: "dict[str, Any]"
