"""RealNVP: affine coupling layers map a banana-shaped density to a normal distribution."""

import math

import torch
import torch.nn as nn


class Coupling(nn.Module):
    def __init__(self, mask, hidden=24):
        super().__init__()
        self.register_buffer("mask", torch.tensor(mask))
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.CELU(), nn.Linear(hidden, 4))
        self.scale = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        s, t = self.net(x * self.mask).chunk(2, dim=-1)
        s = torch.tanh(s) * self.scale.exp() * (1 - self.mask)
        z = self.mask * x + (1 - self.mask) * (x * s.exp() + t)
        return z, s.sum(-1)

    def inverse(self, z):
        s, t = self.net(z * self.mask).chunk(2, dim=-1)
        s = torch.tanh(s) * self.scale.exp() * (1 - self.mask)
        return self.mask * z + (1 - self.mask) * (z - t) * torch.exp(-s)


class Flow(nn.Module):
    def __init__(self, depth=4):
        super().__init__()
        self.layers = nn.ModuleList(
            Coupling([float(i % 2), float(1 - i % 2)]) for i in range(depth)
        )

    def log_prob(self, x):
        total = torch.zeros(x.shape[0])
        for layer in self.layers:
            x, log_det = layer(x)
            total = total + log_det
        return total - 0.5 * x.pow(2).sum(-1) - math.log(2 * math.pi)

    @torch.no_grad()
    def sample(self, n):
        z = torch.randn(n, 2)
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z


torch.manual_seed(55)
flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3, fused=False)
for step in range(30):
    u = torch.randn(128, 2)
    x = torch.stack((u[:, 0], 0.5 * u[:, 0].square() + 0.3 * u[:, 1]), dim=1)
    loss = -flow.log_prob(x).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(flow.parameters(), 10.0, norm_type=float("inf"))
    optimizer.step()
    print(f"loss {step} {loss.item():.8f}")
y = flow.sample(300)
print(f"quality mean {y.mean().item():.3f} var {y.var(dim=0).sum().item():.3f}")
