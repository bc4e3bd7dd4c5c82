"""Weights of +1 and -1: functions with gradients of their own, checked where they have one."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import gradcheck
from torch.autograd.function import Function, once_differentiable


class BinarizeSTE(Function):
    """sign forward, a clipped identity backward"""

    @staticmethod
    def forward(x):
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.masked_fill(x.abs() > 1, 0)


class ScaledLinear(Function):
    """x w^T with one scale per output, all three gradients written out"""

    @staticmethod
    def forward(ctx, x, w, scale):
        ctx.save_for_backward(x, w, scale)
        return (x @ w.t()) * scale

    @staticmethod
    def backward(ctx, grad):
        x, w, scale = ctx.saved_tensors
        gx = gw = gs = None
        if ctx.needs_input_grad[0]:
            gx = (grad * scale) @ w
        if ctx.needs_input_grad[1]:
            gw = (grad * scale).t() @ x
        if ctx.needs_input_grad[2]:
            gs = (grad * (x @ w.t())).sum(0)
        return gx, gw, gs


class BinaryLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in))
        self.scale = nn.Parameter(torch.full((n_out,), n_in**-0.5))
        nn.init.uniform_(self.weight, -0.3, 0.3)

    def forward(self, x):
        return ScaledLinear.apply(x, BinarizeSTE.apply(self.weight), self.scale)

    def extra_repr(self):
        return f"{self.weight.shape[1]}, {self.weight.shape[0]}, bits=1"


torch.manual_seed(16)
doubles = [torch.randn(s, dtype=torch.double, requires_grad=True) for s in ((4, 3), (5, 3), (5,))]
print("gradcheck", gradcheck(ScaledLinear.apply, tuple(doubles), eps=1e-6, atol=1e-4))
patterns = torch.randint(0, 2, (6, 30)).float() * 2 - 1
label = torch.randint(6, (480,))
flips = torch.rand(480, 30) < 0.15
images = torch.where(flips, -patterns[label], patterns[label])
net = nn.Sequential(
    BinaryLinear(30, 48), nn.BatchNorm1d(48), nn.Hardtanh(),
    BinaryLinear(48, 48), nn.BatchNorm1d(48), nn.Hardtanh(), BinaryLinear(48, 6),
)  # fmt: skip
print(net)
optimizer = torch.optim.RAdam(net.parameters(), lr=2e-2)
for step in range(150):
    idx = torch.randint(0, 400, (50,))
    loss = F.multi_margin_loss(net(images[idx]), label[idx], margin=1.5)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for m in net:
            if isinstance(m, BinaryLinear):
                m.weight.clamp_(-1, 1)
    if step < 30:
        print(f"loss {step} {loss.item():.8f}")
net.eval()
accuracy = (net(images[400:]).argmax(1) == label[400:]).float().mean().item()
bits = {float(v) for v in BinarizeSTE.apply(net[0].weight).detach().flatten()}
# Within a rounding of zero a weight is as near to +1 as to -1, so that late steps may differ.
print(f"quality learned {accuracy > 0.88} values {sorted(bits)}")
