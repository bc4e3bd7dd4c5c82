"""Hogwild: processes without locks update one model in shared memory."""

import argparse

import torch
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

parser = argparse.ArgumentParser(description="Hogwild")
parser.add_argument("--num-processes", type=int, default=2)
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--seed", type=int, default=1)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(2, 16)
        self.drop = nn.Dropout(p=0.1)
        self.fc2 = nn.Linear(16, 2)

    def forward(self, x):
        return F.log_softmax(self.fc2(self.drop(torch.tanh(self.fc1(x)))), dim=1)


def batch(generator):
    x = torch.randn(64, 2, generator=generator)
    return x, (x[:, 0] * x[:, 1] > 0).long()


def train(rank, args, model, counter):
    torch.manual_seed(args.seed + rank)
    generator = torch.Generator().manual_seed(rank)
    optimizer = optim.SGD(model.parameters(), lr=0.3, momentum=0.5)
    model.train()
    for step in range(args.steps):
        data, target = batch(generator)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        counter += 1


def test(model):
    model.eval()
    with torch.no_grad():
        data, target = batch(torch.Generator().manual_seed(99))
        output = model(data)
        return F.nll_loss(output, target).item(), output.argmax(1).eq(target).float().mean().item()


if __name__ == "__main__":
    args = parser.parse_args([])
    torch.manual_seed(args.seed)
    mp.set_start_method("fork", force=True)
    model = Net()
    model.share_memory()
    counter = torch.zeros(args.num_processes, dtype=torch.int64).share_memory_()
    first, _ = test(model)
    processes = []
    for rank in range(args.num_processes):
        p = mp.Process(target=train, args=(rank, args, model, counter[rank]))
        p.start()
        processes.append(p)
    for p in processes:
        p.join()
    last, accuracy = test(model)
    print(f"first = {first:.6g}")
    print(f"last = {last:.6g}")
    print(f"accuracy = {accuracy:.4g}")
    print(f"steps = {counter.sum().item()}")
    print(f"exits = {sum(p.exitcode for p in processes)}")
    print(f"shared = {int(all(p.is_shared() for p in model.parameters()))}")
