"""Classify points of three interleaved spirals with a multilayer perceptron."""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset, random_split


def spirals(arms=3, points=200):
    xs, ys = [], []
    for arm in range(arms):
        t = torch.linspace(0.2, 1.0, points)
        angle = 4 * t + arm * 2 * math.pi / arms + 0.15 * torch.randn(points)
        xs.append(torch.stack((t * angle.cos(), t * angle.sin()), dim=1))
        ys.append(torch.full((points,), arm, dtype=torch.long))
    return TensorDataset(torch.cat(xs), torch.cat(ys))


class Net(nn.Module):
    def __init__(self, hidden):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(2, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(hidden, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = self.drop(torch.tanh(self.fc2(x)))
        return self.out(x)


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    correct = total = 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        correct += (model(x).argmax(dim=1) == y).sum().item()
        total += y.size(0)
    return correct / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-2)
    args = parser.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train, test = random_split(spirals(), [480, 120])
    loader = DataLoader(train, batch_size=32, shuffle=True)
    model = Net(args.hidden).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-4)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
    step = 0
    for epoch in range(args.epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
            if step < 40:
                print(f"loss {step} {loss.item():.8f}")
            step += 1
        scheduler.step()
    print(f"quality accuracy {accuracy(model, DataLoader(test, batch_size=120), device):.4f}")


if __name__ == "__main__":
    main()
