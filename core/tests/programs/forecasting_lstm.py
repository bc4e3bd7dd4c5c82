"""Forecast a day of electricity use from two days before it: LSTM encoder, one-shot decoder."""

import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Subset


def demand(hours):
    t = torch.arange(hours, dtype=torch.float64)
    daily = torch.sin(2 * math.pi * (t - 8) / 24) + 0.4 * torch.sin(4 * math.pi * t / 24)
    weekly = torch.where((t // 24) % 7 >= 5, -0.5, 0.1)
    walk = torch.cumsum(0.02 * torch.randn(hours, dtype=torch.float64), 0)
    return (3 + daily + weekly + walk + 0.1 * torch.randn(hours, dtype=torch.float64)).float()


class Windows(Dataset):
    def __init__(self, series, lookback=48, horizon=24):
        self.lookback, self.horizon = lookback, horizon
        self.mean, self.std = series.mean(), series.std()
        z = (series - self.mean) / self.std
        t = torch.arange(len(series))
        hour, weekend, tomorrow = t % 24, (t // 24) % 7 >= 5, (t // 24 + 1) % 7 >= 5
        clock = [torch.sin(hour * math.pi / 12), torch.cos(hour * math.pi / 12)]
        self.features = torch.stack([z, *clock, weekend.float(), tomorrow.float()], dim=-1)

    def __len__(self):
        return len(self.features) - self.lookback - self.horizon + 1

    def __getitem__(self, i):
        if i < 0 or i >= len(self):
            raise IndexError(i)
        past = self.features[i : i + self.lookback]
        return past, self.features[i + self.lookback : i + self.lookback + self.horizon, 0]


class Forecaster(nn.Module):
    def __init__(self, inputs=5, hidden=24, layers=2, horizon=24):
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, layers, batch_first=True, dropout=0.1)
        self.head = nn.Sequential(nn.Linear(hidden, 32), nn.GELU(), nn.Linear(32, horizon))

    def forward(self, x):
        batch = x.size(0)
        h0 = torch.zeros(self.lstm.num_layers, batch, self.lstm.hidden_size)
        out, (h, c) = self.lstm(x, (h0, torch.zeros_like(h0)))
        last_day = x[:, -24:, 0]
        return last_day + self.head(out[:, -1])


torch.manual_seed(31)
data = Windows(demand(24 * 45))
cut = int(0.8 * len(data))
train, test = Subset(data, range(0, cut, 2)), Subset(data, range(cut, len(data), 6))
loader = DataLoader(train, batch_size=32, shuffle=True, drop_last=True)
model = Forecaster()
criterion = nn.HuberLoss(delta=0.5)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=1)
step = 0
for epoch in range(8):
    model.train()
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss.item()
        if step < 30:
            print(f"loss {step} {loss.item():.8f}")
        step += 1
    scheduler.step(running / len(loader))
model.eval()
absolute, naive = [], []
with torch.no_grad():
    for x, y in DataLoader(test, batch_size=64):
        absolute.append((model(x) - y).abs() * data.std)
        naive.append((x[:, -24:, 0] - y).abs() * data.std)
mae, mae_naive = torch.cat(absolute).mean().item(), torch.cat(naive).mean().item()
print(f"quality mae {mae:.2f} naive {mae_naive:.3f}")
