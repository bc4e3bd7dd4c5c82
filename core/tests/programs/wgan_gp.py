"""A Wasserstein GAN with gradient penalty on a mixture of four Gaussians."""

import torch
from torch import autograd, nn


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, width))

    def forward(self, x):
        return x + self.f(x)


def net(inputs, outputs, width=24):
    return nn.Sequential(
        nn.Linear(inputs, width), Residual(width), nn.Tanh(), nn.Linear(width, outputs)
    )


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1).expand_as(real)
    mixed = autograd.Variable(alpha * real + (1 - alpha) * fake, requires_grad=True)
    score = critic(mixed)
    gradients = autograd.grad(
        outputs=score,
        inputs=mixed,
        grad_outputs=torch.ones(score.size()),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * 10


def real_points(n):
    centers = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    return centers[torch.randint(0, 4, (n,))] + 0.1 * torch.randn(n, 2)


torch.manual_seed(77)
G, D = net(3, 2), net(2, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.9))
i = 0
for iteration in range(15):
    for p in D.parameters():
        p.requires_grad_(True)
    for _ in range(3):
        real, fake = real_points(32), G(torch.randn(32, 3)).detach()
        D.zero_grad()
        cost = D(fake).mean() - D(real).mean() + gradient_penalty(D, real.data, fake.data)
        cost.backward()
        opt_d.step()
        print(f"loss {i} {cost.item():.7f}")
        i += 1
    for p in D.parameters():
        p.requires_grad_(False)
    G.zero_grad()
    (-D(G(torch.randn(32, 3))).mean()).backward()
    opt_g.step()
print(f"quality spread {G(torch.randn(500, 3)).std().item():.3f}")
