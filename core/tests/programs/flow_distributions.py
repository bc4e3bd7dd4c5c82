"""A normalising flow as a TransformedDistribution: transforms of our own, a mixture as its target."""

import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import constraints


class Planar(nn.Module):
    """x + u tanh(w x + b), invertible where w u >= -1; used from data to noise"""

    def __init__(self, dim):
        super().__init__()
        self.w = nn.Parameter(0.5 * torch.randn(dim))
        self.u = nn.Parameter(0.1 * torch.randn(dim))
        self.b = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        wu = self.w @ self.u
        u = self.u + (F.softplus(wu) - 1 - wu) * self.w / self.w.square().sum()
        h = torch.tanh(x @ self.w + self.b)
        det = 1 + (1 - h**2) * (self.w @ u)
        return x + u * h.unsqueeze(-1), det.abs().log()


class FlowTransform(D.Transform):
    """noise to data; only its inverse is known in closed form"""

    domain = constraints.real_vector
    codomain = constraints.real_vector
    bijective = True

    def __init__(self, layers):
        super().__init__(cache_size=1)
        self.layers = layers

    def _inverse(self, y):
        total = 0.0
        for layer in self.layers:
            y, log_det = layer(y)
            total = total + log_det
        self._log_det = -total
        return y

    def _call(self, x):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        return self._log_det


class Model(nn.Module):
    def __init__(self, dim=2, depth=6):
        super().__init__()
        self.flow = nn.ModuleList([Planar(dim) for _ in range(depth)])
        self.log_scale = nn.Parameter(torch.zeros(dim))
        self.shift = nn.Parameter(torch.zeros(dim))

    def distribution(self):
        base = D.Independent(D.Normal(torch.zeros(2), torch.ones(2)), 1)
        affine = D.AffineTransform(self.shift, self.log_scale.exp(), event_dim=1)
        return D.TransformedDistribution(base, [affine, FlowTransform(self.flow)])


torch.manual_seed(23)
centers = torch.tensor([[2.0, 0.0], [-2.0, 0.5], [0.0, 2.0]])
target = D.MixtureSameFamily(
    D.Categorical(probs=torch.tensor([0.4, 0.35, 0.25])),
    D.MultivariateNormal(centers, torch.eye(2).mul(0.3).expand(3, 2, 2)),
)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for step in range(60):
    x = target.sample((128,))
    loss = -model.distribution().log_prob(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step < 30:
        print(f"loss {step} {loss.item():.8f}")
x = target.sample((1000,))
with torch.no_grad():
    gap = (target.log_prob(x) - model.distribution().log_prob(x)).mean()
normal = D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(torch.tensor(0.5), torch.tensor(2.0)))
print(repr(model.distribution().base_dist), f"{normal.item():.6f}")
print(f"quality kl {gap.item():.2f}")
