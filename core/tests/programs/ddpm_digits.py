"""Denoising diffusion draws digits: a small U-Net with time embeddings, cosine schedule, EMA, DDIM."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

FONT = """
.##. ..#. .##. ###. #..# #### .##. #### .##. .##.
#..# .##. #..# ...# #..# #... #... ...# #..# #..#
#..# ..#. ...# .##. #### ###. ###. ..#. .##. .###
#..# ..#. .##. ...# ...# ...# #..# .#.. #..# ...#
.##. .### #### ###. ...# ###. .##. .#.. .##. .##.
"""


def glyphs():
    rows = [line.split() for line in FONT.strip().splitlines()]
    return torch.tensor([[[c == "#" for c in row[k]] for row in rows] for k in range(10)]).float()


def digits(n):
    which = torch.randint(10, (n,))
    images = torch.zeros(n, 1, 8, 8)
    for i, k in enumerate(which.tolist()):
        r, c = torch.randint(0, 4, (1,)).item(), torch.randint(1, 4, (1,)).item()
        images[i, 0, r : r + 5, c : c + 4] = GLYPHS[k]
    return (images + 0.05 * torch.randn_like(images)) * 2 - 1, which


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        freq = torch.exp(torch.arange(half) * -(math.log(1000) / (half - 1)))
        angle = t[:, None] * freq[None, :]
        return torch.cat((angle.sin(), angle.cos()), dim=-1)


class Block(nn.Module):
    def __init__(self, cin, cout, time_dim):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.norm = nn.GroupNorm(4, cout)
        self.time = nn.Linear(time_dim, 2 * cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, t):
        scale, shift = self.time(t)[:, :, None, None].chunk(2, dim=1)
        h = F.silu(self.norm(self.conv1(x)) * (1 + scale) + shift)
        return self.conv2(h) + self.skip(x)


class UNet(nn.Module):
    def __init__(self, width=16, time_dim=32):
        super().__init__()
        self.time = nn.Sequential(
            SinusoidalPosEmb(time_dim), nn.Linear(time_dim, time_dim), nn.SiLU()
        )
        self.down1, self.down2 = Block(1, width, time_dim), Block(width, 2 * width, time_dim)
        self.mid = Block(2 * width, 2 * width, time_dim)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.up1 = Block(2 * width, width, time_dim)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x, t):
        t = self.time(t.float())
        a = self.down1(x, t)
        b = self.mid(self.down2(F.max_pool2d(a, 2), t), t)
        return self.out(self.up1(torch.cat([self.up(b), a], dim=1), t))


T = 100
GLYPHS = glyphs()
u = torch.linspace(0, 1, T + 1, dtype=torch.float64)
alpha_bar = torch.cos((u + 0.008) / 1.008 * math.pi / 2) ** 2
alpha_bar = (alpha_bar / alpha_bar[0]).clamp(1e-4, 0.9999).float()[1:]


def q_sample(x0, t, noise):
    a = alpha_bar[t].view(-1, 1, 1, 1)
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


@torch.no_grad()
def ddim(model, n, steps=10):
    x = torch.randn(n, 1, 8, 8)
    times = torch.linspace(T - 1, 0, steps + 1).round().long()
    for now, then in zip(times[:-1], times[1:]):
        eps = model(x, now.expand(n))
        a, b = alpha_bar[now], alpha_bar[then]
        x0 = ((x - (1 - a).sqrt() * eps) / a.sqrt()).clamp(-1, 1)
        x = b.sqrt() * x0 + (1 - b).sqrt() * eps
    return x


torch.manual_seed(29)
model = UNet()
ema = copy.deepcopy(model).eval().requires_grad_(False)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(80):
    x0, _ = digits(32)
    t = torch.randint(0, T, (32,))
    noise = torch.randn_like(x0)
    loss = F.mse_loss(model(q_sample(x0, t, noise), t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(ema.parameters(), model.parameters()):
            slow.lerp_(fast, 0.1)
    if step < 30:
        print(f"loss {step} {loss.item():.8f}")
drawn = ddim(ema, 12)
print(f"quality loss {loss.item():.2f} ink {(drawn > 0).float().mean().item():.2f}")
