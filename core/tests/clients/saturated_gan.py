"""A DCGAN whose discriminator saturates: BCELoss sees probabilities of exactly 0 and 1."""

import torch
import torch.nn as nn


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.05)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


torch.manual_seed(999)
nz, ngf = 8, 8
netG = nn.Sequential(
    nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
    nn.BatchNorm2d(ngf * 2),
    nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
    nn.BatchNorm2d(ngf),
    nn.ReLU(True),
    nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
    nn.Tanh(),
)
netD = nn.Sequential(
    nn.Conv2d(1, ngf, 4, 2, 1, bias=False),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ngf, ngf * 2, 4, 2, 1, bias=False),
    nn.BatchNorm2d(ngf * 2),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ngf * 2, 1, 4, 1, 0, bias=False),
    nn.Sigmoid(),
)
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
real_label, fake_label = 1.0, 0.0
optD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
lossD, lossG = [], []
for i in range(15):
    netD.zero_grad()
    real = torch.ones(8, 1, 16, 16) * torch.linspace(-1, 1, 16) + 0.1 * torch.randn(8, 1, 16, 16)
    label = torch.full((8,), real_label, dtype=torch.float)
    output = netD(real).view(-1)
    errD_real = criterion(output, label)
    errD_real.backward()
    noise = torch.randn(8, nz, 1, 1)
    fake = netG(noise)
    label.fill_(fake_label)
    output = netD(fake.detach()).view(-1)
    errD_fake = criterion(output, label)
    errD_fake.backward()
    optD.step()
    netG.zero_grad()
    label.fill_(real_label)
    errG = criterion(netD(fake).view(-1), label)
    errG.backward()
    optG.step()
    lossD.append((errD_real + errD_fake).item())
    lossG.append(errG.item())
# a discriminator that is sure: the loss is cut off at 100, the gradient is finite
p = torch.tensor([0.0, 1.0, 0.0, 1.0, 0.5], requires_grad=True)
saturated = criterion(p, torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0]))
saturated.backward()
logits = torch.tensor([200.0, -200.0, 200.0, -200.0], requires_grad=True)
sure = criterion(torch.sigmoid(logits), torch.tensor([1.0, 0.0, 0.0, 1.0]))
sure.backward()
print("first = %.6g" % lossD[0])
print("last = %.6g" % lossD[-1])
print("generator = %.6g" % lossG[0])
print("saturated = %.6g" % saturated.item())
print("finite = %d" % torch.isfinite(p.grad).all())
print("gradient = %.6g" % p.grad[2].item())
print("sure = %.6g" % sure.item())
print("through_sigmoid = %.6g" % logits.grad.abs().sum().item())
