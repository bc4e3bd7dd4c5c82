"""A generative adversarial network learns a ring of points."""

import torch
import torch.nn as nn
from torch.autograd import Function


class Swish(Function):
    """An activation with a gradient written by hand."""

    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad):
        x, s = ctx.saved_tensors
        return grad * (s + x * s * (1 - s))


class Activation(nn.Module):
    def forward(self, x):
        return Swish.apply(x)


def generator(z=4):
    return nn.Sequential(nn.Linear(z, 32), nn.BatchNorm1d(32), Activation(), nn.Linear(32, 2))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.utils.spectral_norm(nn.Linear(2, 32)),
            nn.LeakyReLU(0.2),
            nn.Dropout(0.2),
            nn.Linear(32, 32),
            nn.ELU(),
            nn.Linear(32, 1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.main(x).squeeze(-1)


def weights_init(m):
    if m.__class__.__name__.find("Linear") != -1 and not hasattr(m, "weight_orig"):
        nn.init.orthogonal_(m.weight)


def ring(n):
    angle = 6.2831853 * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


torch.manual_seed(999)
netG, netD = generator(), Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
optD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
for i in range(60):
    netD.zero_grad()
    errD_real = criterion(netD(ring(64)), torch.ones(64))
    errD_real.backward()
    fake = netG(torch.randn(64, 4))
    errD_fake = criterion(netD(fake.detach()), torch.zeros(64))
    errD_fake.backward()
    optD.step()
    netG.zero_grad()
    errG = criterion(netD(fake), torch.full((64,), 1.0))
    errG.backward()
    optG.step()
    if i < 25:
        print(f"loss {2 * i} {(errD_real + errD_fake).item():.7f}")
        print(f"loss {2 * i + 1} {errG.item():.7f}")
netG.eval()
radius = netG(torch.randn(256, 4)).detach().norm(dim=1)
print(f"quality radius {radius.mean().item():.3f}")
