"""Forecast a noisy series with causal convolutions, a custom optimizer, then prune and fine-tune."""

import torch
import torch.nn as nn
import torch.nn.utils.prune as prune
from torch.nn.utils.parametrizations import weight_norm
from torch.optim.optimizer import Optimizer


class Lion(Optimizer):
    """Signs of an interpolated momentum."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        if lr <= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                m = state["exp_avg"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(torch.sign(m * b1 + p.grad * (1 - b1)), alpha=-group["lr"])
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


class CausalConv(nn.Module):
    def __init__(self, cin, cout, dilation):
        super().__init__()
        self.pad = nn.ConstantPad1d((2 * dilation, 0), 0.0)
        self.conv = weight_norm(nn.Conv1d(cin, cout, 3, dilation=dilation))

    def forward(self, x):
        return torch.relu(self.conv(self.pad(x)))


class Forecaster(nn.Sequential):
    def __init__(self, width=12):
        super().__init__(
            CausalConv(1, width, 1), CausalConv(width, width, 2), CausalConv(width, width, 4)
        )
        self.add_module("head", nn.Conv1d(width, 1, 1))


torch.manual_seed(61)
t = torch.arange(600.0)
series = torch.sin(t / 9) + 0.5 * torch.sin(t / 23 + 1) + 0.1 * torch.randn(600)
windows = series.unfold(0, 41, 4).unsqueeze(1)
model = Forecaster()
optimizer = Lion(model.parameters(), lr=3e-3, weight_decay=0.01)


def train(steps, first):
    for step in range(first, first + steps):
        w = windows[torch.randint(len(windows), (16,))]
        loss = nn.functional.l1_loss(model(w[..., :-1]), w[..., 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss {step} {loss.item():.8f}")
    return loss.item()


before = train(25, 0)
prune.l1_unstructured(model.head, name="weight", amount=0.5)
print("pruned", int((model.head.weight == 0).sum()), [n for n, _ in model.head.named_buffers()])
optimizer = Lion(model.parameters(), lr=1e-3)
after = train(10, 25)
prune.remove(model.head, "weight")
print(sorted(model.state_dict())[:4])
print(f"quality before {before:.3f} after {after:.3f}")
