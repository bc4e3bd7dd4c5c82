"""Learn without labels: two noisy views of each sample attract, all others repel; a linear probe."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Augment(nn.Module):
    """random gain, shift along time, noise and a masked stretch"""

    def forward(self, x):
        n, length = x.shape[0], x.shape[-1]
        x = x * torch.empty(n, 1, 1).uniform_(0.7, 1.4)
        shift = int(torch.randint(-3, 4, (1,)))
        x = torch.roll(x, shift, dims=-1)
        start = torch.randint(0, length - 6, (n, 1, 1))
        position = torch.arange(length)
        x = x.masked_fill((position >= start) & (position < start + 6), 0.0)
        return x + 0.1 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, 16, 5, padding=2, padding_mode="circular"), nn.BatchNorm1d(16),
            nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, dim, 5, padding=2), nn.BatchNorm1d(dim), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        )  # fmt: skip
        self.project = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 16))

    def forward(self, x):
        h = self.body(x)
        return h, F.normalize(self.project(h), dim=1)


def nt_xent(z1, z2, temperature=0.3):
    z = torch.cat([z1, z2])
    similarity = z @ z.mT / temperature
    similarity.fill_diagonal_(float("-inf"))
    n = len(z1)
    return F.cross_entropy(similarity, torch.arange(2 * n).roll(n))


def signals(n):
    kind = torch.randint(0, 4, (n,))
    t = torch.linspace(0, 1, 48)
    phase = torch.rand(n, 1)
    f = 2.0 + 2.0 * kind.unsqueeze(1) + 0.2 * torch.randn(n, 1)
    return torch.sin(2 * torch.pi * (f * t + phase)).unsqueeze(1), kind


torch.manual_seed(19)
x, label = signals(400)
augment, encoder = Augment(), Encoder()
optimizer = torch.optim.NAdam(encoder.parameters(), lr=3e-3, momentum_decay=4e-3)
step = 0
for epoch in range(4):
    for idx in torch.randperm(300).split(50):
        z1, z2 = encoder(augment(x[idx]))[1], encoder(augment(x[idx]))[1]
        loss = nt_xent(z1, z2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss {step} {loss.item():.8f}")
        step += 1
encoder.eval()
with torch.no_grad():
    h, _ = encoder(x)
    h = torch.cat([h, torch.ones(len(h), 1)], 1)
    probe = torch.linalg.lstsq(h[:300], F.one_hot(label[:300], 4).float()).solution
    accuracy = ((h[300:] @ probe).argmax(1) == label[300:]).float().mean().item()
print(f"quality accuracy {accuracy:.2f}")
