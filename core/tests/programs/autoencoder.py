"""Compress random smooth curves to four numbers and draw them again; checkpoint in the middle."""

import os
import tempfile

import torch
from torch import nn, optim


class AutoEncoder(nn.Module):
    def __init__(self, width=48, code=4):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(width, 32), nn.LeakyReLU(0.1), nn.LayerNorm(32), nn.Linear(32, code)
        )
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.GELU(), nn.Linear(32, width))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def curves(count, width=48):
    t = torch.linspace(0, 1, width)
    a, b = torch.rand(count, 1), torch.rand(count, 1) * 2 + 1
    return a * torch.sin(6.28318 * b * t) + (1 - a) * t.pow(2)


torch.manual_seed(3)
data = curves(512)
model = AutoEncoder()
optimizer = optim.AdamW(model.parameters(), lr=3e-3)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=60)
path = os.path.join(tempfile.mkdtemp(), "autoencoder.pt")

for step in range(60):
    batch = data[torch.randint(0, len(data), (64,))]
    noisy = batch + 0.05 * torch.randn_like(batch)
    loss = nn.functional.mse_loss(model(noisy), batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step < 30:
        print(f"loss {step} {loss.item():.8f}")
    if step == 10:  # stop, and go on from the file
        torch.save(
            {
                "model": model.state_dict(),
                "optim": optimizer.state_dict(),
                "sched": scheduler.state_dict(),
                "step": step,
            },
            path,
        )
        model = AutoEncoder().requires_grad_(True)
        torch.manual_seed(4)
        checkpoint = torch.load(path, map_location="cpu")
        model.load_state_dict(checkpoint["model"])
        optimizer = optim.AdamW(model.parameters(), lr=1.0)
        optimizer.load_state_dict(checkpoint["optim"])
        scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=60)
        scheduler.load_state_dict(checkpoint["sched"])
        os.remove(path)

with torch.no_grad():
    print("quality error", round(nn.MSELoss()(model(data), data).item(), 6))
