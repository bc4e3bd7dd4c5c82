"""pytorch_optimizer: 46 optimizers, schedules, losses, and optimizers around others."""

import functools

import pytorch_optimizer
import torch
from common import report

NAMES = (
    "AdaBelief AdaBound AdaDelta Adai Adan AdamP AdaPNM AdaNorm Aida Amos ASGD BSAM CAME "
    "DAdaptAdam DAdaptSGD DiffGrad FAdam Fromage Gravity Lamb LARS Lion MADGRAD MSVAG NovoGrad "
    "PNM Prodigy QHAdam QHM RAdam Ranger Ranger21 SGDP SGDW SM3 SRMM StableAdamW "
    "Tiger Yogi Shampoo ScalableShampoo AdEMAMix ADOPT Grams MARS ScheduleFreeAdamW"
).split()


def network():
    """A small network and its data."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    return net, torch.randn(12, 6), torch.randn(12, 2)


def fit(make):
    """Losses and weights of a few steps."""
    net, x, y = network()
    optimizer, losses = make(net), []
    if hasattr(optimizer, "train"):
        optimizer.train()
    for _ in range(4):

        def closure():
            optimizer.zero_grad()
            loss = (net(x) - y).square().mean()
            loss.backward()
            return loss

        losses.append(float(closure().detach()))
        optimizer.step(closure) if "BSAM" in type(optimizer).__name__ else optimizer.step()
    return {"losses": losses, "weights": [p.detach() for p in net.parameters()]}


def main():
    found = {}
    options = {"Ranger21": {"num_iterations": 10}, "BSAM": {"num_data": 12}}
    for name in NAMES:
        kind = functools.partial(getattr(pytorch_optimizer, name), **options.get(name, {}))
        found[name] = fit(lambda net, kind=kind: kind(net.parameters(), lr=1e-2))
    found["Lookahead"] = fit(
        lambda net: pytorch_optimizer.Lookahead(
            pytorch_optimizer.load_optimizer("adamp")(net.parameters(), lr=1e-2), k=2
        )
    )
    optimizer = torch.optim.SGD(network()[0].parameters(), lr=1.0)
    schedule = pytorch_optimizer.CosineAnnealingWarmupRestarts(
        optimizer, first_cycle_steps=6, max_lr=1.0, min_lr=0.1, warmup_steps=2
    )
    rates = []
    for _ in range(8):
        schedule.step()
        rates.append(optimizer.param_groups[0]["lr"])
    found["rates"] = rates
    logits = torch.randn(8, requires_grad=True)
    labels = (torch.arange(8) % 2).float()
    for name, options in {"FocalLoss": {}, "DiceLoss": {"mode": "binary"}}.items():
        loss = getattr(pytorch_optimizer, name)(**options)
        value = loss(logits.view(8, 1), labels.view(8, 1)).mean()
        found[name] = [value, torch.autograd.grad(value, logits)[0]]
    report(**found)


main()
