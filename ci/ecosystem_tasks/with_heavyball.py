"""heavyball: optimizers made of parts of one chain (AdamW, ADOPT, LaProp, ...)."""

import heavyball
import torch
from common import report

heavyball.utils.compile_mode = None


def fit(kind, steps=4, **options):
    """Losses and weights of a few steps."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    x, y = torch.randn(16, 4), torch.randn(16, 2)
    optimizer, losses = kind(net.parameters(), **options), []
    for _ in range(steps):
        loss = (net(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    return {"losses": losses, "weights": dict(net.named_parameters())}


def main():
    names = "AdamW NAdam RMSprop SFAdamW ADOPT LaProp SignLaProp SGD".split()
    kinds = {name: getattr(heavyball, name, None) for name in names}
    report(**{name: fit(kind, lr=1e-2) for name, kind in kinds.items() if kind is not None})


main()
