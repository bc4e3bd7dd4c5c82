"""A small network learns from a larger one: softened targets, temperature, frozen teacher."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, Sampler, TensorDataset


class ByClass(Sampler):
    """All of class 0, then of class 1, ...; each shuffled."""

    def __init__(self, labels):
        self.labels = labels

    def __iter__(self):
        for label in self.labels.unique():
            found = (self.labels == label).nonzero(as_tuple=True)[0]
            yield from found[torch.randperm(len(found))].tolist()

    def __len__(self):
        return len(self.labels)


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def kd_loss(student, teacher, labels, T=4.0, alpha=0.7):
    soft = nn.KLDivLoss(reduction="batchmean")(
        F.log_softmax(student / T, dim=1), F.softmax(teacher / T, dim=1)
    )
    return alpha * T * T * soft + (1 - alpha) * F.cross_entropy(student, labels)


def main():
    torch.manual_seed(21)
    centers = 2 * torch.randn(5, 12)
    y = torch.arange(400) % 5
    x = centers[y] + torch.randn(400, 12)
    data = TensorDataset(x, y)
    teacher, student = mlp(12, 64, 64, 5), mlp(12, 8, 5)
    step = 0
    opt = torch.optim.NAdam(teacher.parameters(), lr=4e-3)
    for bx, by in DataLoader(data, batch_sampler=BatchSampler(RandomSampler(data), 32, False)):
        opt.zero_grad()
        loss = F.cross_entropy(teacher(bx), by)
        loss.backward()
        opt.step()
        print(f"loss {step} {loss.item():.8f}")
        step += 1
    for p in teacher.parameters():
        p.requires_grad = False
    average = copy.deepcopy(student)
    opt = torch.optim.Adamax(student.parameters(), lr=2e-2)
    for epoch in range(4):
        loader = DataLoader(data, batch_size=50, sampler=ByClass(y))
        for bx, by in loader:
            with torch.no_grad():
                target = teacher(bx)
            loss = kd_loss(student(bx), target, by)
            opt.zero_grad()
            loss.backward()
            opt.step()
            for slow, fast in zip(average.parameters(), student.parameters()):
                slow.data.mul_(0.9).add_(fast.data, alpha=0.1)
            print(f"loss {step} {loss.item():.8f}")
            step += 1
    correct = (average(x).argmax(-1) == y).float().mean()
    print(f"quality accuracy {correct:.3f}")


if __name__ == "__main__":
    main()
