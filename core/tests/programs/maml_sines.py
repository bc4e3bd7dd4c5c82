"""Meta-learning sine waves: gradients through one inner step of gradient descent."""

import math
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F


class Regressor(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.net = nn.Sequential(
            OrderedDict(
                [
                    ("l1", nn.Linear(1, hidden)),
                    ("a1", nn.Tanh()),
                    ("l2", nn.Linear(hidden, hidden)),
                    ("a2", nn.Softplus()),
                    ("l3", nn.Linear(hidden, 1)),
                ]
            )
        )

    def forward(self, x, params=None):
        if params is None:
            return self.net(x)
        x = torch.tanh(F.linear(x, params["net.l1.weight"], params["net.l1.bias"]))
        x = F.softplus(F.linear(x, params["net.l2.weight"], params["net.l2.bias"]))
        return F.linear(x, params["net.l3.weight"], params["net.l3.bias"])


def task(points=10):
    amplitude, phase = 0.1 + 4.9 * torch.rand(1), math.pi * torch.rand(1)
    x = torch.empty(2 * points, 1).uniform_(-5, 5)
    y = amplitude * torch.sin(x + phase)
    return x[:points], y[:points], x[points:], y[points:]


torch.manual_seed(5)
model = Regressor()
meta = torch.optim.Adam(model.parameters(), lr=1e-3)
for iteration in range(25):
    outer = 0.0
    for _ in range(4):
        xs, ys, xq, yq = task()
        names, values = zip(*model.named_parameters())
        inner = F.mse_loss(model(xs), ys)
        grads = torch.autograd.grad(inner, values, create_graph=True)
        fast = {n: p - 0.01 * g for n, p, g in zip(names, values, grads)}
        outer = outer + F.mse_loss(model(xq, fast), yq) / 4
    meta.zero_grad()
    outer.backward()
    meta.step()
    print(f"loss {iteration} {outer.item():.7f}")
print(f"quality grad_norm {torch.cat([p.grad.flatten() for p in model.parameters()]).norm():.4f}")
