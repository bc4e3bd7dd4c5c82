"""A Siamese network on pairs: one tower used twice, a Dataset of pairs, Adadelta and StepLR."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset


class SiameseNetwork(nn.Module):
    def __init__(self):
        super(SiameseNetwork, self).__init__()
        self.tower = nn.Sequential(
            nn.Conv2d(1, 6, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(6, 8, 3),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
        )
        self.fc = nn.Sequential(nn.Linear(64, 24), nn.ReLU(inplace=True), nn.Linear(24, 1))
        self.sigmoid = nn.Sigmoid()
        self.tower.apply(self.init_weights)
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.tower(x)
        return output.view(output.size()[0], -1)

    def forward(self, input1, input2):
        output = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
        return self.sigmoid(self.fc(output))


class Pairs(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(11)
        self.targets = torch.randint(0, 2, (n,), generator=g)
        self.data = torch.randn(n, 12, 12, generator=g) * 0.3
        self.data[:, :, :6] += self.targets[:, None, None] * 1.5
        self.groups = {c.item(): torch.where(self.targets == c)[0] for c in self.targets.unique()}

    def __len__(self):
        return self.data.shape[0]

    def __getitem__(self, index):
        same = random.random() < 0.5
        cls = self.targets[index].item()
        others = self.groups[cls if same else 1 - cls]
        other = others[random.randint(0, len(others) - 1)]
        return (
            self.data[index].unsqueeze(0),
            self.data[other].unsqueeze(0),
            torch.tensor(float(same)),
        )


random.seed(3)
torch.manual_seed(1)
loader = DataLoader(Pairs(96), batch_size=16, shuffle=True)
model = SiameseNetwork()
optimizer = optim.Adadelta(model.parameters(), lr=1.0)
scheduler = StepLR(optimizer, step_size=1, gamma=0.9)
criterion = nn.BCELoss()
losses = []
for epoch in range(6):
    model.train()
    total = 0.0
    for a, b, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(a, b).squeeze(), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    losses.append(total / len(loader))
    scheduler.step()
model.eval()
with torch.no_grad():
    a, b, t = next(iter(loader))
    out = model(a, b).squeeze()
print("first = {:.6g}".format(losses[0]))
print("last = {:.6g}".format(losses[-1]))
print("rate = {:.6g}".format(scheduler.get_last_lr()[0]))
print("batch = {:.6g}".format(F.binary_cross_entropy(out, t).item()))
