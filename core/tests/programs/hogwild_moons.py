"""Hogwild: two processes train one model in shared memory without locks.

The first losses are of one process alone; what two of them do together depends on their timing,
so that only the outcome, a problem solved entirely, is compared.
"""

import math
import os

import torch
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(2, 32), nn.Linear(32, 2)

    def forward(self, x):
        return F.log_softmax(self.fc2(torch.tanh(self.fc1(x))), dim=1)


def moons(n):
    t = math.pi * torch.rand(n)
    label = torch.arange(n) % 2
    upper = torch.stack([t.cos(), t.sin()], 1)
    lower = torch.stack([1 - t.cos(), -0.4 - t.sin()], 1)
    points = torch.where(label.unsqueeze(1) == 0, upper, lower)
    return points + 0.03 * torch.randn(n, 2), label


def train(rank, model, data, epochs, show=False):
    torch.manual_seed(100 + rank)
    torch.set_num_threads(1)
    loader = DataLoader(data, batch_size=25, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step = 0
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.nll_loss(model(x), y)
            loss.backward()
            optimizer.step()
            if show:
                print(f"loss {step} {loss.item():.8f}", flush=True)
            step += 1


def main():
    torch.manual_seed(4)
    data = TensorDataset(*moons(250))
    test_x, test_y = moons(400)
    model = Net()
    model.share_memory()
    print(all(p.is_shared() for p in model.parameters()), os.getpid() > 0)
    train(0, model, data, 2, show=True)
    before = model.fc1.weight.detach().clone()
    processes = []
    for rank in range(2):
        p = mp.Process(target=train, args=(rank, model, data, 25))
        p.start()
        processes.append(p)
    for p in processes:
        p.join()
    moved = (model.fc1.weight - before).abs().max().item() > 1e-3
    with torch.no_grad():
        accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"quality exits {[p.exitcode for p in processes]} moved {moved} solved {accuracy > 0.97}")


if __name__ == "__main__":
    main()
