"""Meta-learning with function transforms: the inner step of all tasks at once by vmap and grad."""

import math

import torch
import torch.nn as nn
from torch.func import functional_call, grad, vmap


class Wave(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, 1),
        )  # fmt: skip

    def forward(self, x):
        return self.net(x)


def tasks(n, k=10):
    amplitude = torch.empty(n, 1, 1).uniform_(0.5, 3.0)
    phase = torch.empty(n, 1, 1).uniform_(0, math.pi)
    x = torch.empty(n, 2 * k, 1).uniform_(-5, 5)
    y = amplitude * torch.sin(x + phase)
    return x[:, :k], y[:, :k], x[:, k:], y[:, k:]


torch.manual_seed(18)
model = Wave()
params = dict(model.named_parameters())
optimizer = torch.optim.Adam(list(params.values()), lr=2e-3)


def task_loss(params, x, y):
    return torch.mean((functional_call(model, params, (x,)) - y) ** 2)


def adapt(params, x, y, steps=2, lr=0.02):
    for _ in range(steps):
        gradients = grad(task_loss)(params, x, y)
        params = {name: params[name] - lr * gradients[name] for name in params}
    return params


def meta_loss(params, xs, ys, xq, yq):
    return task_loss(adapt(params, xs, ys), xq, yq)


for iteration in range(30):
    batch = tasks(8)
    losses = vmap(meta_loss, in_dims=(None, 0, 0, 0, 0))(params, *batch)
    loss = losses.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {iteration} {loss.item():.7f}")
support_x, support_y, x, y = (t[0] for t in tasks(1, 20))
before = task_loss(params, x, y)
after = task_loss(adapt(params, support_x, support_y, steps=5), x, y)
print(f"quality before {before.item():.2f} after {after.item():.2f}")
