"""opacus: gradients of single samples, private training, and its accountant."""

import warnings

import torch
from common import report
from opacus import GradSampleModule, PrivacyEngine
from opacus.accountants import RDPAccountant
from opacus.validators import ModuleValidator
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")


def main():
    torch.manual_seed(0)
    x = torch.randn(32, 3, 8, 8)
    y = torch.randint(0, 2, (32,))
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.GroupNorm(2, 4), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(144, 2),
    )  # fmt: skip
    found = {"valid": ModuleValidator.is_valid(net)}
    single = GradSampleModule(net)
    torch.nn.functional.cross_entropy(single(x[:4]), y[:4], reduction="sum").backward()
    found["samples"] = [
        p.grad_sample.pow(2).sum(tuple(range(1, p.dim() + 1))) for p in net.parameters()
    ]
    single.remove_hooks()
    found["mended"] = type(ModuleValidator.fix(torch.nn.BatchNorm2d(4))).__name__
    torch.manual_seed(1)
    line = torch.nn.Linear(192, 2)
    optimizer = torch.optim.SGD(line.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(x.flatten(1), y), 8)
    engine = PrivacyEngine()
    line, optimizer, loader = engine.make_private(
        module=line, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0,
        max_grad_norm=1.0, poisson_sampling=False,
    )  # fmt: skip
    torch.manual_seed(2)
    losses = []
    for a, b in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(line(a), b)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    found["losses"], found["epsilon"] = losses, engine.get_epsilon(1e-5)
    accountant = RDPAccountant()
    for _ in range(10):
        accountant.step(noise_multiplier=1.1, sample_rate=0.1)
    found["accountant"] = accountant.get_epsilon(1e-5)
    report(**found)


main()
