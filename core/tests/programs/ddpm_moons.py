"""Denoising diffusion in two dimensions: noise schedule, time embedding, ancestral sampling."""

import math

import torch
from torch import nn

T = 40


def moons(n):
    t = math.pi * torch.rand(n)
    side = torch.bernoulli(0.5 * torch.ones(n))
    x = torch.cos(t) * (1 - 2 * side) + side - 0.5
    y = torch.sin(t) * (1 - 2 * side) + 0.5 * side - 0.25
    return torch.stack([x, y], -1) + 0.05 * torch.randn(n, 2)


class SinusoidalEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("freq", torch.logspace(0, -3, dim // 2))

    def forward(self, t):
        a = t[:, None].float() * self.freq[None]
        return torch.cat((a.sin(), a.cos()), dim=-1)


class Denoiser(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.time = nn.Sequential(SinusoidalEmbedding(16), nn.Linear(16, width), nn.Mish())
        self.inp, self.out = nn.Linear(2, width), nn.Linear(width, 2)
        self.mid = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.norm = nn.RMSNorm(width)
        nn.init.zeros_(self.out.weight)

    def forward(self, x, t):
        h = self.inp(x) + self.time(t)
        for layer in self.mid:
            h = h + nn.functional.silu(layer(self.norm(h)))
        return self.out(h)


betas = torch.linspace(1e-3, 0.15, T)
alphas = 1.0 - betas
alpha_bar = torch.cumprod(alphas, dim=0)
torch.manual_seed(64)
model = Denoiser()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, amsgrad=True)
for step in range(60):
    x0, t = moons(128), torch.randint(0, T, (128,))
    eps = torch.randn_like(x0)
    ab = alpha_bar[t].unsqueeze(-1)
    xt = ab.sqrt() * x0 + (1 - ab).sqrt() * eps
    loss = (model(xt, t) - eps).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step < 30:
        print(f"loss {step} {loss.item():.8f}")

with torch.no_grad():
    x = torch.randn(200, 2)
    for t in reversed(range(T)):
        e = model(x, torch.full((200,), t))
        x = (x - betas[t] / (1 - alpha_bar[t]).sqrt() * e) / alphas[t].sqrt()
        if t > 0:
            x += betas[t].sqrt() * torch.randn_like(x)
print(f"quality std {x.std().item():.3f}")
