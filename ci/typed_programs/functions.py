"""Functions with gradients of one's own."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.autograd import Function, grad, gradcheck
from rushlight.autograd.function import FunctionCtx


class Exp(Function):
    """The exponential."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (result,) = ctx.saved_tensors
        return grad_output * result  # error: Returning Any from function declared to return "Tensor


class Scale(Function):
    """A product with a number."""

    @staticmethod
    def forward(x: Tensor, factor: float) -> Tensor:
        return x * factor

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.factor = inputs[1]
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * ctx.factor, None


x = torch.randn(3, dtype=torch.float64, requires_grad=True)
y = Exp.apply(x)
reveal_type(y)  # note: "Any"
reveal_type(gradcheck(lambda value: value.exp(), (x,)))  # note: "bool"
(g,) = grad(x.exp().sum(), x, create_graph=True)
reveal_type(g)  # note: "Tensor"
torch.autograd.backward(x.sum())
reveal_type(torch.autograd.functional.jacobian(torch.exp, x))  # note: "Any"
with torch.enable_grad(), torch.autograd.set_detect_anomaly(True):
    z = x * 2
reveal_type(z.grad_fn)  # note: "Node | None"
reveal_type(x.is_leaf)  # note: "bool"
reveal_type(x.grad)  # note: "Tensor | None"
with torch.set_grad_enabled(False):
    pass
with torch.inference_mode():
    pass


@torch.no_grad()
def init(weight: Tensor) -> None:
    weight.zero_()


@torch.inference_mode()
def predict(weight: Tensor) -> Tensor:
    return weight * 2


reveal_type(predict)  # note: "def (weight: Tensor) -> Tensor"
handle = x.register_hook(lambda value: value * 2)
handle.remove()
reveal_type(handle)  # note: "RemovableHandle"
reveal_type(FunctionCtx())  # note: "FunctionCtx"
reveal_type(torch.is_grad_enabled())  # note: "bool"
