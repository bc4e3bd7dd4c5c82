"""Recommend films: user and item embeddings with biases, learned from observed ratings."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.sampler import WeightedRandomSampler


class Ratings(Dataset):
    def __init__(self, users=60, items=40, count=1500):
        taste, kind = torch.randn(users, 3), torch.randn(items, 3)
        self.u = torch.randint(users, (count,))
        self.i = torch.randint(items, (count,))
        exact = 3 + (taste[self.u] * kind[self.i]).sum(1)
        self.r = exact.add(0.1 * torch.randn(count)).clamp(1, 5).round()

    def __getitem__(self, n):
        return {"user": self.u[n], "item": self.i[n], "rating": self.r[n]}

    def __len__(self):
        return self.r.numel()


class MF(nn.Module):
    def __init__(self, users, items, k):
        super().__init__()
        self.user, self.item = nn.Embedding(users, k), nn.Embedding(items, k)
        self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
        self.mean = nn.Parameter(torch.tensor(3.0))
        for e in (self.user_bias, self.item_bias):
            nn.init.constant_(e.weight, 0)
        nn.init.trunc_normal_(self.user.weight, std=0.1)
        nn.init.xavier_uniform_(self.item.weight)

    def forward(self, user, item):
        dot = (self.user(user) * self.item(item)).sum(-1)
        return dot + self.user_bias(user).squeeze(-1) + self.item_bias(item).squeeze(-1) + self.mean


torch.manual_seed(42)
data = Ratings()
counts = torch.bincount(data.r.long(), minlength=6).float()
sampler = WeightedRandomSampler((1 / counts.clamp(min=1))[data.r.long()], num_samples=768)
loader = DataLoader(data, batch_size=64, sampler=sampler, num_workers=0)
model = MF(60, 40, 8)
loss_fn = nn.SmoothL1Loss(beta=0.5)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
step = 0
for epoch in range(5):
    total = 0.0
    for batch in loader:
        prediction = model(batch["user"], batch["item"])
        loss = loss_fn(prediction, batch["rating"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(prediction)
        if step < 40:
            print(f"loss {step} {loss.item():.8f}")
        step += 1
    scheduler.step(total)
with torch.no_grad():
    error = (model(data.u, data.i) - data.r).pow(2).mean().sqrt()
print(f"quality rmse {error:.4f} lr {optimizer.param_groups[0]['lr']}")
