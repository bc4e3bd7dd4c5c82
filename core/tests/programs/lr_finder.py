"""Find a learning rate by a sweep that grows it at every step, then train with one cycle of it."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR, OneCycleLR
from torch.utils.data import DataLoader, TensorDataset


class LRFinder:
    def __init__(self, model, optimizer, criterion):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.history = {"lr": [], "loss": []}
        self.state = copy.deepcopy((model.state_dict(), optimizer.state_dict()))

    def range_test(self, loader, start_lr=1e-4, end_lr=5.0, num_iter=40, smooth=0.1, diverge=4):
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"] = start_lr
        growth = (end_lr / start_lr) ** (1 / (num_iter - 1))
        schedule = LambdaLR(self.optimizer, lambda i: growth**i)
        batches, best = iter(loader), math.inf
        for i in range(num_iter):
            try:
                x, y = next(batches)
            except StopIteration:
                batches = iter(loader)
                x, y = next(batches)
            self.model.train()
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.history["lr"].append(schedule.get_last_lr()[0])
            value = loss.item()
            if i:
                value = smooth * value + (1 - smooth) * self.history["loss"][-1]
            self.history["loss"].append(value)
            self.optimizer.step()
            schedule.step()
            print(f"loss {i} {loss.item():.7f}")
            best = min(best, value)
            if value > diverge * best:
                break

    def suggestion(self):
        losses, lrs = torch.tensor(self.history["loss"]), torch.tensor(self.history["lr"])
        (slope,) = torch.gradient(losses, spacing=(lrs.log10(),))
        return lrs[slope[1:-1].argmin() + 1].item()

    def reset(self):
        self.model.load_state_dict(self.state[0])
        self.optimizer.load_state_dict(self.state[1])


torch.manual_seed(12)
angle = torch.rand(512) * 2 * math.pi
label = torch.randint(0, 3, (512,))
radius = 1 + label + 0.25 * torch.randn(512)
data = TensorDataset(torch.stack([radius * angle.cos(), radius * angle.sin()], 1), label)
model = nn.Sequential(
    nn.Linear(2, 48), nn.SiLU(), nn.LayerNorm(48), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 3)
)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, nesterov=True)
loader = DataLoader(data, batch_size=64, shuffle=True)
finder = LRFinder(model, optimizer, F.cross_entropy)
finder.range_test(loader)
chosen = finder.suggestion()
finder.reset()
print(f"steps {len(finder.history['lr'])} suggestion {chosen:.4g}")
peak = min(max(2 * chosen, 0.02), 0.3)
scheduler = OneCycleLR(optimizer, max_lr=peak, epochs=6, steps_per_epoch=len(loader))
seen = []
for epoch in range(6):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        seen.append((optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"]))
        scheduler.step()
accuracy = (model(data.tensors[0]).argmax(1) == label).float().mean().item()
print("cycle " + " ".join(f"{lr:.4f}/{m:.3f}" for lr, m in seen[::12]))
print(f"quality suggestion {chosen:.5f} accuracy {accuracy:.2f}")
