"""A mixture density network fits a relation with several answers; samples by Gumbel noise."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable


class MDN(nn.Module):
    def __init__(self, n_hidden, n_gaussians):
        super(MDN, self).__init__()
        self.z_h = nn.Sequential(nn.Linear(1, n_hidden), nn.Tanh())
        self.z_pi, self.z_mu, self.z_sigma = (nn.Linear(n_hidden, n_gaussians) for _ in range(3))

    def forward(self, x):
        z_h = self.z_h(x)
        return (
            F.log_softmax(self.z_pi(z_h), -1),
            torch.exp(self.z_sigma(z_h)).clamp_min(1e-3),
            self.z_mu(z_h),
        )


def mdn_loss(y, log_pi, sigma, mu):
    m = torch.distributions.Normal(loc=mu, scale=sigma)
    by_hand = (
        -(((y.expand_as(mu) - mu) * torch.reciprocal(sigma)) ** 2) * 0.5
        - torch.log(sigma)
        - 0.5 * math.log(2 * math.pi)
    )
    assert torch.allclose(m.log_prob(y), by_hand, atol=1e-3, rtol=1e-3)
    return -torch.logsumexp(log_pi + m.log_prob(y), dim=1).mean()


torch.manual_seed(4)
n = 300
y = torch.linspace(-6, 6, n)
x = 4 * torch.sin(0.75 * y) + y * 0.5 + torch.randn(n) * 0.3
x, y = Variable(x.view(-1, 1)), Variable(y.view(-1, 1), requires_grad=False)
network = MDN(n_hidden=16, n_gaussians=4)
optimizer = torch.optim.RMSprop(network.parameters(), lr=5e-3)
losses = []
for epoch in range(150):
    loss = mdn_loss(y, *network(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.data.item())
with torch.no_grad():
    log_pi, sigma, mu = network(x[::30])
    gumbel = -torch.log(-torch.log(torch.rand_like(log_pi)))
    k = (log_pi + gumbel).argmax(1, keepdim=True)
    sample = mu.gather(1, k) + sigma.gather(1, k) * torch.randn(k.shape)
print("first = %.6g" % losses[0])
print("tenth = %.6g" % losses[9])
print("last = %.6g" % losses[-1])
print("weights = %.6g" % log_pi.exp().sum().item())
print("finite = %d" % sample.isfinite().all())
