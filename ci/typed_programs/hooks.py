"""Hooks of modules and tensors."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight.utils.hooks import RemovableHandle

seen: dict[str, Tensor] = {}


def remember(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    seen[type(module).__name__] = output.detach()


def before(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    return None


def gradients(
    module: nn.Module,
    grad_input: tuple[Tensor, ...] | Tensor,
    grad_output: tuple[Tensor, ...] | Tensor,
) -> tuple[Tensor, ...] | None:
    return None


model = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
handles: list[RemovableHandle] = [
    model[0].register_forward_hook(remember),
    model.register_forward_pre_hook(before),
    model.register_full_backward_hook(gradients),
]
model(torch.ones(1, 2)).sum().backward()
for handle in handles:
    handle.remove()
x = torch.ones(2, requires_grad=True)
h = x.register_hook(lambda grad: grad.clamp(-1, 1))
h.remove()
y = (x * 2).relu()
y.retain_grad()
reveal_type(y.retains_grad)  # note: "bool"
reveal_type(seen["Linear"].mean(dim=0).tolist())  # note: "list[Any]"
reveal_type(x.register_post_accumulate_grad_hook(lambda p: None))  # note: "RemovableHandle"
nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
nn.utils.parameters_to_vector(model.parameters())
reveal_type(nn.utils.parameters_to_vector(model.parameters()))  # note: "Tensor"
with torch.autograd.graph.save_on_cpu():
    pass
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    pass
