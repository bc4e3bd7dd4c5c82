"""A variational autoencoder over binary images of bars and stripes."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn import Linear, Module, ReLU, Sequential


def bars_and_stripes(count, side=6):
    rows = torch.bernoulli(torch.full((count, side, 1), 0.5)).expand(count, side, side)
    columns = torch.bernoulli(torch.full((count, 1, side), 0.5)).expand(count, side, side)
    choose = torch.rand(count, 1, 1) < 0.5
    return torch.where(choose, rows, columns).reshape(count, -1)


class VAE(Module):
    def __init__(self, pixels=36, hidden=64, latent=6):
        super().__init__()
        self.body = Sequential(Linear(pixels, hidden), ReLU())
        self.mu = Linear(hidden, latent)
        self.logvar = Linear(hidden, latent)
        self.dec = Sequential(Linear(latent, hidden), nn.SiLU(), Linear(hidden, pixels))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def forward(self, x):
        self.seen += x.shape[0]
        h = self.body(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(logits, x, mu, logvar):
    bce = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + kld) / x.size(0)


if __name__ == "__main__":
    torch.manual_seed(11)
    data = bars_and_stripes(1024)
    model = VAE()
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.95)
    step = 0
    for epoch in range(4):
        for index in torch.randperm(len(data)).split(64):
            x = data[index]
            loss = loss_function(*((lambda o: (o[0], x, o[1], o[2]))(model(x))))
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step < 30:
                print(f"loss {step} {loss.item():.7f}")
            step += 1
    assert model.seen.item() == 4096
    sample = torch.sigmoid(model.dec(torch.randn(8, 6)))
    print(f"quality sample_mean {sample.mean().item():.4f}")
